#!/bin/bash
# Threads that run are seen as often as ever, whatever the number of threads that only wait; see target_crowd.c. Also in
# the second profile of continuous mode, when those that wait have done so since before the first.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own stacks are what the kernel knows of"

record() { # NAME ARGUMENTS...
    local name=$1
    shift
    echo "== $name: target_crowd $*"
    WALLPROF_OVERHEAD=off profile_run "$TMP/$name.pb.gz" "$TARGETS/target_crowd" "$@" >"$TMP/$name.out" || complain "$name: exit status $?"
    "$PYTHON" "$TESTS/judges/judge_crowd.py" "$TMP/$name.pb.gz" "$TMP/$name.out" || complain "$name: not its truth"
}

record none 2 0 2000
record before 2 2000 3000
record after 2 2000 3000 late
! is_long || record many 2 20000 10000

# Of each interval that the blocked threads wait in throughout.
echo "== continuous"
WALLPROF_INTERVAL_DUMP=1s profile_run "$TMP/part.pb.gz" "$TARGETS/target_crowd" 1 20 3000 >"$TMP/part.out" ||
    complain "continuous: exit status $?"
read_pprof functions "$TMP/part.000002.pb.gz" >"$TMP/part.functions" || complain "continuous: no second profile"
grep "^wall .* wait_for_ever$" "$TMP/part.functions" || complain "continuous: who waits on is not seen again"
exit "$bad"
