#!/bin/bash
# A process that executes another program leaves a profile of what it was before, beside that of what it becomes.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need gcc
program=$TARGETS/target_exec
export TARGET_EXEC_TICKS=1

profiles_in() { # DIRECTORY
    find "$1" -type f -printf '%f\n' | sort
}

# All time in a function of the main thread or of the second one, against what the program says of itself. Nothing must be
# missing. On a busy machine a sample comes late, and stands for more than the function: for no more than the run took. Or
# another function has the time of the ticks that were missed.
assert_time() { # FILE FUNCTION MILLISECONDS
    local missed
    missed=$(read_pprof comments "$1" | sed -n 's/.* made, \([0-9]*\) missed.*/\1/p')
    read_pprof functions "$1" | awk -v function_="$2" -v said="$3" -v most="$took_ms" -v missed_ms="$((10 * missed))" '
        $1 == "wall" && $NF == function_ { found = $3 / 1e6 }
        $1 == "wall" && ($NF == "[unsampled]" || / \[not (responding|observed)\]$/) { unseen += $3 / 1e6 }
        END {
            if (found + unseen + missed_ms >= said * 0.75 && found <= most)
                exit 0
            print function_ ": " found + 0 " ms, " unseen + 0 " unseen and " missed_ms " missed, not " said " of " most
            exit 1
        }' >&2 || fail "$1 does not say the truth"
}

# Under NAME, in a directory of its own; what it says in $TMP/said. Sets $took_ms. WALLPROF_ variables as they are.
run_in() { # DIRECTORY NAME TARGET'S ARGUMENTS...
    local directory=$TMP/$1 name=$2 begin=$EPOCHREALTIME
    shift 2
    mkdir "$directory"
    timeout --kill-after=1 "$HANG_S" env WALLPROF_OUT="$directory/$name" LD_PRELOAD="$LIBRARY" "$program" "$@" \
        >"$TMP/said" 2>"$TMP/err" || {
        cat "$TMP/said" "$TMP/err" >&2
        fail "target_exec $*: status $?"
    }
    took_ms=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    [ ! -s "$TMP/err" ] || fail "target_exec $*: $(cat "$TMP/err")"
}

# No time of the main thread is in two profiles: together they have no more than the run took.
assert_no_time_twice() { # FILE...
    local file
    for file in "$@"; do
        read_pprof functions "$file"
    done | awk -v most="$took_ms" '
        $1 == "wall" && $NF == "main" { found += $3 / 1e6 }
        END {
            if (found > most)
                print "main: " found " ms in a run of " most " ms"
            exit found > most
        }' >&2 || fail "time of main is there twice"
}

said() { # BEFORE OR AFTER
    awk -v which="$1" '$1 == which { print $2 }' "$TMP/said"
}

# By every function there is, and from a thread: two profiles, each with its own time.
for how in execve execv execvp execvpe execl execlp execle fexecve execveat thread; do
    run_in $how '%p.%n.pb.gz' $how 300 "$program" work 200
    before=$(find "$TMP/$how" -name '*.target_exec.target_exec.pb.gz')
    after=$(find "$TMP/$how" -name '*[0-9].target_exec.pb.gz')
    for profile in "$before" "$after"; do
        read_pprof check "$profile" || fail "$how: $profile breaks a rule"
    done
    assert_time "$before" main "$(said before)"
    assert_time "$after" main "$(said after)"
    assert_no_time_twice "$before" "$after"
    assert_function "$before" work_before_exec
    assert_time "$before" pause "$(said before)" # the second thread, which lives for a little longer
    has_function "$after" work_before_exec && fail "$how: the later profile has what was before"
done

# A name without a pid is the last program's, as it would be without the others.
run_in plain app.pb.gz execv 300 "$program" execv 300 "$program" work 300
assert_equal "profiles of three programs in turn" "$(profiles_in "$TMP/plain" | sed 's/[0-9][0-9]*/PID/' | sort)" \
    "app.PID.target_exec-2.pb.gz
app.PID.target_exec.pb.gz
app.pb.gz"
assert_function "$TMP/plain/app.pb.gz" work_after_exec

# What is executed is not recorded: then the name is free.
WALLPROF_FOLLOW=fork run_in unfollowed app.pb.gz execv 300 "$program" work 300
assert_equal "profiles, exec not followed" "$(profiles_in "$TMP/unfollowed")" app.pb.gz
assert_time "$TMP/unfollowed/app.pb.gz" main "$(said before)"

