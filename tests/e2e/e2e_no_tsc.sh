#!/bin/bash
# A program without the time stamp counter, which the C library's clocks read: as it is bare.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

"$TARGETS/target_no_tsc"
status=$?
[ "$status" -ne 77 ] || skip "the time stamp counter cannot be taken away here"
[ "$status" -eq 0 ] || fail "target_no_tsc ends with $status bare"

for observe in auto signal; do
    WALLPROF_OBSERVE=$observe WALLPROF_HZ=1000 profile_run "$TMP/$observe.pb.gz" "$TARGETS/target_no_tsc" ||
        fail "target_no_tsc ends with $? profiled, $observe"
    check_profile "$TMP/$observe.pb.gz" >/dev/null
    assert_function "$TMP/$observe.pb.gz" work
done
