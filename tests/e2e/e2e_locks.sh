#!/bin/bash
# Which lock a thread waits for, and who holds it: never a wrong one (target_locks.cc, judge_locks.py).
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own calls are what the kernel knows of"

program=$TARGETS/target_locks
judge=$TESTS/judges/judge_locks.py

record() { # NAME COMMAND MS VARIABLE=VALUE...
    local name=$1 command=$2 ms=$3 variable
    shift 3
    echo "== $name"
    (
        for variable in WALLPROF_OVERHEAD=off "$@"; do
            export "${variable?}"
        done
        profile_run "$TMP/$name.%p.pb.gz" "$program" "$command" "$ms" >"$TMP/$name.truth" 2>"$TMP/$name.err"
    ) || fail "target_locks $command ended with status $?: $(cat "$TMP/$name.err")"
    assert_equal "stderr of target_locks $command" "$(cat "$TMP/$name.err")" ""
    mv "$TMP/$name".*.pb.gz "$TMP/$name.pb.gz" || fail "target_locks $command left no profile, or several"
    check_profile "$TMP/$name.pb.gz"
}

# ---- every kind of lock, and what is none ----

record held held 1000 WALLPROF_START=0
"$PYTHON" "$judge" held "$TMP/held.pb.gz" "$TMP/held.truth" || complain "a lock or a holder is not as it was"

# ---- locks that change hands ----

record swap swap "$(is_long && echo 600000 || echo 3000)" WALLPROF_HZ=1000
"$PYTHON" "$judge" swap "$TMP/swap.pb.gz" || complain "a thread is said to hold a lock that it did not hold"

# ---- without reading other memory, and by signal only: nothing is said that is not known ----

record signal held 300 WALLPROF_START=0 WALLPROF_OBSERVE=signal
assert_equal "holders by signal" "$(run_pprof -tags "$TMP/signal.pb.gz" 2>/dev/null | grep -c "holder:")" 0
exit "$bad"
