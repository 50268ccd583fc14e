#!/bin/bash
# No rhythm of the program's own timers is favoured or missed: see target_rhythm.c and judge_rhythm.py.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# Others on the machine would make all of it late.
first=()
! nice -n -20 true 2>/dev/null || first=(nice -n -20)
WALLPROF_HZ=1000 WALLPROF_OVERHEAD=0 profile_run "$TMP/rhythm.pb.gz" "${first[@]}" "$TARGETS/target_rhythm" 1000 >"$TMP/truth" ||
    fail "target_rhythm ended with status $?"
check_profile "$TMP/rhythm.pb.gz" --main="$TARGETS/target_rhythm"
"$PYTHON" "$TESTS/judges/judge_rhythm.py" "$TMP/rhythm.pb.gz" "$TMP/truth"
