#!/bin/bash
# Thousands of threads: all of their time is in the profile, whatever memory there is for it; see target_many.c.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

profile_many() { # NAME ARGUMENTS...
    local name=$1
    shift
    echo "== $name: $*"
    profile_run "$TMP/$name.pb.gz" "$TARGETS/target_many" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" ||
        complain "$name: exit status $?"
}

judge() { # NAME [full]
    (check_profile "$TMP/$1.pb.gz" ${2:+--full=yes}) || complain "$1: its profile is not good"
    "$PYTHON" "$TESTS/judges/judge_many.py" "$TMP/$1.pb.gz" "$TMP/$1.out" "${@:2}" || complain "$1: not its truth"
}

assert_quiet() { # NAME
    [ ! -s "$TMP/$1.err" ] || complain "$1: on stderr: $(cat "$TMP/$1.err")"
}

assert_warning() { # NAME TEXT
    grep -F -- "$2" "$TMP/$1.err" || complain "$1: no warning: $(cat "$TMP/$1.err")"
}

# As many at once as the machine lets the program have without us.
live=20000
bare_run "$TARGETS/target_many" hold $live 0 >/dev/null 2>&1 || live=5000
bare_run "$TARGETS/target_many" hold $live 0 >/dev/null || skip "$live threads cannot be had here"

profile_many churn churn 10000 1
judge churn
assert_quiet churn
if is_long; then
    WALLPROF_HZ=1000 WALLPROF_THREADS=64 profile_many often churn 10000 2
    judge often
    assert_quiet often
fi
WALLPROF_OBSERVE=signal WALLPROF_HZ=1000 profile_many signals churn 10000 3
judge signals
assert_quiet signals

if is_long; then
    WALLPROF_THREADS=256 profile_many hold hold $live 1000
    judge hold
    assert_quiet hold
fi
WALLPROF_THREADS=256 WALLPROF_MEM=1M profile_many full hold $live 1000
judge full full
assert_warning full "the profile is full"
exit "$bad"
