#!/bin/bash
# node under wrk: the event loop, two worker threads with loops of their own, the pool of libuv that reads files and
# computes hashes, the threads of V8. Compiled functions have the names that node writes down.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
need wrk node

port=$(free_port)
server=(node --perf-basic-prof --no-logfile-per-isolate --logfile="$TMP/v8.log" "$SERVERS/server.js" "$port" "$TMP/file")
head -c 400000 /dev/zero >"$TMP/file"

is_ready() {
    connects "$port"
}

on_exit() {
    stop_watch
    remove_perf_maps
}

load() {
    load_by_wrk "$port" /text /file /hash /work /text /text
}

# All threads have the name of the program.
expect node 'epoll_p?wait < uv__io_poll < uv_run < .* < node::NodeMainInstance::Run.*' 0.01
expect node 'JS:.* < .* < Builtins_JSEntry < .* < uv__io_poll < uv_run < .* < node::NodeMainInstance::Run.*' 0.01
expect node 'epoll_p?wait < uv__io_poll < .* < node::worker::Worker::Run.* < .* < start_thread' 0.01
expect node 'JS:.* < .* < node::worker::Worker::Run.* < .* < start_thread' 0.01
expect node 'pthread_cond_wait < uv_cond_wait < worker < start_thread' 2
expect node 'uv__fs_work < worker < start_thread' 0.01
expect node 'PKCS5_PBKDF2_HMAC < .* < worker < start_thread' 0.01
expect node 'pthread_cond_wait < uv_cond_wait < .*PlatformWorkerThread.* < start_thread' 5
run_pairs
