#!/bin/bash
# The readers that other profilers' files are made for read ours: callgrind_annotate and speedscope, as they are
# released. One recording in every format is one profile to all of them.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"

judge() { # COMMAND FILES...
    "$PYTHON" "$TESTS/judges/judge_readers.py" "$@" || fail "readers disagree"
}

# Records a program, and writes that as app.pb.gz, app.callgrind and app.folded.
record() { # PROGRAM ARGUMENTS...
    profile_run "$TMP/app.store" "$@" >"$TMP/out" 2>&1 || fail "$1 has failed: $(cat "$TMP/out")"
    local ending
    for ending in pb.gz callgrind folded; do
        "$BUILD/wallprof" export "$TMP/app.store" -o "$TMP/app.$ending" || fail "no app.$ending"
    done
    check_profile "$TMP/app.pb.gz"
}

# The same with the names that the library knows: speedscope 1.25 shows one function of each location of a pprof file, and
# with debug information some have several.
record_plain() { # PROGRAM ARGUMENTS...
    WALLPROF_TOOL=off profile_run "$TMP/app.pb.gz" "$@" >"$TMP/out" 2>&1 || fail "$1 has failed: $(cat "$TMP/out")"
    "$BUILD/wallprof" export "$TMP/app.pb.gz" -o "$TMP/app.callgrind" -o "$TMP/app.folded" || fail "it cannot be exported"
    check_profile "$TMP/app.pb.gz"
}

# Functions that call themselves, and each other in circles.
record_recursion() {
    cat >"$TMP/recursion.py" <<'END'
import threading, time, zlib

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work():
    for _ in range(3):
        zlib.compress(b"abc" * 500000)
        sorted(range(2000), key=lambda x: fib(8))

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
    WALLPROF_HZ=1000 record "$PYTHON" "$TMP/recursion.py"
}

speedscope() { # FILE
    node "$TESTS/judges/speedscope_read.js" "$ROOT/build/npm" "$1" >"$1.json" || fail "speedscope cannot read $1"
}

skipped=
if type -P callgrind_annotate >/dev/null; then
    record_recursion
    judge annotate "$TMP/app.pb.gz" "$TMP/app.callgrind"
else
    skipped="callgrind_annotate is not installed"
fi

record_plain "$TARGETS/target_threads"
awk '{ sum += $NF } END { exit !(sum > 1000) }' "$TMP/app.folded" || fail "app.folded has less than a second"
if why=$(npm_readers); then
    for file in app.pb.gz app.callgrind app.folded; do
        speedscope "$TMP/$file"
    done
    judge speedscope "$TMP/app.pb.gz.json" "$TMP/app.callgrind.json" "$TMP/app.folded.json"
else
    skipped="$skipped${skipped:+; }no speedscope: $why"
fi

# As a program leaves it.
profile_run "$TMP/callgrind.out.%p" "$TARGETS/target_env" >/dev/null # which has a profile however short it is
profile_run "$TMP/direct.folded" /bin/sleep 0.2
grep -Eq '^events: wall samples cpu offcpu( rundelay)?$' "$TMP"/callgrind.out.[0-9]* || fail "no callgrind file was left"
grep -q '^\[sleep tid=[0-9]*\];.*;clock_nanosleep [0-9]*$' "$TMP/direct.folded" || fail "no folded file was left"

[ -z "$skipped" ] || skip "$skipped"
