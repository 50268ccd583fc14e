#!/bin/bash
# A hole that a program leaves between its mappings stays free for it: what a recording maps while it is made, and for a
# profile now and then, lies elsewhere.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

bare_run "$TARGETS/target_hole" || fail "bare: $?"
for observe in auto signal; do
    WALLPROF_OBSERVE=$observe WALLPROF_TIMELINE=1 WALLPROF_INTERVAL_DUMP=100ms WALLPROF_STORE=$TMP profile_run "$TMP/$observe.pb.gz" \
        "$TARGETS/target_hole" || fail "$observe: status $?"
    [ "$(find "$TMP" -name "$observe.*.pb.gz" | wc -l)" -ge 3 ] || fail "there were no profiles meanwhile"
done
