#!/bin/bash
# Threads of 16 KiB, coroutines of 8 KiB and signal stacks of 12 KiB, all with a guard page below, survive a signal of ours
# 10,000 times a second; see target_small_stacks.c.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
program=$TARGETS/target_small_stacks
ms=1500

"$program" $ms 12288 >"$TMP/bare.out" 2>"$TMP/bare.err" || fail "bare: status $?"
cat "$TMP/bare.err"
for observe in auto signal; do
    WALLPROF_HZ=10000 WALLPROF_OBSERVE=$observe WALLPROF_THREADS=16 profile_run "$TMP/$observe.pb.gz" "$program" $ms 12288 \
        >"$TMP/out" 2>"$TMP/err" || fail "$observe: status $?, $(cat "$TMP/out")"
    cmp "$TMP/out" "$TMP/bare.out" || fail "$observe: the result differs from that of the bare program"
    cmp "$TMP/err" "$TMP/bare.err" || fail "$observe: stderr differs from that of the bare program"
    check_profile "$TMP/$observe.pb.gz" --main="$program"
    read_pprof comments "$TMP/$observe.pb.gz" | grep -e ' samples' -e '^looks'
    for function in use_stack coroutine on_signal; do
        assert_function "$TMP/$observe.pb.gz" "$function"
    done
done
