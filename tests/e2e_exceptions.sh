#!/bin/bash
# C++ exceptions through many frames and across threads, while every few of them are interrupted for a sample.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

program=$TARGETS/target_exceptions
"$program" >"$TMP/expected"
assert_equal "bare exit status" "$?" 3
# A hundred times the usual rate: more samples fall into the middle of an unwinding.
WALLPROF_HZ=10000 profile_run "$TMP/exceptions.pb.gz" "$program" >"$TMP/output" 2>"$TMP/stderr"
assert_equal "exit status" "$?" 3
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
cmp "$TMP/output" "$TMP/expected" || fail "the result differs from that of the bare program"
check_profile "$TMP/exceptions.pb.gz"
"$PYTHON" "$TESTS/judge_exceptions.py" "$TMP/exceptions.pb.gz" || fail "stacks are not as the program calls"
for function in 'throw_and_catch(Tally&, int, int)' 'void descend<12>(Tally&, int, int)' _Unwind_RaiseException; do
    assert_function "$TMP/exceptions.pb.gz" "$function"
done
