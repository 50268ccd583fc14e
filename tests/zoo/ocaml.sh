#!/bin/bash
# OCaml: compiles; and the program: threads that share a master lock by a timer's signal, forks, signals, exceptions
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need ocamlopt
    cat >"$ZOO_MADE/zoo.ml" <<'END'
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let rec deep n = 1 + deep (n + 1)
let () =
  let results = Array.make 4 0 in
  let threads = List.init 4 (fun i -> Thread.create (fun i -> results.(i) <- fib (25 + i)) i) in
  List.iter Thread.join threads;
  Array.iter (Printf.printf "%d ") results;
  print_newline ();
  let seen = ref 0 in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ -> incr seen));
  ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.01; it_value = 0.01 });
  while !seen < 5 do Thread.yield () done;
  ignore (Unix.setitimer Unix.ITIMER_REAL { Unix.it_interval = 0.; it_value = 0. });
  print_endline "rung";
  for i = 1 to 5 do
    match Unix.fork () with
    | 0 -> Gc.compact (); exit i
    | child -> (match Unix.waitpid [] child with _, Unix.WEXITED n -> Printf.printf "child %d\n%!" n | _ -> print_endline "signalled")
  done;
  (try ignore (deep 0) with Stack_overflow -> print_endline "stack overflow");
  Printf.printf "%d\n%!" (Sys.command "exit 3");
  exit 5
END
}

run() {
    cp "$ZOO_MADE/zoo.ml" .
    under ocamlopt -I +threads unix.cmxa threads.cmxa -o zoo zoo.ml
    echo "compiled: $?"
    under ./zoo
    echo "status $?"
}

zoo "$@"
