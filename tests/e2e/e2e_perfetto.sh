#!/bin/bash
# Traces for Perfetto of real programs: by the rules of the Trace Event Format, the same as `wallprof top` says of each state of
# each thread, and as speedscope reads them. Perfetto's own trace processor is in no registry that tests can reach.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need python3

skipped=
MODULES=$(npm_readers) || skipped="no speedscope: $MODULES"

judge() { # NAME OPTIONS OF judge_perfetto.py...
    local name=$1 file=$TMP/$1.perfetto.json.gz
    shift
    [ -s "$file" ] || fail "no trace of $name"
    if [ -z "$skipped" ]; then
        node "$TESTS/judges/speedscope_read.js" "$ROOT/build/npm" "$file" >"$TMP/$name.speedscope" || fail "speedscope cannot read $file"
        set -- "$@" --speedscope "$TMP/$name.speedscope"
    fi
    "$PYTHON" "$TESTS/judges/judge_perfetto.py" "$file" "$@" || complain "$name: its trace is not true"
}

echo "== threads of all kinds"
WALLPROF_HZ=100 profile_run "$TMP/kinds.perfetto.json.gz,$TMP/kinds.store" "$TARGETS/target_threads" kinds >/dev/null || fail "target_threads"
judge kinds --top "$BUILD/wallprof" "$TMP/kinds.store" --process target_threads --state running --state sleep --state child

echo "== the same out of a store, plain; and not out of what has no timeline"
"$BUILD/wallprof" export "$TMP/kinds.store" -o "$TMP/stored.perfetto.json" || complain "a store cannot be written as .perfetto.json"
gzip -dc "$TMP/kinds.perfetto.json.gz" | cmp - "$TMP/stored.perfetto.json" || complain "it is not what the process's end wrote"
"$BUILD/wallprof" export "$TMP/kinds.store" -f pprof -o "$TMP/kinds.pb.gz" || fail "no pprof file"
"$BUILD/wallprof" export "$TMP/kinds.pb.gz" -o "$TMP/none.perfetto.json" 2>"$TMP/none.err" && complain "times out of nowhere"
grep -q 'has no timeline' "$TMP/none.err" || complain "it says only: $(cat "$TMP/none.err")"
[ ! -e "$TMP/none.perfetto.json" ] || complain "a file without contents is left"

echo "== python3: locks, sleep, a child"
cat >"$TMP/program.py" <<'PROGRAM'
import subprocess, threading, time

def locked(lock):
    with lock:
        pass

lock = threading.Lock()
lock.acquire()
threads = [threading.Thread(target=time.sleep, args=(0.7,)), threading.Thread(target=locked, args=(lock,))]
for thread in threads:
    thread.start()
end = time.thread_time() + 0.5
while time.thread_time() < end:
    pass
lock.release()
subprocess.run(["sleep", "0.3"])
for thread in threads:
    thread.join()
PROGRAM
WALLPROF_HZ=100 WALLPROF_FOLLOW=none profile_run "$TMP/python.perfetto.json.gz,$TMP/python.store" "$PYTHON" "$TMP/program.py" || fail "python3"
judge python --top "$BUILD/wallprof" "$TMP/python.store" --state running --state sleep --state lock

echo "== all processes of a run in one file, and the same out of their stores"
cat >"$TMP/family.sh" <<'PROGRAM'
"$1" -c 'import time; time.sleep(0.4)' &
"$1" -c 'import zlib
for i in range(20): zlib.compress(b"abc" * 1000000)'
wait
PROGRAM
"$BUILD/wallprof" run --hz 200 --merge -o "$TMP/family.perfetto.json.gz" -o "$TMP/family.pb.gz" -- bash "$TMP/family.sh" "$PYTHON" || fail "run --merge"
judge family --top "$BUILD/wallprof" "$TMP/family.pb.gz" --process "bash $TMP/family.sh" --process "$(basename "$(readlink -f "$PYTHON")")" --state running \
    --state sleep --state child
mkdir "$TMP/stores"
(cd "$TMP/stores" && WALLPROF_TIMELINE=1 WALLPROF_HZ=200 WALLPROF_OUT='%n.%p.store' \
    LD_PRELOAD=$LIBRARY bash "$TMP/family.sh" "$PYTHON") || fail "stores"
"$BUILD/wallprof" merge "$TMP/stores" -o "$TMP/merged.perfetto.json.gz" -o "$TMP/merged.pb.gz" || fail "merge"
judge merged --top "$BUILD/wallprof" "$TMP/merged.pb.gz" --process "bash $TMP/family.sh" --state running --state sleep --state child
"$BUILD/wallprof" merge --labels name "$TMP/stores" -o "$TMP/none.perfetto.json" 2>"$TMP/none.err" && complain "threads by name have times"
grep -q 'if every recording has one and --labels is id' "$TMP/none.err" || complain "it says only: $(cat "$TMP/none.err")"

echo "== memory for a part of it: thinned, and still true in sum"
WALLPROF_HZ=2000 WALLPROF_OVERHEAD=off WALLPROF_TIMELINE_MEM=1M profile_run "$TMP/full.perfetto.json.gz,$TMP/full.store" \
    "$PYTHON" -c 'import zlib
for i in range(60):
    zlib.compress(b"abc" * 4000000)' || fail "python3"
judge full --top "$BUILD/wallprof" "$TMP/full.store" --state running
[ -z "$skipped" ] || echo "LEFT OUT: $skipped"
exit "$bad"
