#!/bin/bash
# Python's functions in stacks, judged by what the program says of itself: waiting and computing threads, in 3.8 to 3.14.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/roots.sh
. "$TESTS/lib/roots.sh"

# The time that the program stands still for, in seconds.
hold_s=1
! is_long || hold_s=10

has_frames() { # PYTHON
    "$1" -c 'import sys, sqlite3, ctypes; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' 2>/dev/null
}

has_interpreters() { # PYTHON
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))'
}

root=/
script=python_frames

judge() { # PYTHON NAME VARIABLES...
    local python=$1 name=$2 variable
    (
        export WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
        for variable in "${@:3}"; do
            export "${variable?}"
        done
        profile_run_in "$root" "$TMP/$name.pb.gz" "$python" "$TESTS/targets/$script.py" "$TMP/$name.json" "$hold_s"
    ) || fail "$name: the program failed"
    check_profile "$TMP/$name.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_scripts.py" "$TMP/$name.pb.gz" "$TMP/$name.json" || complain "$name: stacks differ"
}

count=0
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    has_frames "$python" || continue
    judge "$python" "python-$((count += 1))"
    has_interpreters "$python" || continue
    script=python_interpreters judge "$python" "interpreters-$count"
done
# Its interpreter has a function for each instruction.
if root=$(other_debian sid python3.14); then
    judge /usr/bin/python3.14 "python-$((count += 1))"
    judge /usr/bin/python3.14 "python-$((count += 1))" WALLPROF_OBSERVE=signal
    script=python_interpreters judge /usr/bin/python3.14 "interpreters-$count"
fi
root=/
[ "$count" -gt 0 ] || skip "there is no CPython 3.8 to 3.14"
python=$(type -P python3)
has_frames "$python" || python=/usr/bin/python3

# By signal only: every frame is read by the thread itself.
judge "$python" signal WALLPROF_OBSERVE=signal

# Names come from the recording alone, whoever writes the file.
judge "$python" without_tool WALLPROF_TOOL=off

# A child has its thread's functions, also if Python does not know of the fork.
cat >"$TMP/forks.py" <<'PROGRAM'
import ctypes, os

def in_child():
    sum(i * i for i in range(10 ** 7))

def of_python():
    in_child()

def of_c():
    in_child()

for fork, child in (os.fork, of_python), (ctypes.PyDLL(None).fork, of_c):
    if fork() == 0:
        child()
        os._exit(0)
    os.wait()
PROGRAM
profile_run "$TMP/forks.%p.pb.gz" "$python" "$TMP/forks.py" 2>/dev/null || fail "the program failed"
for name in of_python of_c; do
    for file in "$TMP"/forks.*.pb.gz; do
        has_function "$file" "$name" && continue 2
    done
    complain "no child has $name"
done

# What a killed process leaves has the names.
"$BUILD/wallprof" run --out "$TMP/killed.pb.gz" "$python" -c '
import os, signal
def doomed():
    sum(i * i for i in range(10 ** 7))
    os.kill(os.getpid(), signal.SIGKILL)
doomed()' >"$TMP/killed.out" 2>&1
has_function "$TMP/killed.pb.gz" doomed || complain "killed: $(cat "$TMP/killed.out")"

WALLPROF_SCRIPTS=off profile_run "$TMP/off.pb.gz" "$python" -c 'sum(i * i for i in range(10 ** 7))' || fail "the program failed"
has_function "$TMP/off.pb.gz" '<genexpr>' && complain "off: there are functions of Python"
assert_function "$TMP/off.pb.gz" _PyEval_EvalFrameDefault
WALLPROF_SCRIPTS=all profile_run "$TMP/all.pb.gz" "$python" -c 'sum(i * i for i in range(10 ** 7))' || fail "the program failed"
assert_function "$TMP/all.pb.gz" '<genexpr>'
assert_function "$TMP/all.pb.gz" _PyEval_EvalFrameDefault
exit $bad
