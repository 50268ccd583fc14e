#!/bin/bash
# However a process ends, there is a profile of it: it writes that itself, or what it recorded is in its store. The end
# is what it would have been. See judge_endings.py and target_endings.cc.
#
# ENDINGS_MODES  preload, run or both (both)
# ENDINGS_JOBS   how many of the six parts run at a time (3)
# ENDINGS_KILLS  how many processes are killed at random moments (200)
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need timeout
is_emulated && skip "the emulator's end is another"
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
export BUILD PPROF

# shellcheck disable=SC2317 # called by e2e.sh
on_exit() { # a group that could not be removed while a process was dying in it
    rmdir /sys/fs/cgroup/memory/wallprof-endings-* /sys/fs/cgroup/wallprof-endings-* 2>/dev/null
}

# Processes that mostly wait: several at a time.
combinations=$(for mode in ${ENDINGS_MODES:-preload run}; do
    for shape in 1 50 child; do
        echo "$mode $shape"
    done
done)
# shellcheck disable=SC2016 # the inner shell's
echo "$combinations" | xargs -P "${ENDINGS_JOBS:-3}" -L 1 sh -c 'mkdir "$0/$3-$4" && "$1" "$2/judge_endings.py" matrix "$3" "$0/$3-$4" "$4" >"$0/$3-$4.log" 2>&1 ||
    echo "BAD: it ended with $?" >>"$0/$3-$4.log"' "$TMP" "$PYTHON" "$TESTS/judges"
while read -r mode shape; do
    echo "== $mode, $shape"
    cat "$TMP/$mode-$shape.log"
    ! grep -qE '^(BAD|FAIL)' "$TMP/$mode-$shape.log" || bad=1
    grep -q 'as it should be' "$TMP/$mode-$shape.log" || bad=1
done <<END
$combinations
END

echo "== killed"
"$PYTHON" "$TESTS/judges/judge_endings.py" kills "$TMP" "${ENDINGS_KILLS:-200}" || bad=1
exit "$bad"
