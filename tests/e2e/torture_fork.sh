#!/bin/bash
# Children of every kind at once, started by many threads beside others that hold the heap and the loader, all sampled
# by signal 10,000 times a second. Each must end with its status, and those that live leave a profile.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

seconds=${TORTURE_SECONDS:-3}
limit=$((seconds * 6 + HANG_S))

# Programs that are started are left alone, as they would take all of the machine.
for beside in load exit; do
    timeout --kill-after=1 "$limit" env WALLPROF_FOLLOW=fork WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal \
        WALLPROF_OUT="$TMP/%p.pb.gz" LD_PRELOAD="$LIBRARY" "$TARGETS/target_children_all" "$seconds" $beside \
        >"$TMP/pids" 2>"$TMP/err" || fail "$beside: status $?: $(cat "$TMP/err")"
    assert_equal "$beside: stderr" "$(cat "$TMP/err")" ""
done
[ -s "$TMP/pids" ] || fail "no child lived long"
echo "$(wc -l <"$TMP/pids") children lived long"
while read -r pid; do
    read_pprof check "$TMP/$pid.pb.gz" || fail "the profile of child $pid breaks a rule of the format"
done < <(head -n 50 "$TMP/pids")
check_profile "$TMP/$(tail -n 1 "$TMP/pids").pb.gz" >/dev/null

if [ -n "${TORTURE_SECONDS-}" ]; then
    WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal profile_run /dev/null timeout "$HANG_S" "$TARGETS/target_children" memory 2048 ||
        fail "a fork with 2 GiB: status $?"
fi
