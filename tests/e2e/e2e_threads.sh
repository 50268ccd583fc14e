#!/bin/bash
# A thread's time is conserved and stands under its own name however it begins and ends; see target_threads.c.
# test: long aarch64-long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

judge() { # NAME EXPECTED_STATUS STATUS
    local file=$TMP/$1.pb.gz
    echo "== $1, observed ${WALLPROF_OBSERVE-as by default}"
    [ "$3" = "$2" ] || complain "$1: exit status $3, not $2"
    [ ! -s "$TMP/$1.err" ] || complain "$1: on stderr: $(cat "$TMP/$1.err")"
    (check_profile "$file") || complain "$1: its profile is not good"
    [ ! -s "$file" ] || "$PYTHON" "$TESTS/judges/judge_threads.py" "$file" "$TMP/$1.out" || complain "$1: not its truth"
}

mode() { # EXPECTED_STATUS MODE ARGUMENTS...
    local expected=$1
    shift
    local status
    freezes_begin
    profile_run "$TMP/$1.pb.gz" "$TARGETS/target_threads" "$@" >"$TMP/$1.out" 2>"$TMP/$1.err"
    status=$?
    freezes_end "$TMP/$1.out"
    judge "$1" "$expected" $status
}

# In a namespace of its own a process may choose its threads' ids: all short threads get the same one.
tid_reuse() {
    if is_emulated; then
        echo "== reuse: not run, the emulator's own threads take ids"
        return
    fi
    if ! unshare --pid --fork --mount-proc "$TARGETS/target_threads" reuse 2 >/dev/null 2>&1; then
        leave_out reuse "a pid namespace cannot be had here"
        return
    fi
    local status
    freezes_begin
    WALLPROF_HZ=1000 unshare --pid --fork --mount-proc \
        env LD_PRELOAD="$LIBRARY" WALLPROF_OUT="$TMP/reuse.pb.gz" "$TARGETS/target_threads" reuse 500 \
        >"$TMP/reuse.out" 2>"$TMP/reuse.err"
    status=$?
    freezes_end "$TMP/reuse.out"
    judge reuse 0 $status
}

early() { # NAME LIBRARIES
    local status
    freezes_begin
    WALLPROF_OUT=$TMP/$1.pb.gz preload_run "$2" "$TMP/early" >"$TMP/$1.out" 2>"$TMP/$1.err"
    status=$?
    freezes_end "$TMP/$1.out"
    judge "$1" 0 $status
}

# A thread that a library's constructor starts, before or after the profiler's own constructor, as the loader likes.
early_thread() {
    cat >"$TMP/early.c" <<'SOURCE'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

pthread_t early;
static uint64_t begin_ns, end_ns;
static pid_t tid;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

__attribute__((noinline)) void life_early(void)
{
    struct timespec pause = {0, 2000000};
    while (now_ns() < begin_ns + UINT64_C(1500000000))
        nanosleep(&pause, NULL);
    __asm__ volatile("" ::: "memory");
}

static void *start(void *unused)
{
    begin_ns = now_ns();
    tid = gettid();
    pthread_setname_np(pthread_self(), "early");
    life_early();
    end_ns = now_ns();
    return unused;
}

void early_report(uint64_t main_ns)
{
    pthread_join(early, NULL);
    printf("thread early %d %ju 0 90 life_early\nmain %ju\n", tid, end_ns - begin_ns, now_ns() - main_ns);
}

__attribute__((constructor)) static void create(void)
{
    pthread_create(&early, NULL, start, NULL);
}
SOURCE
    cat >"$TMP/main.c" <<'SOURCE'
#include <stdint.h>
#include <time.h>

void early_report(uint64_t main_ns);

int main(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    early_report(now.tv_sec * UINT64_C(1000000000) + now.tv_nsec);
    return 0;
}
SOURCE
    { "${CC:-cc}" -O2 -shared -fPIC -o "$TMP/libearly.so" "$TMP/early.c" -pthread &&
        "${CC:-cc}" -O2 -o "$TMP/early" "$TMP/main.c" "$TMP/libearly.so" -Wl,-rpath,"$TMP"; } || fail "cc does not work"
    early early "$LIBRARY"
    # The other order: a library preloaded after ours.
    early after "$LIBRARY $TMP/libearly.so"
    early before "$TMP/libearly.so $LIBRARY"
}

# The process ends all the same, and a thread's time when it was seen to be gone, not with the process. Under
# emulation /proc lists a thread of the emulator's own too: for all that can be seen, somebody is always left.
bare_exit() { # COUNT
    local file=$TMP/bare-$1.pb.gz program status
    if is_emulated; then
        echo "== bare-exit $1: not run, the emulator's own thread never ends"
        return
    fi
    echo "== bare-exit $1"
    profile_run "$file" "$TARGETS/target_threads" bare-exit "$1" >/dev/null 2>"$TMP/bare.err" &
    program=$!
    (sleep 60 && kill -9 "$program") 2>/dev/null &
    wait "$program"
    status=$?
    kill $! 2>/dev/null
    [ "$status" -eq 0 ] || complain "bare-exit $1: exit status $status"
    (check_profile "$file") || complain "bare-exit $1: its profile is not good"
    # Without its hook a thread's last name is not known.
    read_pprof threads "$file" | awk '
        { print }
        $2 == "[nameless]" && ($6 >= 0.5e9 && $6 < 1.5e9 || $6 >= 3e9 && $6 < 4e9) { found++ }
        END { exit NR != '"$1"' + 1 || found != '"$1"' }' || complain "bare-exit $1: not its threads' time"
}

all_modes() {
    local short=2000
    ! is_emulated || short=300 # a thread is as much dearer to start
    mode 0 kinds
    mode 0 main-exits
    WALLPROF_HZ=1000 mode 0 short $short
    tid_reuse
    mode 0 deaf
    mode 7 detached
    mode 9 thread-exits-process
    mode 11 nested-exit
    bare_exit 1
    bare_exit 2
    early_thread
}

all_modes
# An emulator has one way only.
if is_long && ! is_emulated; then
    WALLPROF_OBSERVE=signal all_modes
elif ! is_emulated; then
    export WALLPROF_OBSERVE=signal
    mode 0 kinds
    mode 0 deaf
fi
exit "$bad"
