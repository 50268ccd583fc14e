#!/bin/bash
# pprof files of other programs, here Go's, are shown with what they measure: the sums of each of their measures are pprof's, and
# what is written again is read as the same. What only a recording of ours can become is refused.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need go

tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"
cat >"$TMP/main.go" <<'SOURCE'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
)

var keep [][]byte

func used() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano()
}

// So much CPU time as has some 30 samples in it, whatever else the machine does.
func burn() {
	for end := used() + 300e6; used() < end; {
		for i := 0; i < 100000; i++ {
		}
	}
}

func hoard() {
	for i := 0; i < 64; i++ {
		keep = append(keep, make([]byte, 1<<16))
	}
}

func create(name string) *os.File {
	file, err := os.Create(os.Args[1] + "/" + name + ".pb.gz")
	if err != nil {
		panic(err)
	}
	return file
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetBlockProfileRate(1)
	file := create("cpu")
	pprof.StartCPUProfile(file)
	burn()
	pprof.StopCPUProfile()
	file.Close()
	hoard()
	var lock sync.Mutex
	lock.Lock()
	go func() { burn(); lock.Unlock() }()
	lock.Lock()
	runtime.GC() // the heap is as the last collection has found it
	for _, name := range []string{"heap", "block", "goroutine"} {
		file := create(name)
		pprof.Lookup(name).WriteTo(file, 0)
		file.Close()
	}
}
SOURCE
(cd "$TMP" && HOME=$TMP GOCACHE=$TMP/cache GOFLAGS='' GO111MODULE=off go build -o main main.go) || skip "go does not build a program"
"$TMP/main" "$TMP" || fail "the program ended with status $?"

unit_of() { # TYPE
    case $1 in cpu | delay) echo ns ;; *_space) echo B ;; *) echo minimum ;; esac
}

# Of each function's own values and those with what it called, as pprof adds them up.
theirs() { # TYPE FILE
    run_pprof -top -unit="$(unit_of "$1")" -sample_index="$1" -nodecount=1000000 -nodefraction=0 -edgefraction=0 "$2" 2>/dev/null |
        awk 'rows { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, ""); sub(/ \(inline\)$/, ""); sub(/ \(partial-inline\)$/, "")
                gsub(/[a-zA-Z]/, "", flat); gsub(/[a-zA-Z]/, "", cum); if (cum != 0) print $0, flat, cum }
            $1 == "flat" { rows = 1 }' | sort
}

ours() { # TYPE FILE
    "$tool" top --json --by leaf --sort "$1" "$2" | "$PYTHON" -c '
import json, sys
report = json.load(sys.stdin)
assert report["measure"]["type"] == sys.argv[1], report["measure"]
for row in report["rows"]:
    if row["cum"]["wall_ns"]:
        print(row["name"], row["flat"]["wall_ns"], row["cum"]["wall_ns"])' "$1" | sort
}

same() { # TYPE FILE
    theirs "$1" "$2" >"$TMP/theirs"
    ours "$1" "$2" >"$TMP/ours"
    [ -s "$TMP/ours" ] || complain "top has no $1 of $2"
    diff "$TMP/theirs" "$TMP/ours" >"$TMP/diff" || complain "top and pprof -top differ in $1 of $2: $(head -n 5 "$TMP/diff")"
}

for type in samples cpu; do same $type "$TMP/cpu.pb.gz"; done
for type in alloc_objects alloc_space inuse_objects inuse_space; do same $type "$TMP/heap.pb.gz"; done
for type in contentions delay; do same $type "$TMP/block.pb.gz"; done
same goroutine "$TMP/goroutine.pb.gz"
"$tool" export "$TMP/heap.pb.gz" -o "$TMP/again.pb.gz" -o "$TMP/heap.folded" -o "$TMP/heap.callgrind" -o "$TMP/heap.html" || fail "export"
assert_equal "what is written again" "$(theirs inuse_space "$TMP/again.pb.gz" | md5sum)" "$(theirs inuse_space "$TMP/heap.pb.gz" | md5sum)"
"$tool" export "$TMP/again.pb.gz" -o "$TMP/third.pb.gz"
cmp "$TMP/again.pb.gz" "$TMP/third.pb.gz" || complain 'written twice it is another file'
grep -q '^runtime.main;main.main;main.hoard 4[0-9]*$' "$TMP/heap.folded" || complain "folded: $(cat "$TMP/heap.folded")"
grep -q '^event: value : inuse_space (bytes)$' "$TMP/heap.callgrind" || complain "callgrind: $(head -n 12 "$TMP/heap.callgrind")"
grep -q '"measure":\["inuse_space","bytes"\]' "$TMP/heap.html" || complain 'the page does not know what it shows'

shows() { # TEXT ARGUMENTS OF wallprof...
    local text=$1
    shift
    "$tool" "$@" >"$TMP/out" 2>&1
    grep -qF -e "$text" "$TMP/out" || complain "wallprof $*: '$(cat "$TMP/out")', not '$text'"
}

shows 'inuse_space: 4.' top "$TMP/heap.pb.gz"
shows '; --sort has also alloc_objects, alloc_space, inuse_objects' top "$TMP/heap.pb.gz"
shows '  main.burn (main.go:' explain "$TMP/cpu.pb.gz"
shows "next: wallprof top --by line --focus 'main.hoard'" explain "$TMP/heap.pb.gz"
shows "it does not measure 'nothing', but alloc_objects, alloc_space, inuse_objects, inuse_space" top --sort nothing "$TMP/heap.pb.gz"
shows "a store file is made of a recording of wallprof's" export "$TMP/heap.pb.gz" -o "$TMP/x.store"
shows "it is not a recording of wallprof's" merge "$TMP/heap.pb.gz" -o "$TMP/x.pb.gz"
shows "it is not a recording of wallprof's; pprof -diff_base" diff "$TMP/heap.pb.gz" "$TMP/heap.pb.gz"
shows "$TMP/cpu.pb.gz and $TMP/heap.pb.gz have no measure in common" view --print -o "$TMP/x.html" "$TMP/cpu.pb.gz" "$TMP/heap.pb.gz"
[ ! -e "$TMP/x.html" ] || complain 'there is a page of two measures'
"$PYTHON" -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("9N", 0, 3, 0, 10000, 0, 1, 1, 4096, 0))' >"$TMP/old.prof"
shows "'pprof -proto PROGRAM FILE >x.pb.gz' makes a profile of it" top "$TMP/old.prof"
exit "$bad"
