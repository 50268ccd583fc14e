#!/bin/bash
# A deadlock is said while the program hangs, once, and of no program that goes on (target_blame.c).
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own calls are what the kernel knows of"

program=$TARGETS/target_blame
tool=$BUILD/wallprof

count() { # FILE
    grep -c '^wallprof: deadlock: ' "$1"
}

# So many threads wait for each other until the program's input ends, which is once the message is there.
deadlock() { # THREADS TEXT
    local deadline=$((SECONDS + HANG_S))
    echo "== a deadlock of $1"
    mkfifo "$TMP/input.$1"
    profile_run "$TMP/deadlock.$1.pb.gz" "$program" deadlock "$1" <"$TMP/input.$1" >/dev/null 2>"$TMP/err.$1" &
    exec 3>"$TMP/input.$1"
    until [ "$(count "$TMP/err.$1")" -gt 0 ]; do
        [ "$SECONDS" -lt "$deadline" ] || fail "nothing is said of a deadlock of $1 threads"
        kill -0 $! 2>/dev/null || fail "target_blame deadlock $1 has ended: $(cat "$TMP/err.$1")"
        sleep 0.1
    done
    exec 3>&-
    wait $! || complain "target_blame deadlock $1 ended with status $?"
    assert_equal "messages of a deadlock of $1" "$(count "$TMP/err.$1")" 1
    grep -Eq "^wallprof: deadlock: $2\$" "$TMP/err.$1" || complain "it says: $(cat "$TMP/err.$1")"
}

# Threads of such names, each of which waits for the next one; any of them may be the first.
circle() { # THREADS
    local link=", which waits in take_second_fork for mutex forks(\+[0-9]+)?, held by eater-[1-$1] \([0-9]+\)"
    echo "eater-[1-$1] \([0-9]+\) waits in take_second_fork for mutex forks(\+[0-9]+)?, held by eater-[1-$1] \([0-9]+\)($link){$(($1 - 1))}"
}

# ---- threads that wait for good ----

for threads in 1 2 3; do
    deadlock "$threads" "$(circle "$threads")"
done

# ---- the recording has it, also of a program that is killed ----

"$tool" top "$TMP/deadlock.2.pb.gz" >"$TMP/top" || complain "wallprof top: status $?"
grep -q '^deadlock: eater-' "$TMP/top" || complain "wallprof top does not say it: $(cat "$TMP/top")"

mkdir "$TMP/store"
mkfifo "$TMP/input"
exec {input}<>"$TMP/input"
LD_PRELOAD=$LIBRARY WALLPROF_STORE=$TMP/store/ WALLPROF_LOG=warning:$TMP/log "$program" deadlock 2 <"$TMP/input" >/dev/null &
deadline=$((SECONDS + HANG_S))
until [ -s "$TMP/log" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "nothing is said of a deadlock of a program with a store"
    kill -0 $! 2>/dev/null || fail "the program has ended"
    sleep 0.1
done
kill -KILL $!
{ wait; } 2>/dev/null
exec {input}>&-
stores=("$TMP"/store/*)
"$tool" top "${stores[0]}" >"$TMP/top" || complain "wallprof top of a killed program's store: status $?"
grep -q '^deadlock: eater-' "$TMP/top" || complain "the store does not say it: $(cat "$TMP/top")"

# ---- and threads that do not ----

for what in philosophers timed; do
    echo "== $what"
    WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off profile_run "$TMP/$what.pb.gz" "$program" "$what" "$(is_long && echo 600000 || echo 3000)" \
        2>"$TMP/err" || complain "target_blame $what ended with status $?"
    assert_equal "what is said of $what" "$(cat "$TMP/err")" ""
    check_profile "$TMP/$what.pb.gz"
done
exit "$bad"
