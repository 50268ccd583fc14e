#!/bin/bash
# A handler of the program that interrupts one of our hooks and leaves it by a jump stops nothing: what the thread does
# afterwards is recorded; see target_jumps.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_jumps

for call in sigaltstack sigaction exec; do
    for observe in auto signal; do
        WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe profile_run "$TMP/$call.$observe.pb.gz" "$program" $call >"$TMP/out" 2>"$TMP/err" ||
            fail "$call, $observe: status $?, $(cat "$TMP/out" "$TMP/err")"
        assert_equal "$call, $observe" "$(cat "$TMP/out" "$TMP/err")" "all right"
        assert_function "$TMP/$call.$observe.pb.gz" work
    done
done
