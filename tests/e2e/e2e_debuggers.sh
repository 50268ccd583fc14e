#!/bin/bash
# Under strace, and under gdb with its own settings, a profiled program does what it does alone: neither stops at a signal of
# ours, and what stops threads leaves waits and profiles as they are.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need strace gdb
program=$TARGETS/target_threads
export DEBUGINFOD_URLS=

same_as_bare() { # WHAT
    names <"$TMP/out" | cmp - <(names <"$TMP/bare") || fail "$1: other output than bare: $(cat "$TMP/out")"
    check_profile "$TMP/$1.pb.gz" --main="$program"
}

# The program says what its threads are called, and how long they have lived.
names() {
    awk '/^thread/ { print $1, $2, $NF }' | sort
}

"$program" >"$TMP/bare" || fail "bare: status $?"

for observe in auto signal; do
    strace -f -o "$TMP/trace" -E "LD_PRELOAD=$LIBRARY" -E WALLPROF_HZ=1000 -E WALLPROF_OBSERVE=$observe \
        -E "WALLPROF_OUT=$TMP/strace-$observe.pb.gz" "$program" >"$TMP/out" || fail "strace, $observe: status $?"
    same_as_bare "strace-$observe"
done

for observe in auto signal; do
    gdb -nx -q -batch -ex "set environment LD_PRELOAD $LIBRARY" -ex 'set environment WALLPROF_HZ 1000' \
        -ex "set environment WALLPROF_OBSERVE $observe" -ex "set environment WALLPROF_OUT $TMP/gdb-$observe.pb.gz" \
        -ex 'set startup-with-shell off' -ex 'tbreak main' -ex run -ex 'next 2' -ex 'info threads' -ex continue \
        --args "$program" >"$TMP/out" 2>"$TMP/err" || fail "gdb, $observe: status $?"
    grep -q 'exited normally' "$TMP/out" || fail "gdb, $observe: $(tail "$TMP/out" "$TMP/err")"
    grep 'received signal' "$TMP/out" && fail "gdb, $observe: stopped at a signal"
    same_as_bare "gdb-$observe"
done
echo "strace and gdb, by default and by signal only: as alone"
