#!/bin/bash
# sort --parallel=2: threads that live only for a part of the program.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need sort

export LC_ALL=C.UTF-8
awk 'BEGIN { srand(5); for (i = 0; i < 1500000; i++) printf "%x%06x\n", rand() * 2 ^ 31, rand() * 2 ^ 24 }' >"$TMP/input"
sort -f "$TMP/input" >"$TMP/expected"
profile_run "$TMP/sort.pb.gz" sort -f --parallel=2 "$TMP/input" >"$TMP/sorted" 2>"$TMP/stderr" ||
    fail "sort ended with status $?"
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
cmp "$TMP/sorted" "$TMP/expected" || fail "the result differs from that of the bare program"
check_program "$TMP/sort.pb.gz"
[ "$(threads_of "$TMP/sort.pb.gz" | wc -l)" -ge 2 ] || fail "sort's second thread is missing"
