#!/bin/bash
# Python's functions in stacks, judged by what the program says of itself: waiting and computing threads, in 3.11 to 3.13.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# The time that the program stands still for, in seconds.
hold_s=2
! is_long || hold_s=10

has_frames() { # PYTHON
    "$1" -c 'import sys, sqlite3, ctypes; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null
}

judge() { # PYTHON NAME VARIABLES...
    local python=$1 name=$2 variable
    (
        export WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
        for variable in "${@:3}"; do
            export "${variable?}"
        done
        profile_run "$TMP/$name.pb.gz" "$python" "$TESTS/targets/python_frames.py" "$TMP/$name.json" "$hold_s"
    ) || fail "$name: the program failed"
    check_profile "$TMP/$name.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_python.py" "$TMP/$name.pb.gz" "$TMP/$name.json" || complain "$name: stacks differ"
}

count=0
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.1[123].*/bin/python3; do
    has_frames "$python" || continue
    judge "$python" "python-$((count += 1))"
done
[ "$count" -gt 0 ] || skip "there is no CPython 3.11 to 3.13"
python=$(type -P python3)
has_frames "$python" || python=/usr/bin/python3

# By signal only: every frame is read by the thread itself.
judge "$python" signal WALLPROF_OBSERVE=signal

# Names come from the recording alone, whoever writes the file.
judge "$python" without_tool WALLPROF_TOOL=off

WALLPROF_PYTHON=off profile_run "$TMP/off.pb.gz" "$python" -c 'sum(i * i for i in range(10 ** 7))' || fail "the program failed"
has_function "$TMP/off.pb.gz" '<genexpr>' && complain "off: there are functions of Python"
assert_function "$TMP/off.pb.gz" _PyEval_EvalFrameDefault
WALLPROF_PYTHON=all profile_run "$TMP/all.pb.gz" "$python" -c 'sum(i * i for i in range(10 ** 7))' || fail "the program failed"
assert_function "$TMP/all.pb.gz" '<genexpr>'
assert_function "$TMP/all.pb.gz" _PyEval_EvalFrameDefault
exit $bad
