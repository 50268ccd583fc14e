#!/bin/bash
# wallprof attach: a process is recorded from outside, truly, and does not notice. See target_truth.c, target_locks.cc,
# target_attached.c and docs/design/external.md.
#
# ATTACH_CYCLES, ATTACH_KILLS: how often it attaches and leaves, and how often it is killed meanwhile.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator has no ptrace"

WALLPROF=$BUILD/wallprof
CYCLES=${ATTACH_CYCLES:-50} KILLS=${ATTACH_KILLS:-20}
subject= # the process that is attached to

# shellcheck disable=SC2317 # called at the end
on_exit() {
    [ -z "$subject" ] || kill -KILL "$subject" 2>/dev/null
}

# Starts a target whose stdin stays open, and waits until it says WORD; "": only until it has begun. Its lines go to
# $TMP/NAME.out.
begin() { # NAME WORD PROGRAM ARGUMENTS...
    local name=$1 word=$2
    shift 2
    rm -f "$TMP/$name.in"
    mkfifo "$TMP/$name.in"
    "$@" <"$TMP/$name.in" >"$TMP/$name.out" &
    subject=$!
    exec 3>"$TMP/$name.in"
    until [ "$(readlink "/proc/$subject/exe")" = "$(realpath "$1")" ] && { [ -z "$word" ] || grep -q "$word" "$TMP/$name.out"; }; do
        kill -0 "$subject" 2>/dev/null || fail "$1 has not begun"
        sleep 0.01
    done
}

end() { # STATUS
    exec 3>&-
    wait "$subject"
    assert_equal "the status of the target" "$?" "$1"
    subject=
}

# Meanwhile it waits for its recording thread with all signals blocked. They are also blocked for a moment when its first thread
# is made, the one that tries to trace; but for that one it waits with none blocked. So the wait is looked for first.
until_it_records() { # PID OF attach
    until grep -q futex "/proc/$1/wchan" 2>/dev/null && grep -q '^SigBlk:.ffff' "/proc/$1/status" 2>/dev/null; do
        [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ] || fail "attach has ended"
        sleep 0.01
    done
}

