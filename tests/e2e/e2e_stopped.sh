#!/bin/bash
# Job control: a stopped process stays so under a sampler, goes on when it is continued, and the waits that end with EINTR
# then, though no handler has run, do; see target_stopped.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
rounds=3

run_rounds() { # FILE COMMAND...
    local file=$1 round
    shift
    for ((round = 0; round < rounds; round++)); do
        "$@" || fail "$*: status $?"
    done | sort >"$file"
}

profiled() { # OBSERVE
    (
        export WALLPROF_HZ=1000 WALLPROF_OBSERVE=$1 WALLPROF_OUT="$TMP/stopped.%p.pb.gz" LD_PRELOAD=$LIBRARY
        run_rounds "$TMP/$1" "$TARGETS/target_stopped"
    )
    grep -E 'did not stop| is |ended with' "$TMP/$1" && fail "$1: job control differs"
    diff <(going_on <"$TMP/bare") <(going_on <"$TMP/$1") || fail "$1: waits that go on differ"
    found=$(grep -c EINTR "$TMP/$1")
    echo "$1: $found of $ends waits ended with EINTR"
}

going_on() {
    grep -E '^(poll|select|pselect|nanosleep|sem_timedwait) '
}

run_rounds "$TMP/bare" bare_run "$TARGETS/target_stopped"
ends=$(grep -c EINTR "$TMP/bare")

# On a busy machine a thread may not come to return from its wait before it is asked; by signal only, some signals are on
# their way when the process is stopped.
profiled auto
[ "$found" -ge $((ends * 2 / 3)) ] || fail "only $found of $ends waits ended with EINTR: $(diff "$TMP/bare" "$TMP/auto")"
profiled signal
