# Sourced: CPython's functions in stacks, judged by what a program says of itself.
# shellcheck source=tests/lib/roots.sh
. "$TESTS/lib/roots.sh"

# The time that the program stands still for, in seconds.
hold_s=1
! is_long || hold_s=10

has_frames() { # PYTHON
    "$1" -c 'import sys, sqlite3, ctypes; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' 2>/dev/null
}

# SCRIPT: of tests/targets.
judge_frames() { # ROOT PYTHON SCRIPT NAME VARIABLES...
    local root=$1 python=$2 script=$3 name=$4 variable
    (
        export WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
        for variable in "${@:5}"; do
            export "${variable?}"
        done
        profile_run_in "$root" "$TMP/$name.pb.gz" "$python" "$TESTS/targets/$script.py" "$TMP/$name.json" "$hold_s"
    ) || fail "$name: the program failed"
    check_profile "$TMP/$name.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_scripts.py" "$TMP/$name.pb.gz" "$TMP/$name.json" || complain "$name: stacks differ"
}
