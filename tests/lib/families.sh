# shellcheck shell=bash
# Sourced by the tests of runs of several processes, after e2e.sh: a program that ends as it is told ($work), runs of it,
# and what is expected of them.
need gcc flock setsid pgrep
is_emulated && skip "what a shell starts is not emulated"
export TMPDIR=$TMP/stores HOME=$TMP
mkdir "$TMPDIR"

cat >"$TMP/work.c" <<'SOURCE'
/* work MS [LAST [TIMES or FILE [LAST]]]: sleeps in a function of its own, then ends as LAST says. */
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
    if (strcmp(last, "until") == 0) { /* another process has made a file */
        for (int i = 0; i < 6000 && access(arguments[3], F_OK) < 0; i++)
            sleep_for(10);
        last = count > 4 ? arguments[4] : "";
    }
    if (strcmp(last, "pause") == 0) { /* for twice as long, which no profile counts */
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

# Sets $took_ms. The status is the run's.
run() { # NAME ARGUMENTS OF wallprof-run...
    local begin=$EPOCHREALTIME status
    mkdir -p "$TMP/$1"
    (cd "$TMP/$1" && "$ROOT/scripts/wallprof-run" "${@:2}") >"$TMP/$1.out" 2>"$TMP/$1.err"
    status=$?
    took_ms=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    return "$status"
}

# Of a run whose processes have all ended. What waits for them looks once a second.
expect_nothing_left() { # NAME
    for _ in $(seq $((HANG_S * 10))); do
        pgrep -f "gather.* $TMPDIR/wallprof-run" >/dev/null || break
        sleep 0.1
    done
    ! pgrep -f "gather.* $TMPDIR/wallprof-run" || complain "$1: this goes on"
    [ -z "$(ls -A "$TMPDIR")" ] || complain "$1: this is left: $(ls -A "$TMPDIR")"
    rm -rf "${TMPDIR:?}"/*
}

before_exec='\.[a-z]+(-[0-9]+)?\.pb\.gz$' # how such a file's name ends

# Of what a process was before an exec there is a file if that was worth one: on a crowded machine it may be.
files_of() { # NAME
    find "$TMP/$1" -name '*.pb.gz' | grep -vE "$before_exec"
}

expect_files() { # NAME COUNT
    local found file
    found=$(files_of "$1" | wc -l)
    [ "$found" -eq "$2" ] || complain "$1: $found profiles, not $2: $(ls "$TMP/$1"); $(cat "$TMP/$1.err")"
    for file in $(find "$TMP/$1" -name '*.pb.gz' | grep -E "$before_exec"); do
        [ "$(wall_ms "$file")" -ge 90 ] || complain "$1: $file is of $(wall_ms "$file") ms before an exec only"
    done
}

# The message of a run of three processes or more counts every file but the first.
expect_others_said() { # NAME
    local others
    others=$(($(find "$TMP/$1" -name '*.pb.gz' | wc -l) - 1))
    grep -F "and of $others other processes in" "$TMP/$1.err" >/dev/null || complain "$1: of $others others it says $(cat "$TMP/$1.err")"
}

# Of processes that go on alone: the last of them removes what is left.
await_files() { # NAME COUNT
    for _ in $(seq $((HANG_S * 10))); do
        [ "$(files_of "$1" | wc -l)" -lt "$2" ] || [ -n "$(ls -A "$TMPDIR")" ] || break
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
