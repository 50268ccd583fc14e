#!/bin/bash
# The profile is true: against a program that measures itself, see target_truth.c and judge_truth.py.
# test: quick long aarch64-long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

judge() { # NAME SECONDS HZ THREADS
    local file=$TMP/$1.pb.gz truth=$TMP/$1.truth
    echo "== $1: $2 s at $3 Hz, $4 threads per tick"
    WALLPROF_HZ=$3 WALLPROF_THREADS=$4 profile_run "$file" "$TARGETS/target_truth" "$2" 7 >"$truth" 2>"$TMP/stderr" ||
        fail "target_truth ended with status $?"
    assert_equal "stderr" "$(cat "$TMP/stderr")" ""
    check_profile "$file" --main="$TARGETS/target_truth"
    read_pprof comments "$file"
    show_top "$file" 5
    "$PYTHON" "$TESTS/judges/judge_truth.py" "$file" "$truth" "$3" "$4" || verdict=1
}

verdict=0
judge default 10 100 8
# What follows is not about the machine.
! is_emulated || exit "$verdict"
! is_long || WALLPROF_OBSERVE=signal judge default-signal 10 100 8
# All threads at every tick, and more ticks: a tenth of the gap, so a third of the error allowed.
! is_long || judge dense 10 250 64
WALLPROF_OBSERVE=signal judge dense-signal 10 250 64
exit "$verdict"
