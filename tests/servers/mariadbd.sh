#!/bin/bash
# mariadbd under mariadb-slap with 200 connections: a thread for each, kept for the next one, and about twenty of its own.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin
need mariadbd mariadb mariadb-install-db mariadb-slap mariadb-admin

work=$TMP/work
mkdir -m 755 "$work"
options=(--no-defaults --datadir="$work/data" --tmpdir="$work")
if is_root; then
    user=mysql
    getent passwd "$user" >/dev/null || skip "there is no user $user"
    chown "$user" "$work"
fi
mariadb-install-db "${options[@]}" ${user:+"--user=$user"} --auth-root-authentication-method=normal --skip-test-db \
    >"$TMP/install" 2>&1 || fail "mariadb-install-db: $(tail "$TMP/install")"
server=(mariadbd "${options[@]}" --socket="$work/socket" --skip-networking --pid-file="$work/pid" --max-connections=300
    --thread-cache-size=256 --innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=64M)
if is_root && [ -n "${SERVERS_SETUID-}" ]; then
    server+=(--user="$user")
    user=
fi
as_client=(--no-defaults --user=root --socket="$work/socket")
stop="mariadb-admin ${as_client[*]} shutdown"

is_ready() {
    mariadb-admin "${as_client[@]}" ping
}

batch() {
    mariadb-slap "${as_client[@]}" --concurrency=200 --number-of-queries=10000 \
        --auto-generate-sql --auto-generate-sql-load-type=mixed --auto-generate-sql-add-autoincrement \
        --auto-generate-sql-unique-query-number=50 --auto-generate-sql-write-number=200 --engine=innodb \
        >"$TMP/slap" 2>"$TMP/slap.err" && [ ! -s "$TMP/slap.err" ] && echo 10000 && return
    cat "$TMP/slap.err" >&2
    return 1
}

# Beside the 200 there is a connection that does nothing. mariadbd gives one up that is woken ten times for no reason:
# for two seconds there are few others that could be looked at.
load() {
    local status=0
    rm -f "$TMP/queries" && mkfifo "$TMP/queries" || return
    mariadb "${as_client[@]}" --skip-reconnect --skip-column-names --unbuffered <"$TMP/queries" >"$TMP/answers" 2>&1 &
    exec 9>"$TMP/queries"
    echo 'select "first";' >&9
    sleep 2
    load_by_batches | grep -v errors || status=1
    echo 'select "last";' >&9
    exec 9>&-
    wait $!
    [ "$(cat "$TMP/answers")" = $'first\nlast' ] && echo "errors 0" || echo "errors 1"
    return "$status"
}

# None of its threads has a name of its own: the shares are of all of them.
# The main thread's frame varies in size: nothing but a signal tells where it ends, and that would cut poll short.
expect mariadbd '(__)?poll < handle_connections_sockets.*' 0.01
expect mariadbd '(__)?poll < .* < do_command.* < do_handle_one_connection.* < handle_one_connection < .* < start_thread' 0.01
expect mariadbd 'syscall < .* < mysql_execute_command.* < .* < dispatch_command.* < do_command.*' 2
expect mariadbd 'handler::ha_write_row.* < mysql_insert.* < dispatch_command.* < do_command.*' 0.01
expect mariadbd 'pthread_cond_(clockwait|timedwait) < .* < tpool::thread_pool_generic::worker_main.* < .* < start_thread' 0.01
run_pairs
