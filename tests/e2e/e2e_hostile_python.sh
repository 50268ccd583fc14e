#!/bin/bash
# A program whose interpreter's memory is overwritten all the time loses names at most: it runs to its end, and its native
# stacks are whole.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

seconds=3
! is_long || seconds=60
for observe in auto signal; do
    export WALLPROF_HZ=5000 WALLPROF_OVERHEAD=off WALLPROF_OBSERVE=$observe
    profile_run "$TMP/$observe.pb.gz" "$TARGETS/target_hostile_python" "$seconds" || fail "$observe: the program failed with $?"
    check_profile "$TMP/$observe.pb.gz"
    check_roots "$TMP/$observe.pb.gz"
    read_pprof comments "$TMP/$observe.pb.gz" | grep '^scripts: [1-9]' || complain "$observe: the interpreter was not found"
done
exit $bad
