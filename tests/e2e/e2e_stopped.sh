#!/bin/bash
# Job control: a stopped process stays so under a sampler, goes on when it is continued, and the waits that end with EINTR
# then, though no handler has run, do; see target_stopped.c.
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
rounds_max=20

profiled_round() { # OBSERVE
    WALLPROF_HZ=1000 WALLPROF_OBSERVE=$1 WALLPROF_OUT="$TMP/stopped.%p.pb.gz" LD_PRELOAD=$LIBRARY "$TARGETS/target_stopped"
}

going_on() { # FILE
    grep -E '^(poll|select|pselect|nanosleep|sem_timedwait) ' "$1"
}

ending() { # FILE...
    sed -n 's/ .* EINTR$//p' "$@" | LC_ALL=C sort -u
}

bare_run "$TARGETS/target_stopped" | LC_ALL=C sort >"$TMP/bare" || fail "target_stopped fails"
assert_equal "bare, what goes on" "$(going_on "$TMP/bare" | wc -l)" 5

# A wait that goes on does so every time. One that ends may be asked by a signal of ours before it has returned, and that
# is spared: it goes on, as after any signal of ours. So each has ended in one round or another.
profiled() { # OBSERVE WAIT...
    local round wanted
    wanted=$(printf '%s\n' "${@:2}")
    for ((round = 1; round <= rounds_max; round++)); do
        profiled_round "$1" | LC_ALL=C sort >"$TMP/$1.$round" || fail "$1: target_stopped fails"
        grep -E 'did not stop| is |ended with' "$TMP/$1.$round" && fail "$1: job control differs"
        diff <(going_on "$TMP/bare") <(going_on "$TMP/$1.$round") || fail "$1: waits that go on differ"
        missing=$(comm -23 <(echo "$wanted") <(ending "$TMP/$1".*))
        [ -n "$missing" ] || break
    done
    echo "$1: $(cat "$TMP/$1".* | grep -c EINTR) waits ended with EINTR in $round rounds"
    [ "$round" -le "$rounds_max" ] || fail "$1: these never ended with EINTR: $missing"
}

ends=(epoll_pwait epoll_wait read recv semtimedop sigtimedwait)
assert_equal "bare, what ends with EINTR" "$(ending "$TMP/bare")" "$(printf '%s\n' "${ends[@]}")"
profiled auto "${ends[@]}"
# By signal only one of ours is nearly always on its way when a process is stopped: reads go on after it.
profiled signal epoll_pwait epoll_wait semtimedop sigtimedwait