# The words before the colon of /proc/PID/status, of all threads: what one of them has.
states_of() { # PID
    cat /proc/"$1"/task/*/status 2>/dev/null | awk '$1 == "State:" || $1 == "TracerPid:" { print $1, $2 }' | LC_ALL=C sort -u
}

# Nobody traces it, and no thread is stopped.
assert_free() { # PID WHEN
    ! states_of "$1" | grep -qE 'TracerPid: [1-9]|State: [tT]' || fail "$2: $(states_of "$1")"
}

# 77 with the reason, where nobody may attach at all.
check_permission() {
    begin permission ready "$TARGETS/target_attached" private
    end 0
    begin permission ready "$TARGETS/target_attached" work
    "$WALLPROF" attach -q -d 50ms -o "$TMP/permission.pb.gz" "$subject" 2>"$TMP/said" || {
        grep -qE 'ptrace_scope|CAP_SYS_PTRACE|does not allow' "$TMP/said" && end 0 && skip "ptrace is not permitted here: $(cat "$TMP/said")"
        fail "it cannot attach: $(cat "$TMP/said")"
    }
    end 0
}

judge_truth() {
    echo "== truth"
    begin truth '' "$TARGETS/target_truth" 10 7 wait
    WALLPROF_OVERHEAD=off "$WALLPROF" attach -v -o "$TMP/truth.pb.gz" "$subject" 2>"$TMP/truth.err" &
    local attached=$!
    until_it_records "$attached"
    sleep 0.1 # and has seen its one thread
    echo >&3
    end 0
    wait "$attached" || fail "attach ended with status $?: $(cat "$TMP/truth.err")"
    cat "$TMP/truth.err"
    check_profile "$TMP/truth.pb.gz" --main="$TARGETS/target_truth"
    read_pprof comments "$TMP/truth.pb.gz"
    show_top "$TMP/truth.pb.gz" 5
    "$PYTHON" "$TESTS/judges/judge_truth.py" "$TMP/truth.pb.gz" "$TMP/truth.out" 100 8 outside || complain "not the truth"
}

# Which lock each thread waits for, and who holds it: as from inside.
judge_locks() {
    echo "== locks"
    begin locks futex "$TARGETS/target_locks" held
    WALLPROF_OVERHEAD=off "$WALLPROF" attach -q -d 1s -o "$TMP/locks.pb.gz" "$subject" || fail "attach ended with status $?"
    end 0
    "$PYTHON" "$TESTS/judges/judge_locks.py" held "$TMP/locks.pb.gz" "$TMP/locks.out" || complain "a lock or a holder is not as it was"
}

# What it does is as without us, however often somebody comes and goes.
come_and_go() {
    echo "== come and go"
    begin work ready "$TARGETS/target_attached" work
    for ((i = 0; i < CYCLES; i++)); do
        "$WALLPROF" attach -q --hz 1000 --overhead off -d 100ms -o "$TMP/cycle.pb.gz" "$subject" || fail "cycle $i failed"
        assert_free "$subject" "after cycle $i"
    done
    check_profile "$TMP/cycle.pb.gz"
    for name in wait_shortly wait_for_ever spin; do
        assert_function "$TMP/cycle.pb.gz" "$name"
    done
    end 0
    cat "$TMP/work.out"
    assert_equal "what it says" "$(tail -n +2 "$TMP/work.out")" "$(printf 'cut short 0 of many\nwoken 0\nsignals lost 0 of many\ntracer 0')"
}

# Whoever is killed between a stop and the repair of the call that it ended leaves that one call ended: external.md.
is_killed() {
    echo "== is killed"
    begin work ready "$TARGETS/target_attached" work
    for ((i = 0; i < KILLS; i++)); do
        "$WALLPROF" attach -q --hz 5000 --overhead off -o "$TMP/killed.pb.gz" "$subject" &
        sleep "0.$((RANDOM % 30 + 10))"
        kill -KILL $!
        wait $! 2>/dev/null
        assert_free "$subject" "after kill $i"
    done
    end 0
    cat "$TMP/work.out"
    local short
    short=$(awk '/^cut short/ { print $3 }' "$TMP/work.out")
    [ "$short" -le "$KILLS" ] || complain "$KILLS kills have cut $short calls short"
    assert_equal "what else it says" "$(tail -n +3 "$TMP/work.out")" "$(printf 'woken 0\nsignals lost 0 of many\ntracer 0')"
}

# A process that is stopped stays so. Ctrl-C ends the recording, and the profile is there.
leave() {
    echo "== leave"
    begin work ready "$TARGETS/target_attached" work
    kill -STOP "$subject"
    until states_of "$subject" | grep -q 'State: T'; do sleep 0.01; done
    "$WALLPROF" attach -q -d 100ms -o "$TMP/stopped.pb.gz" "$subject" || fail "a stopped process cannot be recorded"
    assert_equal "a stopped process" "$(states_of "$subject")" "$(printf 'State: T\nTracerPid: 0')"
    kill -CONT "$subject"
    local signal
    for signal in INT TERM; do
        "$WALLPROF" attach -o "$TMP/$signal.pb.gz" "$subject" 2>"$TMP/said" &
        until_it_records $!
        kill "-$signal" $!
        wait $! || fail "SIG$signal: status $?"
        grep -q "profile in .*/$signal.pb.gz -- look at it with: wallprof top" "$TMP/said" || fail "it says $(cat "$TMP/said")"
        check_profile "$TMP/$signal.pb.gz"
    done
    end 0
}

refuse() { # PATTERN ARGUMENTS...
    local pattern=$1 status
    shift
    "$WALLPROF" attach "$@" >"$TMP/said" 2>&1
    status=$?
    { grep -q -- "$pattern" "$TMP/said" && [ "$status" -ne 0 ]; } || complain "attach $*: status $status, says $(cat "$TMP/said")"
}

# Why it cannot be, in words.
explain() {
    echo "== explain"
    refuse "one PID is needed"
    refuse "not the number of a process" abc
    refuse "is no number\|cannot be used" --hz no 1
    refuse "there is no process 4194303" 4194303
    # shellcheck disable=SC2016 # the inner shell's
    sh -c 'exec "$0" attach $$' "$WALLPROF" >"$TMP/said" 2>&1
    grep -q "is this command itself" "$TMP/said" || complain "of itself it says $(cat "$TMP/said")"
    begin zombie ready "$TARGETS/target_attached" zombie
    refuse "has ended already" "$(head -n 1 "$TMP/zombie.out")"
    end 0
    begin work ready "$TARGETS/target_attached" work
    local thread
    thread=$(find "/proc/$subject/task" -mindepth 1 -maxdepth 1 ! -name "$subject" -printf '%f\n' | head -n 1)
    refuse "is a thread of process $subject" "$thread"
    mkfifo "$TMP/trace.in"
    "$TARGETS/target_attached" trace "$subject" <"$TMP/trace.in" >"$TMP/trace.out" &
    local tracer=$!
    exec 4>"$TMP/trace.in"
    until grep -q ready "$TMP/trace.out"; do sleep 0.01; done
    refuse "is traced by process $tracer (target_attache" "$subject"
    exec 4>&-
    wait "$tracer"
    end 0
    WALLPROF_OUT=$TMP/inside.pb.gz LD_PRELOAD=$LIBRARY begin inside ready "$TARGETS/target_attached" private
    refuse "is recorded already, by the library in it" "$subject"
    end 0
}

check_permission
judge_truth
judge_locks
come_and_go
is_killed
leave
explain
exit "$bad"
