#!/bin/bash
# Firefox profiles of real programs: true by their own numbers, and the same in the released reader's
# (@firefox-devtools/profiler-cli), which is installed into build/npm.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need node npm

MODULES=$(npm_readers) || skip "$MODULES"
READER=$MODULES/@firefox-devtools/profiler-cli/dist/profiler-cli.js

# Its daemon lives as long as the session.
reader() { # COMMAND...
    HOME=$TMP node "$READER" "$@" --session "$SESSION"
}

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    HOME=$TMP node "$READER" stop --all >/dev/null 2>&1
}

# Its load gives the daemon half a second to start, however crowded the machine is. So the daemon is started here, and waited for
# until its log says that it has read the file, or why it cannot. (A client that comes too early takes the session for a dead one, and
# removes it.)
load() { # FILE DIRECTORY
    local daemon log
    SESSION=wallprof-$$-${2##*/}
    log=$TMP/.profiler-cli/$SESSION.log
    HOME=$TMP node "$READER" --daemon "$1" --session "$SESSION" >"$2/daemon" 2>&1 &
    daemon=$!
    until grep -q 'Profile loaded successfully' "$log" 2>/dev/null; do
        if ! kill -0 "$daemon" 2>/dev/null || grep -s 'Failed to load' "$log" >"$2/load"; then
            return 1
        fi
        sleep 0.2
    done
}

# What the reader makes of a file, as JSON: its threads, and each one's samples.
ask_reader() { # FILE DIRECTORY
    local thread
    mkdir -p "$2"
    load "$1" "$2" || fail "the reader cannot load $1: $(cat "$2/daemon" "$2/load" 2>/dev/null)"
    reader thread list --limit 0 --json >"$2/threads.json" || fail "the reader lists no threads of $1"
    for thread in $("$PYTHON" -c 'import json, sys
for thread in json.load(open(sys.argv[1]))["threads"]: print(thread["threadHandle"])' "$2/threads.json"); do
        reader thread samples --thread "$thread" --include-idle --limit 0 --json >"$2/$thread.json" ||
            fail "the reader has no samples of $thread"
        reader thread markers --thread "$thread" --list --limit 0 --json >"$2/$thread-markers.json" ||
            fail "the reader lists no markers of $thread"
    done
    HOME=$TMP node "$READER" stop "$SESSION" >/dev/null
}

judge() { # NAME OPTIONS OF judge_firefox.py...
    local name=$1
    shift
    [ -s "$TMP/$name.json.gz" ] || fail "no profile of $name"
    ask_reader "$TMP/$name.json.gz" "$TMP/$name"
    "$PYTHON" "$TESTS/judges/judge_firefox.py" "$TMP/$name.json.gz" "$TMP/$name" "$@" || complain "$name: its profile is not true"
}

node "$READER" --version >/dev/null 2>&1 || skip "this node is too old for profiler-cli"

echo "== threads of all kinds"
freezes_begin
WALLPROF_HZ=100 profile_run "$TMP/kinds.json.gz,$TMP/kinds.pb.gz,$TMP/kinds.store" "$TARGETS/target_threads" kinds \
    >"$TMP/kinds.out" || fail "target_threads"
freezes_end "$TMP/kinds.out"
"$BUILD/wallprof" top --json --idle "$TMP/kinds.store" >"$TMP/kinds.top" || fail "top"
judge kinds --truth "$TMP/kinds.out" --same-as "$TMP/kinds.pb.gz" --top "$TMP/kinds.top" --title target_threads --marker Wait=sleep

echo "== the same out of a store; and not out of what has no timeline"
"$BUILD/wallprof" export "$TMP/kinds.store" -o "$TMP/stored.json.gz" || complain "a store cannot be written as .json.gz"
judge stored --truth "$TMP/kinds.out" --same-as "$TMP/kinds.pb.gz"
"$BUILD/wallprof" export "$TMP/kinds.pb.gz" -o "$TMP/none.json.gz" 2>"$TMP/none.err" && complain "times out of nowhere"
grep -q 'has no timeline' "$TMP/none.err" || complain "it says only: $(cat "$TMP/none.err")"
[ ! -e "$TMP/none.json.gz" ] || complain "a file without contents is left"

echo "== python3: a library loaded, a child, idle and locked threads"
cat >"$TMP/program.py" <<'PROGRAM'
import ctypes, os, threading, time

def idle():
    time.sleep(2.5)

def locked(lock):
    with lock:
        pass

lock = threading.Lock()
lock.acquire()
threads = [threading.Thread(target=idle), threading.Thread(target=locked, args=(lock,))]
for thread in threads:
    thread.start()
time.sleep(0.3)
ctypes.CDLL("libbz2.so.1.0")
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
end = time.thread_time() + 0.5
while time.thread_time() < end:
    pass
lock.release()
for thread in threads:
    thread.join()
PROGRAM
WALLPROF_HZ=100 WALLPROF_FOLLOW=none profile_run "$TMP/python.json.gz" "$PYTHON" "$TMP/program.py" || fail "python3"
judge python --marker Fork --marker 'Library loaded=libbz2' --marker Wait=sleep --marker Wait=lock \
    --category 'Waiting: sleep' --category Running

echo "== all processes of a run"
# shellcheck disable=SC2016 # bash expands it
"$BUILD/wallprof" run --hz 100 --merge -o "$TMP/family.json.gz" -o "$TMP/family.pb.gz" -- \
    bash -c '"$1" -c "import time; time.sleep(0.4)" & sleep 0.5; wait' bash "$PYTHON" || fail "run --merge"
"$BUILD/wallprof" top --json --idle "$TMP/family.pb.gz" >"$TMP/family.top" || fail "top"
judge family --top "$TMP/family.top" --title 'bash and 2 more' --process bash --process sleep --marker Wait=sleep --marker Wait=child

echo "== memory for a part of it: thinned, and still true in sum"
cat >"$TMP/busy.c" <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static int seconds;

static void *spin(void *unused)
{
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    seconds = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, spin, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
SOURCE
"${CC:-cc}" -O2 -o "$TMP/busy" "$TMP/busy.c" -pthread || fail "cc does not work"
for seconds in 4 8 16 32 64 128; do # on a busy machine there are fewer samples
    WALLPROF_HZ=10000 WALLPROF_OVERHEAD=off WALLPROF_TIMELINE_MEM=1M profile_run "$TMP/full.json.gz,$TMP/full.store" "$TMP/busy" "$seconds" || fail "busy"
    ! gzip -dc "$TMP/full.json.gz" | grep 'timeline: full' >/dev/null || break # not -q: see has_function
done
"$BUILD/wallprof" top --json --idle "$TMP/full.store" >"$TMP/full.top" || fail "top"
judge full --thinned --top "$TMP/full.top"

echo "== pprof with times: equal in sum, every sample in time"
freezes_begin
WALLPROF_HZ=100 WALLPROF_TIMELINE=pprof profile_run "$TMP/times.pb.gz" "$TARGETS/target_threads" kinds \
    >"$TMP/times.out" || fail "target_threads"
freezes_end "$TMP/times.out"
(check_profile "$TMP/times.pb.gz") || complain "its profile is not good"
"$PYTHON" "$TESTS/judges/judge_threads.py" "$TMP/times.pb.gz" "$TMP/times.out" || complain "not its truth"
"$PYTHON" "$TESTS/judges/judge_firefox.py" --pprof "$TMP/times.pb.gz" || complain "its samples have no times"
exit "$bad"
