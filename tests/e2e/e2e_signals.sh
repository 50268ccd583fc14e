#!/bin/bash
# The program's own use of our signal: the same with and without us. And no exec is killed by a signal of ours.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

"$TARGETS/target_signals" || fail "target_signals does not hold bare"

# At a moderate rate: a standard signal that is raised while one of ours is pending in the same thread is one signal.
profiled() {
    profile_run "$TMP/signals.pb.gz" "$TARGETS/target_signals" 2>"$TMP/stderr" || fail "profiled: $(cat "$TMP/stderr")"
    [ ! -s "$TMP/stderr" ] || fail "profiled, on stderr: $(cat "$TMP/stderr")"
    check_profile "$TMP/signals.pb.gz" >/dev/null
}

profiled
WALLPROF_OBSERVE=signal profiled # which sends more of them

# A SIGPROF from outside still ends a program that does not handle it.
WALLPROF_OUT=$TMP/killed.pb.gz LD_PRELOAD=$LIBRARY sleep 100 &
end=$((SECONDS + 60))
until grep -qsx wallprof /proc/$!/task/*/comm; do
    [ "$SECONDS" -lt "$end" ] || fail "there is no sampler in it"
    sleep 0.1
done
kill -PROF $!
wait $!
status=$?
[ "$status" -eq 155 ] || fail "a SIGPROF from outside: status $status, not 155 (128 + 27)"

# A mask inherited through exec holds the signal already: the program reads it back, and is sampled all the same.
cat >"$TMP/masked.py" <<'PYTHON'
import signal, time
end = time.monotonic() + 1
while time.monotonic() < end:
    sum(range(1000))
print(signal.SIGPROF in signal.pthread_sigmask(signal.SIG_BLOCK, []))
PYTHON
output=$(env -u LD_PRELOAD "$PYTHON" -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
os.environ.update(LD_PRELOAD=sys.argv[1], WALLPROF_OUT=sys.argv[2])
os.execv(sys.executable, [sys.executable, sys.argv[3]])' "$LIBRARY" "$TMP/masked.pb.gz" "$TMP/masked.py")
assert_equal "SIGPROF in an inherited mask" "$output" True
check_profile "$TMP/masked.pb.gz" >/dev/null
assert_function "$TMP/masked.pb.gz" __libc_start_main
functions_of "$TMP/masked.pb.gz" | grep -F '[not responding]' && fail "a thread with an inherited mask does not respond"

# 300 times over a chain of three programs, each taking the place of the one before while it is sampled.
exec_chains() {
    local count
    count=$(WALLPROF_HZ=10000 WALLPROF_OUT=$TMP/exec.%p.pb.gz LD_PRELOAD=$LIBRARY bash -c '
        for ((i = 0; i < 300; i++)); do
            (exec bash -c "exec sh -c \"echo alive\"")
        done' | grep -c alive)
    [ "$count" -eq 300 ] || fail "$((300 - count)) of 300 programs were killed around exec"
}

exec_chains
WALLPROF_OBSERVE=signal exec_chains
