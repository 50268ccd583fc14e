#!/bin/bash
# wallprof top PID: a process that runs is shown as it runs, in a pipe and in a terminal, and does not notice. See target_live.c,
# judge_live.py and drive_live.py.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator has no ptrace"

WALLPROF=$BUILD/wallprof
export TMPDIR=$TMP HANG_S
subject= # the process that is looked at
run=     # wallprof run, where it was started by that

# shellcheck disable=SC2317 # called at the end
on_exit() {
    [ -z "$subject" ] || kill -KILL "$subject" 2>/dev/null
}

now() {
    "$PYTHON" -c 'import time; print(time.monotonic())'
}

# Starts the target, whose stdin stays open, and waits until it says that it is ready. Its lines go to $TMP/out.
begin() { # COMMAND BEFORE IT...
    rm -f "$TMP/in" "$TMP/out"
    mkfifo "$TMP/in"
    begun=$(now)
    "$@" "$TARGETS/target_live" <"$TMP/in" >"$TMP/out" 2>"$TMP/err" &
    run=$!
    exec 3>"$TMP/in"
    until grep -q ready "$TMP/out" 2>/dev/null; do
        kill -0 "$run" 2>/dev/null || fail "it has not begun: $(cat "$TMP/err")"
        sleep 0.01
    done
    subject=$(pgrep -x target_live -P "$run" || echo "$run")
}

end() {
    exec 3>&-
    wait "$run"
    assert_equal "the status of the target" "$?" 0
    assert_equal "its last word" "$(tail -n 1 "$TMP/out")" "done"
    subject=
}

# 77 with the reason, where nobody may look at it from outside.
check_permission() {
    "$WALLPROF" top --count 1 --interval 50ms "$subject" >/dev/null 2>"$TMP/said" || {
        grep -qE 'ptrace_scope|CAP_SYS_PTRACE|does not allow' "$TMP/said" && skip "ptrace is not permitted here: $(cat "$TMP/said")"
        fail "it cannot be looked at: $(cat "$TMP/said")"
    }
}

# The judge ends when it has seen enough, and that ends the tool.
tables() { # WORDS OF judge_live.py...
    "$PYTHON" "$TESTS/judges/judge_live.py" "$subject" "$begun" "$@" \
        < <(exec timeout $HANG_S "$WALLPROF" top --interval 300ms -n 0 "$subject" 2>"$TMP/said") ||
        complain "$*: the tables are wrong: $(cat "$TMP/said")"
}

# What is there to be read from stdin, or its end, ends no recording.
tables_without_stdin() {
    timeout $HANG_S "$WALLPROF" top --interval 100ms --count 5 "$subject" </dev/null >"$TMP/tables" 2>"$TMP/said" ||
        complain "without stdin: status $?: $(cat "$TMP/said")"
    assert_equal "tables without stdin" "$(grep -c "^PID $subject" "$TMP/tables")" 5
}

drive() { # WORDS OF drive_live.py...
    timeout $((2 * HANG_S)) "$PYTHON" "$TESTS/judges/drive_live.py" "$@" || complain "in a terminal: $*"
}

from_outside() {
    echo "== from outside"
    begin env
    check_permission
    tables
    tables_without_stdin
    drive keys "$WALLPROF" "$subject" "$TMP/written.pb.gz"
    "$WALLPROF" top "$TMP/written.pb.gz" >"$TMP/top" || complain "what was written is no profile"
    grep -q want_lock "$TMP/top" || complain "what was written has no want_lock: $(cat "$TMP/top")"
    for how in q interrupt TERM recorder; do
        drive ends "$WALLPROF" "$subject" "$how"
    done
    end
}

# The store of wallprof run, and stores that the process writes.
with_the_library() {
    echo "== with a store"
    begin "$WALLPROF" run --quiet -o "$TMP/run.pb.gz"
    tables library
    drive keys "$WALLPROF" "$subject" "$TMP/written.pb.gz"
    end
    "$WALLPROF" top "$TMP/run.pb.gz" | grep -q want_lock || complain "the profile of the run is not as it was"
    echo "== without a store"
    begin env LD_PRELOAD="$LIBRARY" WALLPROF_OUT="$TMP/own.pb.gz"
    tables library
    drive ends "$WALLPROF" "$subject" q
    end
    compgen -G "$TMP/wallprof-dump*" >/dev/null && complain "directories are left: $(ls "$TMP")"
    "$WALLPROF" top "$TMP/own.pb.gz" | grep -q want_lock || complain "the profile of the process is not as it was"
}

# A process that has not begun to record: that is said, on a screen and once in a pipe.
before_it_records() {
    echo "== before it records"
    begin env LD_PRELOAD="$LIBRARY" WALLPROF_OUT="$TMP/own.pb.gz" WALLPROF_START=0
    : >"$TMP/said"
    timeout $HANG_S "$WALLPROF" top --interval 50ms --count 1 "$subject" >"$TMP/tables" 2>"$TMP/said" 3>&- &
    local tool=$!
    until grep -q . "$TMP/said"; do
        kill -0 "$tool" 2>/dev/null || fail "it has ended: $(cat "$TMP/tables" "$TMP/said")"
        sleep 0.05
    done
    drive nothing "$WALLPROF" "$subject"
    wait "$tool" || complain "the table after it began: status $?"
    assert_equal "what is said" "$(cat "$TMP/said")" "wallprof: process $subject records nothing yet"
    end
}

# The end of the process is the end of the screen.
until_it_ends() { # COMMAND BEFORE IT...
    echo "== its end: $*"
    begin "$@"
    : >"$TMP/driven"
    timeout $HANG_S "$PYTHON" "$TESTS/judges/drive_live.py" ends "$WALLPROF" "$subject" end >"$TMP/driven" 3>&- &
    local driver=$!
    until grep -q looked "$TMP/driven"; do
        kill -0 "$driver" 2>/dev/null || fail "nothing was shown: $(cat "$TMP/driven")"
        sleep 0.05
    done
    end
    wait "$driver" || complain "the end: $(cat "$TMP/driven")"
}

from_outside
with_the_library
before_it_records
until_it_ends env
until_it_ends "$WALLPROF" run --quiet -o "$TMP/run.pb.gz"
exit $bad
