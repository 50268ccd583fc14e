#!/bin/bash
# However a process ends, there is a profile of it: it writes that itself, or what it recorded is in its store. The end
# is what it would have been. See judge_endings.py and target_endings.cc.
#
# ENDINGS_MODES  preload, run or both (both)
# ENDINGS_KILLS  how many processes are killed at random moments (200)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need timeout
is_emulated && skip "the emulator's end is another"
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
export BUILD PPROF

# shellcheck disable=SC2317 # called by lib.sh
on_exit() { # a group that could not be removed while a process was dying in it
    rmdir /sys/fs/cgroup/memory/wallprof-endings-* /sys/fs/cgroup/wallprof-endings-* 2>/dev/null
}

for mode in ${ENDINGS_MODES:-preload run}; do
    for shape in 1 50 child; do
        [ "$mode.$shape" != run.50 ] || continue # what is different there is not a matter of threads
        echo "== $mode, $shape"
        "$PYTHON" "$TESTS/judge_endings.py" matrix "$mode" "$TMP" "$shape" || bad=1
    done
done

echo "== killed"
"$PYTHON" "$TESTS/judge_endings.py" kills "$TMP" "${ENDINGS_KILLS:-200}" || bad=1
exit "$bad"
