#!/bin/bash
# redis-server under redis-benchmark: an event loop with i/o threads and idle helpers.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server redis-benchmark redis-cli

server=(redis-server --port 0 --unixsocket "$TMP/socket" --dir "$TMP" --save '' --appendonly no
    --io-threads 2 --io-threads-do-reads yes --daemonize no)
stop="redis-cli -s $TMP/socket shutdown nosave"

cli() {
    redis-cli -s "$TMP/socket" "$@"
}

is_ready() {
    [ "$(cli ping)" = PONG ]
}

batch() {
    redis-benchmark -s "$TMP/socket" -c 40 -n 10000 -d 100 -P 4 -q -t set,get,incr,lpush,lrange_100 >"$TMP/benchmark" 2>&1 &&
        ! grep -q -i -e error -e closed "$TMP/benchmark" && echo 50000 && return
    tail -n 3 "$TMP/benchmark" >&2
    return 1
}

load() {
    load_by_batches || return
    cli info stats | tr -d '\r' >"$TMP/stats"
    grep -q '^rejected_connections:0$' "$TMP/stats" && grep -q '^total_error_replies:0$' "$TMP/stats"
}

# Its threads name themselves.
expect redis-server 'epoll_wait < aeMain' 0.01
expect redis-server 'processCommand < processInputBuffer < .* < aeMain' 0.01
expect redis-server 'writeToClient < aeMain' 0.01
expect 'io_thd_1' 'write|writeToClient' 0.01
expect 'bio_(close_file|aof.*|lazy_free)' 'pthread_cond_wait.* < bioProcessBackgroundJobs' 90
run_pairs