# An exec that fails is none, also after a file has been written for it.
: >"$TMP/empty"
chmod +x "$TMP/empty"
for nothing in "$TMP/no such program" "$TMP/empty"; do
    run_in fail app.pb.gz fail 300 "$nothing"
    assert_equal "profiles, exec failed" "$(profiles_in "$TMP/fail")" app.pb.gz
    read_pprof check "$TMP/fail/app.pb.gz" || fail "exec failed: the profile breaks a rule"
    assert_time "$TMP/fail/app.pb.gz" main $(($(said before) + $(said after)))
    assert_function "$TMP/fail/app.pb.gz" work_before_exec
    assert_function "$TMP/fail/app.pb.gz" work_after_exec
    assert_time "$TMP/fail/app.pb.gz" pause $(($(said before) + $(said after)))
    rm -r "$TMP/fail"
done

# In a handler that has interrupted malloc.
TARGET_EXEC_TICKS='' run_in handler '%p.pb.gz' handler 10 "$program" work 100
assert_equal "profiles, exec in a handler" "$(profiles_in "$TMP/handler" | wc -l)" 2

# A device takes one profile, and nothing is made beside it; no more where nothing can be written.
profile_run /dev/null "$program" execv 200 "$program" work 50 >/dev/null
assert_equal "what is beside /dev/null" "$(find /dev -maxdepth 1 -name 'null*')" /dev/null
mkfifo "$TMP/fifo"
cat "$TMP/fifo" >"$TMP/through.pb.gz" &
profile_run "$TMP/fifo" "$program" execv 200 "$program" work 400 >/dev/null
wait
assert_function "$TMP/through.pb.gz" work_after_exec
profile_run "$TMP/none/app.pb.gz" "$program" execv 200 "$program" work 50 >/dev/null 2>"$TMP/err"
assert_equal "status without a directory" $? 0
assert_equal "messages, one of each program" "$(grep -c "cannot be written to $TMP/none/" "$TMP/err")" 2

# What was begun only to execute something leaves nothing, unless it has lived for 100 ms, as on a busy machine it may.
TARGET_EXEC_TICKS='' run_in short '%p.%n.pb.gz' execv 0 "$program" work 50
[ "$(profiles_in "$TMP/short" | grep -c '[0-9]\.target_exec\.pb\.gz$')" = 1 ] || fail "no profile after a short life: $(ls "$TMP/short")"
for before in "$TMP"/short/*.target_exec.target_exec.pb.gz; do
    [ ! -e "$before" ] || [ "$(read_pprof totals "$before" | awk '$1 == "wall" { print int($2 / 1e6) }')" -ge 100 ] ||
        fail "a profile of a short life before: $(read_pprof totals "$before")"
done

# Its sampler has its turn so late that the exec comes first.
make_late_library() {
    cat >"$TMP/late.c" <<'SOURCE'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, long offset)
{
    static int is_late;
    if (gettid() != getpid() && !__atomic_exchange_n(&is_late, 1, __ATOMIC_SEQ_CST))
        usleep(500000);
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}
SOURCE
    gcc -O1 -shared -fPIC -w -o "$TMP/late.so" "$TMP/late.c" || fail "the library cannot be built"
}
if ! is_emulated; then # gcc is this machine's
    make_late_library
    TARGET_EXEC_TICKS='' LIBRARY="$LIBRARY $TMP/late.so" run_in late '%p.%n.pb.gz' execv 200 "$program" work 50
    [ "$(profiles_in "$TMP/late" | grep -c '[0-9]\.target_exec\.target_exec\.pb\.gz$')" = 1 ] ||
        fail "no profile of what was before, where the sampler is late: $(ls "$TMP/late")"
fi

# A real one: a shell that works and then becomes a compressor.
mkdir "$TMP/shell"
# shellcheck disable=SC2016 # for that shell
profile_run "$TMP/shell/%n.pb.gz" bash -c 'for ((i = 0; i < 300000; i++)); do :; done; exec xz -9 -c "$0"' "$LIBRARY" >/dev/null
check_program "$TMP/shell/xz.pb.gz" >/dev/null
before=$(find "$TMP/shell" -name 'bash.*.pb.gz')
check_profile "$before" >/dev/null
assert_function "$before" execute_command_internal
