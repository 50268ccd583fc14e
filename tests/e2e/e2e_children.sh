#!/bin/bash
# Children born at a bad moment or in an unusual way: they end as they would without us, and leave a profile if they live.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_children

# Runs it at the highest rate, by signal only.
children() { # ARGUMENTS...
    timeout --kill-after=1 "$HANG_S" env WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_OUT="$TMP/%p.pb.gz" \
        LD_PRELOAD="$LIBRARY" "$program" "$@" || fail "target_children $*: status $?"
}

# A thread that is not in the child holds the loader's list for ever.
for how in exit leave again; do
    "$program" loader $how >/dev/null || fail "target_children loader $how does not hold bare"
    child=$(children loader $how) || exit 1
    check_profile "$TMP/$child.pb.gz" >/dev/null
    assert_function "$TMP/$child.pb.gz" work_in_child
done
# The forking thread itself holds it, and the sampler waits for it.
children callback

# A signal that is pending in a child when it begins: its handler may allocate, as in a program of one thread.
"$TARGETS/target_fork_pending" 50 >/dev/null || fail "target_fork_pending does not hold bare"
for start in 1 0; do
    WALLPROF_START=$start profile_run "$TMP/pending.%p.pb.gz" "$TARGETS/target_fork_pending" 50 >"$TMP/out" ||
        fail "START=$start: children hung in their handler: $(cat "$TMP/out")"
done

# A fork that copies many page tables' entries comes to its end. (make torture does it with 2 GiB.)
available=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
if [ "$available" -gt 2000 ]; then
    "$program" memory 512 || fail "target_children memory does not hold bare"
    children memory 512
else
    leave_out memory "only $available MiB are available"
fi

signals_of() { # TARGET'S ARGUMENTS...
    "$@" | without_internal_signals
    return "${PIPESTATUS[0]}"
}

# Masks and ignored signals are inherited as without us. Programs that it starts are not followed: we would unblock.
# timeout ends that signals are ignored, as they are where the test runs in the background.
for state in plain blocked ignored full; do
    signals_of timeout --kill-after=1 "$HANG_S" "$program" inherit $state >"$TMP/bare" || fail "target_children inherit $state does not hold bare"
    for follow in fork none; do
        WALLPROF_FOLLOW=$follow signals_of children inherit $state >"$TMP/profiled"
        diff "$TMP/bare" "$TMP/profiled" || fail "SIGPROF $state, FOLLOW=$follow: other signals are inherited"
    done
    # What is not followed has everything back, in the kernel too.
    signals_of "$program" kernels $state >"$TMP/bare" || fail "target_children kernels $state does not hold bare"
    WALLPROF_FOLLOW=none signals_of children kernels $state >"$TMP/profiled"
    diff "$TMP/bare" "$TMP/profiled" || fail "SIGPROF $state: a child that is not followed has another mask"
done

# Children that have their parent's memory, or a copy of it that no hook has seen made.
for how in vfork raw; do
    "$program" $how >/dev/null || fail "target_children $how does not hold bare"
done
children vfork
child=$(children raw) || exit 1
check_profile "$TMP/$child.pb.gz" >/dev/null
assert_function "$TMP/$child.pb.gz" work_in_child

# Who is followed. The program works, forks, and its child works; a shell starts others in several ways.
followed() { # WHAT EXPECTED PROFILES OF A FORK
    local directory=$TMP/follow-$1
    mkdir "$directory"
    WALLPROF_FOLLOW=$1 profile_run "$directory/%n.%p.pb.gz" "$TARGETS/target_process" fork >"$directory/pid" 2>"$directory/err"
    assert_equal "FOLLOW=$1: status" $? 6
    assert_equal "FOLLOW=$1: stderr" "$(cat "$directory/err")" ""
    assert_equal "FOLLOW=$1: profiles" "$(find "$directory" -name '*.pb.gz' | wc -l)" "$2"
}
followed fork,exec 2
followed fork 2
followed exec 1
followed none 1

# What programs find in their environment that the program started by execve, posix_spawn, system and popen.
cat >"$TMP/start.py" <<'PYTHON'
import os, sys
show = ["env"]
sys.stdout.flush()
os.waitpid(os.spawnvp(os.P_NOWAIT, "env", show), 0)
os.waitpid(os.posix_spawnp("env", show, os.environ), 0)
os.system("env")
sys.stdout.write(os.popen("env").read())
sys.stdout.flush()
os.execvp("env", show)
PYTHON
environments() { # FOLLOW
    (cd "$TMP" && env -u WALLPROF_OUT WALLPROF_FOLLOW="$1" WALLPROF_OUT=/dev/null LD_PRELOAD="libm.so.6:$LIBRARY libdl.so.2" \
        "$PYTHON" start.py 2>&1 | grep -E '^(LD_PRELOAD|WALLPROF_)|^wallprof:' | sort | uniq -c | sed 's/^ *//')
}
assert_equal "environments, not followed" "$(environments none)" "5 LD_PRELOAD=libm.so.6:libdl.so.2"
assert_equal "environments, followed" "$(environments exec)" "5 LD_PRELOAD=libm.so.6:$LIBRARY libdl.so.2
5 WALLPROF_FOLLOW=exec
5 WALLPROF_OUT=/dev/null"
