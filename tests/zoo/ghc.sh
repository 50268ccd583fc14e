#!/bin/bash
# GHC: compiles a Haskell program; and the program, with and without several processors: threads, timers, exceptions
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need ghc
    cat >"$ZOO_MADE/Main.hs" <<'END'
module Main where
import Control.Concurrent
import Control.Exception
import System.Exit
import System.IO
import System.Timeout

fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  boxes <- mapM (\n -> do { box <- newEmptyMVar; _ <- forkIO (evaluate (fib n) >>= putMVar box); return box }) [20 .. 27]
  mapM takeMVar boxes >>= print
  timeout 50000 (threadDelay 10000000) >>= print
  r <- try (evaluate (1 `div` (0 :: Int))) :: IO (Either ArithException Int)
  print r
  print (sum (map fromIntegral [1 .. 2000000 :: Int]) :: Integer)
  exitWith (ExitFailure 4)
END
}

run() {
    local threaded
    cp "$ZOO_MADE/Main.hs" .
    for threaded in '' -threaded; do
        # shellcheck disable=SC2086 # an option or nothing
        under ghc -v0 -O0 -rtsopts $threaded -fforce-recomp -o main Main.hs
        echo "compiled: $?"
        under ./main +RTS ${threaded:+-N2}
        echo "status $?"
    done
}

zoo "$@"
