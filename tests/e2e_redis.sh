#!/bin/bash
# redis-server under redis-benchmark: an event loop with i/o threads and idle helpers; no client may notice.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need redis-server redis-benchmark redis-cli

server=
on_exit() {
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null
}

cli() {
    redis-cli -s "$TMP/socket" "$@"
}

# It opens its socket last; a busy machine takes its time.
await_server() {
    local try
    for try in $(seq 300); do
        [ "$(cli ping 2>/dev/null)" = PONG ] && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat "$TMP/server.out"
    fail "redis-server did not answer in $try tries"
}

start_server() {
    WALLPROF_HZ=1000 profile_run "$TMP/redis.pb.gz" redis-server --port 0 --unixsocket "$TMP/socket" --dir "$TMP" --save '' \
        --appendonly no --io-threads 2 --io-threads-do-reads yes --daemonize no >"$TMP/server.out" 2>"$TMP/stderr" &
    server=$!
}

start_server
await_server
redis-benchmark -s "$TMP/socket" -c 40 -n 100000 -d 100 -P 4 -q -t set,get,incr,lpush,lrange_100 >"$TMP/benchmark" 2>&1 ||
    fail "redis-benchmark ended with status $?: $(cat "$TMP/benchmark")"
! grep -i -e error -e 'closed' "$TMP/benchmark" || fail "clients saw errors"
tr '\r' '\n' <"$TMP/benchmark" | grep 'requests per second'
cli info stats >"$TMP/stats"
grep -q '^rejected_connections:0' "$TMP/stats" || fail "connections were rejected"
grep -q '^total_error_replies:0' "$TMP/stats" || fail "requests were answered with errors"
cli shutdown nosave
wait "$server"
status=$?
server=
assert_equal "exit status" "$status" 0
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
check_program "$TMP/redis.pb.gz"
# Its own names for its threads, given from inside them; and what the loop waits in and works with.
for name in redis-server bio_close_file 'bio_aof.*' bio_lazy_free io_thd_1; do
    threads_of "$TMP/redis.pb.gz" | grep -x "$name" || fail "no thread $name: $(threads_of "$TMP/redis.pb.gz")"
done
for function in aeMain epoll_wait processInputBuffer processCommand writeToClient; do
    assert_function "$TMP/redis.pb.gz" "$function"
done
functions_of "$TMP/redis.pb.gz" | grep -E '^(__libc_|__)?(read|recv)$' || fail "no function reads from a client"
functions_of "$TMP/redis.pb.gz" | grep -E '^(__libc_|__)?(write|send|writev)$' || fail "no function writes to a client"
