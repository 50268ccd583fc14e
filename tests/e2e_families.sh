#!/bin/bash
# A run of several processes under wallprof-run: one store each while they record, afterwards one profile each or one of
# all, whoever ended how and when; and nothing else is left.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc flock setsid
is_emulated && skip "what a shell starts is not emulated"
export TMPDIR=$TMP/stores HOME=$TMP
mkdir "$TMPDIR"

cat >"$TMP/work.c" <<'SOURCE'
/* work MS [LAST [TIMES]]: sleeps in a function of its own, then ends as LAST says. */
#include "wallprof.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void sleep_for(int ms)
{
    usleep(1000 * (unsigned)ms);
    __asm__ volatile("");
}

int main(int count, char **arguments)
{
    const char *last = count > 2 ? arguments[2] : "";
    sleep_for(atoi(arguments[1]));
    if (strcmp(last, "pause") == 0) { /* for twice as long, which is in nobody's account */
        wallprof_stop();
        usleep(2000 * (unsigned)atoi(arguments[1]));
        wallprof_start();
        sleep_for(atoi(arguments[1]));
        kill(getpid(), SIGKILL);
    }
    if (strcmp(last, "again") == 0 && atoi(arguments[3]) > 0) { /* at any moment of its first tick */
        char left[16];
        snprintf(left, sizeof left, "%d", atoi(arguments[3]) - 1);
        usleep(37 * (unsigned)atoi(left) % 6000);
        execl(arguments[0], arguments[0], "0", "again", left, NULL);
    }
    if (strcmp(last, "mistake") == 0) {
        execl("/nonexistent", "nonexistent", NULL);
        sleep_for(100);
        kill(getpid(), SIGKILL);
    }
    if (strcmp(last, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(last, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(last, "_exit") == 0)
        _exit(3);
    return 0;
}
SOURCE
"${CC:-gcc}" -O1 -g -I"$ROOT/include" -o "$TMP/work" "$TMP/work.c" || fail "work.c"
work=$TMP/work

run() { # NAME ARGUMENTS OF wallprof-run...
    mkdir -p "$TMP/$1"
    (cd "$TMP/$1" && "$ROOT/scripts/wallprof-run" "${@:2}") >"$TMP/$1.out" 2>"$TMP/$1.err"
}

expect_nothing_left() { # NAME
    [ -z "$(ls -A "$TMPDIR")" ] || complain "$1: this is left: $(ls -A "$TMPDIR")"
    rm -rf "${TMPDIR:?}"/*
}

expect_files() { # NAME COUNT
    local found
    found=$(find "$TMP/$1" -name '*.pb.gz' | wc -l)
    [ "$found" -eq "$2" ] || complain "$1: $found profiles, not $2: $(ls "$TMP/$1"); $(cat "$TMP/$1.err")"
}

# Of processes that go on alone: the last of them removes what is left.
await_files() { # NAME COUNT
    for _ in $(seq 200); do
        [ "$(find "$TMP/$1" -name '*.pb.gz' | wc -l)" -lt "$2" ] || [ -n "$(ls -A "$TMPDIR")" ] || break
        sleep 0.1
    done
    expect_files "$1" "$2"
}

comments_of() { # FILE
    run_pprof -comments "$1" 2>/dev/null
}

wall_ms() { # FILE
    echo $(($(run_pprof -top -unit=ns -sample_index=wall "$1" 2>/dev/null | top_total) / 1000000))
}

processes_in() { # FILE
    run_pprof -tags "$1" 2>/dev/null | sed -n '/^ *pid:/,/^$/p' | grep -cE ': [0-9]+$'
}

expect_wall() { # FILE LEAST_MS MOST_MS
    local found
    found=$(wall_ms "$1")
    if [ "$found" -lt "$2" ] || [ "$found" -gt "$3" ]; then
        complain "$1: $found ms of wall time, not from $2 to $3"
    fi
}

expect_said() { # FILE TEXT
    comments_of "$1" | grep -F -- "$2" >/dev/null || complain "$1: its comments do not say '$2': $(comments_of "$1")"
}

echo "== one each"
run each sh -c "$work 300 & $work 200 crash; wait; $work 150 kill; $work 150 _exit; $work 150; :"
expect_files each 6
expect_nothing_left each
for file in "$TMP"/each/*.pb.gz; do
    check_profile "$file" || complain "$file breaks a rule"
    comments_of "$file"
done >"$TMP/each.said"
for text in 'ended: killed by signal 11 (SEGV)' 'ended: killed by signal 9 (KILL)' 'ended: ended by _exit(3)'; do
    [ "$(grep -c -F "$text" "$TMP/each.said")" -eq 1 ] || complain "not one profile says '$text': $(grep ended: "$TMP/each.said")"
done
grep -F 'and of 5 other processes in' "$TMP/each.err" >/dev/null || complain "each: it says $(cat "$TMP/each.err")"

echo "== the name that was asked for is the program's own"
run named --out app.pb.gz sh -c "$work 120; $work 120; :"
expect_files named 3
[ -f "$TMP/named/app.pb.gz" ] || complain "there is no app.pb.gz: $(ls "$TMP/named")"
expect_said "$TMP/named/app.pb.gz" 'command: sh -c'

echo "== what became another program has a profile of its own"
run became --out app.pb.gz sh -c "sleep 0.2; exec $work 150"
expect_files became 3
expect_said "$TMP/became/app.pb.gz" "command: $work 150"
[ "$(find "$TMP/became" -name 'app.*.dash.pb.gz' -o -name 'app.*.sh.pb.gz' -o -name 'app.*.bash.pb.gz' | wc -l)" -eq 1 ] ||
    complain "what the shell did until then is missing: $(ls "$TMP/became")"

# At that moment its recording may be about to begin: no half of one is left for a profile, and the run is still there.
echo "== what becomes another again and again"
run again --out app.pb.gz sh -c "$work 0 again 200; $work 150; :"
expect_files again 3
expect_nothing_left again
grep -F 'and of 2 other processes in' "$TMP/again.err" >/dev/null || complain "again: it says $(cat "$TMP/again.err")"

echo "== what would have become another, and is killed"
run mistake --out app.pb.gz "$work" 150 mistake
expect_files mistake 1
expect_wall "$TMP/mistake/app.pb.gz" 240 350
expect_said "$TMP/mistake/app.pb.gz" 'killed by signal 9 (KILL)'
expect_nothing_left mistake

echo "== what is recorded for a while only"
run while --out app.%p.pb.gz --duration 100ms sh -c "$work 200; $work 50; :"
expect_files while 3
expect_nothing_left while
grep -F 'and of 2 other processes in' "$TMP/while.err" >/dev/null || complain "while: it says $(cat "$TMP/while.err")"
run part --merge --out all.pb.gz --duration 100ms sh -c "$work 200; $work 50; :"
expect_files part 1
expect_nothing_left part
[ "$(processes_in "$TMP/part/all.pb.gz")" -eq 3 ] || complain "part: there are $(processes_in "$TMP/part/all.pb.gz") processes"

echo "== what cannot be done"
# It is said, and nothing is left of what was made for it.
for refused in '--merge --out x.store' '--merge --store off' '--merge --interval-dump 1s' '--merge --top --interval-dump 1s'; do
    # shellcheck disable=SC2086 # words
    run refused $refused "$work" 1
    assert_equal "wallprof-run $refused" "$? $(wc -l <"$TMP/refused.err")" '125 1'
    expect_nothing_left "wallprof-run $refused"
done

echo "== one of all"
run merged --merge --out all.pb.gz sh -c "$work 300 & $work 200 crash; wait; $work 250 kill; :"
expect_files merged 1
expect_nothing_left merged
expect_said "$TMP/merged/all.pb.gz" 'killed by signal 11 (SEGV)'
expect_said "$TMP/merged/all.pb.gz" 'killed by signal 9 (KILL)'
run_pprof -tags "$TMP/merged/all.pb.gz" >"$TMP/merged.tags" 2>/dev/null
grep -E ' work$' "$TMP/merged.tags" >/dev/null || complain "the process is no label: $(cat "$TMP/merged.tags")"
[ "$(processes_in "$TMP/merged/all.pb.gz")" -eq 4 ] || complain "not four processes by pid: $(cat "$TMP/merged.tags")"
run_pprof -top -unit=ns -sample_index=wall -focus=sleep_for "$TMP/merged/all.pb.gz" 2>/dev/null >"$TMP/merged.top"
slept=$(sed -n 's/^Showing nodes accounting for \([0-9]*\)ns.*/\1/p' "$TMP/merged.top")
[ "${slept:-0}" -ge 650000000 ] || complain "they have slept for ${slept:-no} ns, not for 750 ms: $(head -5 "$TMP/merged.top")"

echo "== who goes on after the program has ended writes his own"
run outlives --out app.%p.pb.gz sh -c "setsid $work 3000 & sleep 0.3"
expect_files outlives 2
await_files outlives 3
expect_nothing_left outlives
run replaced --out app.%p.pb.gz sh -c "setsid sh -c '$work 3000; exec $work 200' & sleep 0.3"
expect_files replaced 2
await_files replaced 5
expect_nothing_left replaced

echo "== without who gathers, each writes his own"
mkdir "$TMP/alone"
(cd "$TMP/alone" && exec "$ROOT/scripts/wallprof-run" "$work" 3000) >/dev/null 2>&1 &
wrapper=$!
sleep 0.7
kill -KILL "$wrapper"
wait "$wrapper" 2>/dev/null
touch "$TMP/alone.err"
await_files alone 1
expect_nothing_left alone

echo "== without a store, each writes his own"
(ulimit -f 1000 && run bare --out app.%p.pb.gz sh -c "$work 150; exec $work 150")
expect_files bare 3
expect_nothing_left bare
grep -F 'profile in' "$TMP/bare.err" >/dev/null || complain "bare: it says $(cat "$TMP/bare.err")"

echo "== stopped in between, and killed"
run paused --out app.pb.gz "$work" 300 pause
expect_wall "$TMP/paused/app.pb.gz" 550 750
expect_said "$TMP/paused/app.pb.gz" 'killed by signal 9 (KILL)'
expect_nothing_left paused
exit "$bad"
