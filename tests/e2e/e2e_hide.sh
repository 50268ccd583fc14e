#!/bin/bash
# WALLPROF_HIDE: the program's environment is as it would be without the profiler, other preloaded libraries are still
# named, and what it executes is profiled all the same.
# test: quick
# shellcheck disable=SC2016 # what stands in single quotes is expanded by an inner shell
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

other=$("$PYTHON" -c 'import ctypes.util; print(ctypes.util.find_library("m"))')
own='WALLPROF_[A-Z]*|LD_PRELOAD'

# What a program sees of these variables, sorted, on one line.
seen_by() { # COMMAND...
    env "$@" | grep -E "^($own)=" | sort | tr '\n' ' '
}

cd "$TMP" || exit 1
visible=$(seen_by WALLPROF_HZ=200 WALLPROF_OUT=a.pb.gz LD_PRELOAD="$LIBRARY" env)
assert_equal "without hiding" "$visible" "LD_PRELOAD=$LIBRARY WALLPROF_HZ=200 WALLPROF_OUT=a.pb.gz "

hidden=(WALLPROF_HIDE=1 WALLPROF_HZ=200 'WALLPROF_OUT=%n.%p.pb.gz')
assert_equal "hidden" "$(seen_by "${hidden[@]}" LD_PRELOAD="$LIBRARY" env)" ""
assert_equal "with another" "$(seen_by "${hidden[@]}" LD_PRELOAD="$other:$LIBRARY" env)" "LD_PRELOAD=$other "

# A shell's variables are what it found; what it forks and executes, and what is executed in its place, is profiled.
rm -f ./*.pb.gz
assert_equal "in a shell and below" \
    "$(seen_by "${hidden[@]}" LD_PRELOAD="$LIBRARY" bash -c "set; $TARGETS/target_env; /usr/bin/env -i $TARGETS/target_env; exec $TARGETS/target_env")" ""
count=$(find . -name 'target_env.*.pb.gz' | wc -l)
assert_equal "profiles of programs that were executed" "$count" 3

# The list the process was started with is the kernel's, and stays.
env "${hidden[@]}" LD_PRELOAD="$LIBRARY" cat /proc/self/environ | tr '\0' '\n' | grep '^WALLPROF_HIDE=1$' >/dev/null ||
    fail "/proc/self/environ is not what the documentation says"

# What the C library starts within itself is started as without us. Visible, it is followed; hidden, only what passes a hook.
start_by() { # HOW HIDE
    rm -f ./starts.*
    env -i PATH=/usr/bin:/bin WALLPROF_HIDE="$2" 'WALLPROF_OUT=starts.%n.%p.pb.gz' LD_PRELOAD="$LIBRARY" "$TARGETS/target_starts" "$1" "$TARGETS/target_env" 2>"$TMP/err" |
        grep -vE "^($own)=" >"$TMP/starts"
    assert_equal "$1: stderr" "$(cat "$TMP/err")" ""
    followed=$(find . -name 'starts.target_env.*' | wc -l)
}

for how in system popen wordexp clone clone-vfork clone-quiet; do
    bare=$(env -i PATH=/usr/bin:/bin "$TARGETS/target_starts" "$how" "$TARGETS/target_env")
    start_by "$how" 0
    assert_equal "$how" "$(cat "$TMP/starts")" "$bare"
    [ "$how" = clone-quiet ] || assert_equal "$how: followed" "$followed" 1
    start_by "$how" 1
    assert_equal "$how, hidden" "$(cat "$TMP/starts")" "$bare"
    case $how in
    clone | clone-vfork) assert_equal "$how, hidden: followed" "$followed" 1 ;;
    *) assert_equal "$how, hidden: followed" "$followed" 0 ;;
    esac
done
