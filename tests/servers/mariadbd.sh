#!/bin/bash
# mariadbd under mariadb-slap with 200 connections: a thread for each, kept for the next one, and about twenty of its own.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need mariadbd mariadb-install-db mariadb-slap mariadb-admin

data=$TMP/data
options=(--no-defaults --datadir="$data" --tmpdir="$TMP")
! is_root || options+=(--user=root)
mariadb-install-db "${options[@]}" --auth-root-authentication-method=normal --skip-test-db >"$TMP/install" 2>&1 ||
    fail "mariadb-install-db: $(tail "$TMP/install")"
server=(mariadbd "${options[@]}" --socket="$TMP/socket" --skip-networking --pid-file="$TMP/pid" --max-connections=300
    --thread-cache-size=256 --innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=64M)
stop="mariadb-admin --no-defaults --user=root --socket=$TMP/socket shutdown"

is_ready() {
    mariadb-admin --no-defaults --user=root --socket="$TMP/socket" ping
}

batch() {
    mariadb-slap --no-defaults --user=root --socket="$TMP/socket" --concurrency=200 --number-of-queries=10000 \
        --auto-generate-sql --auto-generate-sql-load-type=mixed --auto-generate-sql-add-autoincrement \
        --auto-generate-sql-unique-query-number=50 --auto-generate-sql-write-number=200 --engine=innodb \
        >"$TMP/slap" 2>"$TMP/slap.err" || return
    [ ! -s "$TMP/slap.err" ] || { cat "$TMP/slap.err" >&2 && return 1; }
    echo 10000
}

load() {
    load_by_batches
}

# None of its threads has a name of its own: the shares are of all of them.
# The main thread's frame varies in size: nothing but a signal tells where it ends, and that would cut poll short.
expect mariadbd '(__)?poll < handle_connections_sockets.*' 0.01
expect mariadbd '(__)?poll < .* < do_command.* < do_handle_one_connection.* < handle_one_connection < .* < start_thread' 0.01
expect mariadbd 'syscall < .* < mysql_execute_command.* < .* < dispatch_command.* < do_command.*' 2
expect mariadbd 'handler::ha_write_row.* < mysql_insert.* < dispatch_command.* < do_command.*' 0.01
expect mariadbd 'pthread_cond_(clockwait|timedwait) < .* < tpool::thread_pool_generic::worker_main.* < .* < start_thread' 0.01
run_pairs
