#!/bin/bash
# A server that makes a thread for each request: threads that have ended are merged when memory is full, so a thread that
# comes late is seen, no time is lost, and a store that was killed then is whole; see target_requests.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

count=8000 # each takes 216 bytes at least

judge() { # FILE [killed]
    "$BUILD/wallprof" top --json -n 0 "$1" >"$TMP/report.json" || fail "$1 cannot be read"
    "$PYTHON" "$TESTS/judges/judge_requests.py" "$TMP/report.json" "$TMP/truth" "${@:2}" || fail "$1 is not the program's truth"
}

export WALLPROF_MEM=1M WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
WALLPROF_TIMELINE=1 profile_run "$TMP/whole.pb.gz,$TMP/whole.store,$TMP/whole.html" "$TARGETS/target_requests" $count \
    >"$TMP/truth" 2>"$TMP/stderr" || fail "target_requests ended with status $?"
assert_equal stderr "$(cat "$TMP/stderr")" ""
check_profile "$TMP/whole.pb.gz"
judge "$TMP/whole.store"
read_pprof comments "$TMP/whole.pb.gz" | grep -F "memory: full, so " || fail "nothing says that threads were merged"

mkdir "$TMP/live"
WALLPROF_STORE=$TMP/live/ profile_run "$TMP/killed.pb.gz" "$TARGETS/target_requests" $count killed >"$TMP/truth" 2>"$TMP/stderr"
assert_equal "status of a process that was killed" $? 137
judge "$(echo "$TMP"/live/*.store)" killed
