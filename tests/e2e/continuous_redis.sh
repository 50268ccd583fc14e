#!/bin/bash
# redis-server under load in continuous mode, with a store: a profile for each interval, no error at the clients, memory and
# a store that stay flat, and profiles whose times add up to the server's life. make continuous: ten minutes, ten profiles.
#
# CONTINUOUS_SECONDS    of load (600)
# CONTINUOUS_INTERVAL   WALLPROF_INTERVAL_DUMP in seconds (60)
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need redis-server redis-benchmark redis-cli
seconds=${CONTINUOUS_SECONDS:-600} interval=${CONTINUOUS_INTERVAL:-60}
server=''

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
}

now_us() {
    echo "${EPOCHREALTIME/[.,]/}"
}

cli() {
    redis-cli -s "$TMP/socket" "$@"
}

# KiB: all that is resident, and of it the profiler's anonymous memory cannot be told apart, so the server's data is constant.
memory() {
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$server/status"
}

mkdir "$TMP/profiles" "$TMP/stores"
begin_us=$(now_us)
WALLPROF_INTERVAL_DUMP=${interval}s WALLPROF_INTERVAL_KEEP=0 WALLPROF_OUT=$TMP/profiles/redis.pb.gz WALLPROF_STORE=$TMP/stores \
    WALLPROF_LOG=info:$TMP/log LD_PRELOAD=$LIBRARY \
    redis-server --port 0 --unixsocket "$TMP/socket" --dir "$TMP" --save '' --appendonly no --io-threads 2 --io-threads-do-reads yes \
    --daemonize no >"$TMP/server" 2>&1 &
server=$!
until [ "$(cli ping 2>/dev/null)" = PONG ]; do
    kill -0 "$server" || fail "redis: $(cat "$TMP/server")"
    sleep 0.1
done
ready_us=$(now_us)

# Moderate: batches with pauses, all commands, always the same keys.
end=$((SECONDS + seconds)) batches=0
while [ "$SECONDS" -lt "$end" ]; do
    redis-benchmark -s "$TMP/socket" -c 20 -n "$((seconds < 60 ? 300 : 4000))" -r 1000 -d 100 -P 4 -q -t set,get,incr,hset,sadd,lrange_100 >"$TMP/benchmark" 2>&1 ||
        fail "clients: $(tail -n 3 "$TMP/benchmark")"
    if grep -i -e error -e closed "$TMP/benchmark"; then
        fail 'clients saw an error'
    fi
    cli del mylist >/dev/null
    batches=$((batches + 1))
    echo "$(find "$TMP/profiles" -name '*.pb.gz' | wc -l) $(memory) $(du -sk "$TMP/stores" | cut -f 1)" >>"$TMP/memory"
    sleep 0.5
done
cli info stats | tr -d '\r' >"$TMP/stats"
grep -qx 'rejected_connections:0' "$TMP/stats" || fail 'connections were rejected'
grep -qx 'total_error_replies:0' "$TMP/stats" || fail 'errors were replied'
asked_us=$(now_us)
cli shutdown nosave
wait "$server" || fail "redis-server ended with status $?"
end_us=$(now_us)
server=''
[ -z "$(ls "$TMP/stores")" ] || fail "a store is left: $(ls "$TMP/stores")"

profiles=("$TMP"/profiles/*.pb.gz)
for profile in "${profiles[@]}"; do
    read_pprof check "$profile" || fail "$profile breaks a rule of the format"
done
"$PYTHON" "$TESTS/judges/judge_spans.py" "${profiles[@]}" >"$TMP/sums" || fail "$(cat "$TMP/sums")"
# Between them they have all of the server's life, seen from outside: none is missing.
awk -v least="$((asked_us - ready_us))" -v most="$((end_us - begin_us))" '
    $2 > life { life = $2 }
    END {
        printf "%.3f s of life, at least %.3f and at most %.3f\n", life / 1e9, least / 1e6, most / 1e6
        exit !(life / 1e3 >= least && life / 1e3 <= most)
    }' "$TMP/sums" || fail 'the profiles are not the whole life'
# One whose end comes while the machine stands still is the longer, and there are fewer; and whole seconds are not exact.
[ "${#profiles[@]}" -ge $((seconds / interval - 2)) ] || fail "${#profiles[@]} profiles"
assert_function "${profiles[1]}" aeMain

# What is resident, and the store's room on the disk, at their most for each number of profiles that there were: from the
# second on.
awk '{ if ($2 > most[$1]) most[$1] = $2; if ($3 > store[$1]) store[$1] = $3; if ($1 > last) last = $1 }
    END { for (n = 0; n <= last; n++)
              if (most[n]) printf "after %d profiles: %d KiB resident at most, a store of %d KiB\n", n, most[n], store[n]
          for (n = 2; n < last && !most[n]; n++) {}
          exit !(store[last] > 4 && most[last] <= most[n] + 4096 && store[last] <= store[n] + 1024) }' "$TMP/memory" || fail 'memory grows'
awk -v seconds="$seconds" -v batches="$batches" -v files="${#profiles[@]}" '
    { wall += $2; cpu += $3; if ($2 > life) life = $2 }
    END { printf "%d s of load in %d batches, no error; %d profiles; %d threads; %.3f s of life, %.3f s of wall time and %.3f s of CPU in all\n",
              seconds, batches, files, NR, life / 1e9, wall / 1e9, cpu / 1e9 }' "$TMP/sums"
du -k "$TMP/profiles" | awk '{ print $1 " KiB of files" }'
