#!/bin/bash
# What a thread waits for that is no lock: files, sockets, pipes, children (target_objects.c, judge_locks.py).
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own calls are what the kernel knows of"

program=$TARGETS/target_objects
judge=$TESTS/judges/judge_locks.py

prefix=()

record() { # NAME COMMAND MS VARIABLE=VALUE...
    local name=$1 command=$2 ms=$3 variable
    shift 3
    echo "== $name"
    mkdir -m 777 "$TMP/$name"
    (
        for variable in WALLPROF_OVERHEAD=off "$@"; do
            export "${variable?}"
        done
        profile_run "$TMP/$name/%p.pb.gz" "${prefix[@]}" "$program" "$command" "$ms" "$TMP/$name" >"$TMP/$name.truth" 2>"$TMP/$name.err"
    ) || fail "target_objects $command ended with status $?: $(cat "$TMP/$name.err")"
    assert_equal "stderr of target_objects $command" "$(cat "$TMP/$name.err")" ""
    mv "$TMP/$name"/*.pb.gz "$TMP/$name.pb.gz" || fail "target_objects $command left no profile, or several"
    check_profile "$TMP/$name.pb.gz"
}

# ---- every kind of thing ----

record held held 1000 WALLPROF_START=0
"$PYTHON" "$judge" held "$TMP/held.pb.gz" "$TMP/held.truth" || complain "a thing is not as it was"

# ---- as daemons do, which the kernel then lets read less of themselves than before ----

if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$TMP"
    prefix=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    record nobody held 300 WALLPROF_START=0
    "$PYTHON" "$judge" held "$TMP/nobody.pb.gz" "$TMP/nobody.truth" || complain "a thing is not as it was, for nobody"
    hide='mount -t proc -o hidepid=2 proc /proc'
    if unshare -m bash -c "$hide" 2>/dev/null; then
        prefix=(unshare -m bash -c "$hide && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"\$@\"" hidden)
        record hidden held 300 WALLPROF_START=0
        "$PYTHON" "$judge" held "$TMP/hidden.pb.gz" "$TMP/hidden.truth" ||
            complain "a thing is not as it was where other processes are hidden"
    else
        leave_out hidden "/proc cannot be mounted here"
    fi
    prefix=()
else
    leave_out nobody "only root can become somebody else"
    leave_out hidden "only root can mount /proc"
fi

# ---- descriptors that are used again ----

record swap swap "$(is_long && echo 600000 || echo 3000)" WALLPROF_HZ=1000
"$PYTHON" "$judge" own "$TMP/swap.pb.gz" "$TMP/swap.truth" || complain "a thing is another thread's"

# ---- by signal only: nothing is said that is not known ----

record signal held 300 WALLPROF_START=0 WALLPROF_OBSERVE=signal
assert_equal "things by signal" "$(run_pprof -tags "$TMP/signal.pb.gz" 2>/dev/null | grep -c " on:")" 0
exit "$bad"
