#!/bin/bash
# The program's own use of our signal: the same with and without us. And no exec is killed by a signal of ours.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

"$TARGETS/target_signals" || fail "target_signals does not hold bare"
for hz in 100 10000; do
    WALLPROF_HZ=$hz profile_run "$TMP/signals.pb.gz" "$TARGETS/target_signals" 2>"$TMP/stderr" ||
        fail "at $hz Hz: $(cat "$TMP/stderr")"
    [ ! -s "$TMP/stderr" ] || fail "at $hz Hz, on stderr: $(cat "$TMP/stderr")"
    check_profile "$TMP/signals.pb.gz" >/dev/null
done

# A SIGPROF from outside still ends a program that does not handle it.
WALLPROF_OUT=$TMP/killed.pb.gz LD_PRELOAD=$LIBRARY sleep 10 &
sleep 0.3
kill -PROF $!
wait $!
status=$?
[ "$status" -eq 155 ] || fail "a SIGPROF from outside: status $status, not 155 (128 + 27)"

# 300 times over a chain of three programs, each taking the place of the one before while it is sampled.
count=$(WALLPROF_HZ=10000 WALLPROF_OUT=$TMP/exec.%p.pb.gz LD_PRELOAD=$LIBRARY bash -c '
    for ((i = 0; i < 300; i++)); do
        (exec bash -c "exec sh -c \"echo alive\"")
    done' | grep -c alive)
[ "$count" -eq 300 ] || fail "$((300 - count)) of 300 programs were killed around exec"
