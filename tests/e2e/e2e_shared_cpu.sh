#!/bin/bash
# Busy threads that share a CPU wait for it, or for their cgroup's quota of it: see target_shared_cpu.c and judge_shared_cpu.py.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
cgroup=

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "$cgroup" ] || rmdir "$cgroup"
}

! is_emulated || skip "an emulator's own threads are what the kernel counts"

profile_run "$TMP/shared.pb.gz" "$TARGETS/target_shared_cpu" 8 2 >"$TMP/out"
status=$?
[ $status != 77 ] || skip "the kernel does not tell the run delay"
[ $status = 0 ] || fail "exit status $status"
"$PYTHON" "$TESTS/judges/judge_shared_cpu.py" "$TMP/shared.pb.gz" "$TMP/out" || fail "not what the kernel says"
"$BUILD/wallprof" top "$TMP/shared.pb.gz" >"$TMP/top"
grep -q '^ .* DELAY ' "$TMP/top" || fail "top has no column of it: $(cat "$TMP/top")"

# A cgroup's quota of a fifth of a CPU throttles 4 busy threads. Version 1 and 2 have different files.
quota() {
    local name=wallprof-quota-$$ files
    [ "$(id -u)" = 0 ] || { leave_out quota "only root makes a cgroup" && return; }
    for cgroup in "/sys/fs/cgroup/cpu/$name" "/sys/fs/cgroup/$name"; do
        mkdir "$cgroup" 2>/dev/null && files=$(ls "$cgroup") && grep -q -E '^cpu\.(max|cfs_quota_us)$' <<<"$files" && break
        rmdir "$cgroup" 2>/dev/null
        cgroup=
    done
    [ "$cgroup" ] || { leave_out quota "there is no cgroup with the cpu controller" && return; }
    if [ -e "$cgroup/cpu.max" ]; then
        echo 20000 100000 >"$cgroup/cpu.max"
    else
        echo 100000 >"$cgroup/cpu.cfs_period_us" && echo 20000 >"$cgroup/cpu.cfs_quota_us"
    fi || fail "no quota for $cgroup"
    # shellcheck disable=SC2016 # the inner shell's
    profile_run "$TMP/quota.pb.gz" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$TARGETS/target_shared_cpu" 4 1 >"$TMP/quota.out" ||
        fail "quota: exit status $?"
    "$PYTHON" "$TESTS/judges/judge_shared_cpu.py" "$TMP/quota.pb.gz" "$TMP/quota.out" || complain "quota: not what the kernel says"
    "$BUILD/wallprof" top "$TMP/quota.pb.gz" >"$TMP/quota.top"
    grep -q '^throttled [0-9]* times by the CPU quota of its cgroup' "$TMP/quota.top" || complain "quota: top does not say so: $(cat "$TMP/quota.top")"
}
quota
exit "$bad"
