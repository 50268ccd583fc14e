#!/bin/bash
# PostgreSQL under pgbench: a process for each of 20 connections, and for each of six helpers, all forked, all with a
# profile of their own. It refuses to be root's.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
need initdb postgres pgbench pg_isready

data=$TMP/data
initdb=(initdb -D "$data" -U tester --no-sync -A trust)
mkdir "$data" "$TMP/socket" && chmod 711 "$data" && chmod 777 "$TMP/socket"
if is_root; then
    user=postgres
    getent passwd "$user" >/dev/null || skip "there is no user $user"
    chown "$user" "$data"
    initdb=(setpriv --reuid="$user" --regid="$user" --clear-groups "${initdb[@]}")
fi
"${initdb[@]}" >"$TMP/initdb" 2>&1 || fail "initdb: $(tail "$TMP/initdb")"
server=(postgres -D "$data" -k "$TMP/socket" -c listen_addresses=)
stop="kill -INT \$(head -n 1 $data/postmaster.pid)" # the fast way: no wait for clients
clients=20

is_ready() {
    pg_isready -h "$TMP/socket" -U tester -d postgres
}

load() {
    [ -e "$TMP/filled" ] || pgbench -h "$TMP/socket" -U tester -i -s 2 -q postgres >"$TMP/filled" 2>&1 || return
    pgbench -h "$TMP/socket" -U tester -n -c $clients -j 2 -T "$SECONDS_OF_LOAD" postgres >"$FILES/pgbench" 2>&1 || return
    awk -v seconds="$SECONDS_OF_LOAD" '
        /^number of transactions actually processed:/ { ops = $NF }
        /^number of failed transactions:/ { errors += $5 }
        /error|abort/ { errors++ }
        END { print "ops", ops; print "seconds", seconds; print "errors", errors + 0 }' "$FILES/pgbench"
}

# What the profiler uses to write the profile of a connection's process is not seen.
bounds=(--cpu=15)
expect postgres 'epoll_wait < WaitEventSetWait < .* < PostgresMain' 0.01
expect postgres 'PostgresMain < .* < PostmasterMain < main' 5
expect postgres 'epoll_wait < WaitEventSetWait < .* < (Checkpointer|WalWriter|BackgroundWriter)Main' 0.01
run_pairs
