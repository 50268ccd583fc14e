#!/bin/bash
# Waits that are left by siglongjmp, pthread_exit or cancellation: the thread's mask is what it was, and it waits again,
# in calls without a hook too; see target_leaving.c.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
rounds=${LEAVING_ROUNDS:-15}
# The program jumps out of whatever it is in, and the loader's lazy binding is not made for that.
export LD_BIND_NOW=1

judge() { # NAME STATUS
    awk '{ print } $3 != $5 { bad++ } END { print NR " kinds, " bad + 0 " bad" }' \
        "$TMP/$1.out" >"$TMP/$1.judged"
    tail -n 1 "$TMP/$1.judged"
    [ "$2" -eq 0 ] || fail "$1: status $2: $(awk '$3 != $5' "$TMP/$1.judged") $(cat "$TMP/$1.err")"
    assert_equal "$1: kinds" "$(wc -l <"$TMP/$1.out")" 48
    assert_equal "$1: stderr" "$(cat "$TMP/$1.err")" ""
}

record() { # NAME VARIABLE=VALUE...
    local name=$1
    shift
    echo "== $name: $*"
    timeout "$HANG_S" env "$@" LD_PRELOAD="$LIBRARY" WALLPROF_OUT="$TMP/$name.pb.gz" "$TARGETS/target_leaving" "$rounds" \
        >"$TMP/$name.out" 2>"$TMP/$name.err"
    judge "$name" $?
    check_profile "$TMP/$name.pb.gz" --main="$TARGETS/target_leaving"
}

echo "== bare"
timeout "$HANG_S" "$TARGETS/target_leaving" "$rounds" >"$TMP/bare.out" 2>"$TMP/bare.err"
judge bare $?
record auto WALLPROF_HZ=10000
record signal WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_THREADS=64
