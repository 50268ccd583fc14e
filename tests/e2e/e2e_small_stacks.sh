#!/bin/bash
# Threads of 16 KiB, coroutines of 8 KiB and signal stacks of 8 KiB (SIGSTKSZ of old), all with a guard page below, survive a
# signal of ours 10,000 times a second; see target_small_stacks.c. What a handler does is seen where it has room.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_small_stacks
ms=1500

"$program" $ms 8192 >"$TMP/bare.out" 2>"$TMP/bare.err" || fail "bare: status $?"
cat "$TMP/bare.err"
record() { # BYTES OBSERVE FUNCTION...
    local bytes=$1 observe=$2 name=$1.$2 function
    shift 2
    WALLPROF_HZ=10000 WALLPROF_OBSERVE=$observe WALLPROF_THREADS=16 profile_run "$TMP/$name.pb.gz" "$program" $ms "$bytes" \
        >"$TMP/out" 2>"$TMP/err" || fail "$name: status $?, $(cat "$TMP/out")"
    cmp "$TMP/out" "$TMP/bare.out" || fail "$name: the result differs from that of the bare program"
    cmp "$TMP/err" "$TMP/bare.err" || fail "$name: stderr differs from that of the bare program"
    check_profile "$TMP/$name.pb.gz" --main="$program"
    read_pprof comments "$TMP/$name.pb.gz" | grep -e ' samples'
    for function; do
        assert_function "$TMP/$name.pb.gz" "$function"
    done
}

# All handlers of the program are on its signal stacks, so ours would be too: a thread whose stack is too small has no signal.
record 8192 auto use_stack coroutine "[not responding]"
record 8192 signal use_stack coroutine "[not responding]"
record 65536 signal use_stack coroutine on_signal
