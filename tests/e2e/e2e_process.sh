#!/bin/bash
# Ends and beginnings of processes and threads that once went wrong.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# The worker is sampled although main left before it had begun.
for _ in 1 2 3 4 5; do
    profile_run "$TMP/leave.pb.gz" "$TARGETS/target_leave" || fail "target_leave: status $?"
    check_profile "$TMP/leave.pb.gz" >/dev/null
    has_function "$TMP/leave.pb.gz" clock_nanosleep || fail "the last thread was not sampled"
done

# Also where main has left by the bare system call. Its entry in /proc stays, but the process ends with the other thread.
timeout --kill-after=1 "$HANG_S" env WALLPROF_OUT="$TMP/exit.pb.gz" LD_PRELOAD="$LIBRARY" "$TARGETS/target_leave" exit || fail "target_leave exit: status $?"
check_profile "$TMP/exit.pb.gz" >/dev/null
has_function "$TMP/exit.pb.gz" clock_nanosleep || fail "the thread that main has left behind was not sampled"

# A child must not meet the program's malloc before the program's own fork handlers have run.
output=$(timeout "$HANG_S" env WALLPROF_OUT="$TMP/fork.%p.pb.gz" LD_PRELOAD="$LIBRARY" "$TARGETS/target_fork") ||
    fail "target_fork: status $?"
assert_equal "output of target_fork" "$output" "20 children"
count=$(find "$TMP" -name 'fork.*.pb.gz' | wc -l)
assert_equal "profiles of target_fork and its children" "$count" 21

# What comes before the sampler has set itself up is as it is later.
for observe in auto signal; do
    WALLPROF_OBSERVE=$observe WALLPROF_HZ=50 profile_run "$TMP/early.%p.pb.gz" "$TARGETS/target_early" >"$TMP/early" 2>&1
    assert_equal "target_early, $observe: status" $? 3
    assert_equal "target_early, $observe: output" "$(cat "$TMP/early")" ""
done

# The thread that ends the process before that may have hardly any stack, or be about to end itself.
for mode in small-stack cancelled; do
    profile_run "$TMP/$mode.pb.gz" "$TARGETS/target_early" "$mode"
    assert_equal "target_early $mode: status" $? 3
    check_profile "$TMP/$mode.pb.gz" >/dev/null
done

# A message goes to the stderr of the start, also when the program has another file there by its end.
WALLPROF_OUT=/dev/full LD_PRELOAD=$LIBRARY bash -c "LD_PRELOAD= '$BUILD/wallprof' ctl --timeout $HANG_S \$\$ status >/dev/null
    exec 2>$TMP/data; echo mine >&2" 2>"$TMP/stderr"
assert_equal "the program's file" "$(cat "$TMP/data")" mine
assert_equal "stderr" "$(cat "$TMP/stderr")" "wallprof: the profile cannot be written to /dev/full: No space left on device"
# ... and when it has closed it, as the programs of coreutils do on their way out.
WALLPROF_OUT=/dev/full LD_PRELOAD=$LIBRARY sleep 0.02 2>"$TMP/stderr"
assert_equal "a stderr that was closed" "$(cat "$TMP/stderr")" "wallprof: the profile cannot be written to /dev/full: No space left on device"

# A link is written through: /dev/stdout is one.
touch "$TMP/target"
ln -s "$TMP/target" "$TMP/link"
profile_run "$TMP/link" /bin/true
[ -L "$TMP/link" ] || fail "a link was replaced"
check_profile "$TMP/target" >/dev/null
