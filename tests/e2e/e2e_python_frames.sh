#!/bin/bash
# Python's functions in stacks, judged by what the program says of itself: waiting and computing threads.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/python_frames.sh
. "$TESTS/lib/python_frames.sh"

python=/usr/bin/python3
has_frames "$python" || python=$(type -P python3)
has_frames "$python" || skip "there is no CPython 3.8 to 3.14"
judge_frames / "$python" python_frames frames

# By signal only: every frame is read by the thread itself.
judge_frames / "$python" python_frames signal WALLPROF_OBSERVE=signal

# Names come from the recording alone, whoever writes the file.
judge_frames / "$python" python_frames without_tool WALLPROF_TOOL=off

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
