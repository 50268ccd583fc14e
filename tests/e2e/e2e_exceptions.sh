#!/bin/bash
# C++ exceptions through many frames and across threads, while every few of them are interrupted for a sample.
# test: aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

landing=()
! is_aarch64 || landing=(--landing-unknown) # calls are decoded on x86_64 only
rounds=60000
! is_emulated || rounds=1500 # a processor that is emulated is 30 times slower

run_and_judge() { # PROGRAM
    bare_run "$1" $rounds >"$TMP/expected"
    assert_equal "bare exit status" "$?" 3
    # A hundred times the usual rate: more samples fall into the middle of an unwinding.
    WALLPROF_HZ=10000 profile_run "$TMP/exceptions.pb.gz" "$1" $rounds >"$TMP/output" 2>"$TMP/stderr"
    assert_equal "exit status" "$?" 3
    assert_equal "stderr" "$(cat "$TMP/stderr")" ""
    cmp "$TMP/output" "$TMP/expected" || fail "the result differs from that of the bare program"
    check_profile "$TMP/exceptions.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_exceptions.py" "$TMP/exceptions.pb.gz" "${landing[@]}" || fail "stacks are not as the program calls"
    for function in 'throw_and_catch(Tally&, int, int)' 'void descend<12>(Tally&, int, int)' _Unwind_RaiseException; do
        assert_function "$TMP/exceptions.pb.gz" "$function"
    done
}

run_and_judge "$TARGETS/target_exceptions"
# With frame pointers, of which the one of the handler's frame is there before the thrower's is done with.
! is_emulated || exit 0 # which takes another compiler
is_long && type -P g++ >/dev/null || exit 0
g++ -std=gnu++17 -O2 -g -fno-omit-frame-pointer -o "$TMP/framed" "$TESTS/targets/target_exceptions.cc" -pthread ||
    fail "it cannot be built with frame pointers"
run_and_judge "$TMP/framed"
