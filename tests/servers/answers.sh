#!/bin/bash
# Why does it wait? Servers whose bottleneck is known, each recorded once. One line of `wallprof top` must say what it is: a row lock and the
# write-ahead log of PostgreSQL, the file that redis appends to, a row lock of InnoDB, the upstream of nginx, a monitor of Java.
# A server that is not installed is left out.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$PATH:/usr/sbin:$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
cp "$BUILD/wallprof" "$TMP/wallprof"
mkdir -m 1777 "$TMP/out"
export WALLPROF_OVERHEAD=off # else what lives for a moment is hardly looked at

# Runs a program as a user that may have no shell.
as() { # USER PROGRAM ARGUMENTS...
    local user=$1
    shift
    if is_root && [ -n "$user" ]; then
        setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
    else
        "$@"
    fi
}

# Starts a server. The recording is $TMP/out/NAME.pb.gz; it is stopped by stop_recorded.
start_recorded() { # NAME USER PROGRAM ARGUMENTS...
    recorded=$1
    as "$2" "$TMP/wallprof" run --quiet --merge --out "$TMP/out/$1.pb.gz" "${@:3}" >"$TMP/out/$1.log" 2>&1 &
    watch=$!
}

until_ready() { # COMMAND...
    until "$@" >"$TMP/ready" 2>&1; do
        kill -0 "$watch" 2>/dev/null || fail "$recorded has ended: $(tail -n 5 "$TMP/out/$recorded.log")"
        sleep 0.1
    done
}

stop_recorded() { # COMMAND...
    "$@" >"$TMP/stopped" 2>&1 || fail "$recorded could not be told to end: $(cat "$TMP/stopped")"
    wait "$watch"
    watch=
    [ -s "$TMP/out/$recorded.pb.gz" ] || fail "$recorded left no recording: $(tail -n 5 "$TMP/out/$recorded.log")"
}

# The line that answers.
answers() { # PATTERN OPTIONS OF top...
    local line
    COLUMNS=1000 "$TMP/wallprof" top --lines 8 "${@:2}" "$TMP/out/$recorded.pb.gz" >"$TMP/top" || fail "wallprof top fails"
    if line=$(grep -E -m 1 "$1" "$TMP/top"); then
        echo "$recorded: $line"
    else
        cat "$TMP/top"
        complain "$recorded: no line of top says '$1'"
    fi
}

# ---- PostgreSQL ----

postgres_is_recorded() { # NAME SCRIPT
    local data=$TMP/$1.data socket=$TMP/$1.socket user=
    if is_root; then
        user=postgres
    fi
    mkdir -m 711 "$data"
    mkdir -m 777 "$socket"
    [ -z "$user" ] || chown postgres "$data"
    as "$user" initdb -D "$data" -U tester --no-sync -A trust >"$TMP/initdb" 2>&1 || fail "initdb: $(tail "$TMP/initdb")"
    start_recorded "$1" "$user" postgres -D "$data" -k "$socket" -c listen_addresses=
    until_ready pg_isready -h "$socket" -U tester -d postgres
    psql -q -h "$socket" -U tester postgres -c 'create table t (id int, n int)' -c 'insert into t values (1, 0)' || fail "psql"
    printf '%s\n' "$2" >"$TMP/$1.sql"
    pgbench -n -h "$socket" -U tester -c 6 -T "$SECONDS_OF_LOAD" -f "$TMP/$1.sql" postgres >"$TMP/pgbench" 2>&1 || fail "pgbench: $(cat "$TMP/pgbench")"
    stop_recorded kill -INT "$(head -n 1 "$data/postmaster.pid")"
}

if type initdb postgres pgbench >/dev/null 2>&1 && { ! is_root || getent passwd postgres >/dev/null; }; then
    postgres_is_recorded postgres-row 'begin; update t set n = n + 1 where id = 1; select pg_sleep(0.02); commit;'
    answers '^ +[0-9.]+% .*: waiting for a lock [0-9]+'
    postgres_is_recorded postgres-wal 'insert into t values (2, 0);'
    answers '(^waiting: .*file .*/pg_wal/[0-9A-F]+)|(^ +[0-9.]+% XLogFlush: waiting for a lock [0-9]+)' # one of them writes for the others
else
    leave_out postgres "it is not installed"
fi

# ---- redis ----

if type redis-server redis-benchmark >/dev/null 2>&1; then
    mkdir "$TMP/redis"
    start_recorded redis '' redis-server --port 0 --unixsocket "$TMP/redis/socket" --dir "$TMP/redis" --save '' --appendonly yes \
        --appendfsync always --daemonize no
    until_ready redis-cli -s "$TMP/redis/socket" ping
    redis-benchmark -s "$TMP/redis/socket" -c 8 -n 3000 -t set -q >"$TMP/benchmark" 2>&1 || fail "redis-benchmark"
    stop_recorded redis-cli -s "$TMP/redis/socket" shutdown nosave
    answers '^waiting: .*file .*/appendonly[^ ]*\.aof'
else
    leave_out redis "it is not installed"
fi

# ---- MariaDB ----

# lock_wait has no name in most packages' files: then it is the condition that it waits for.
if type mariadbd mariadb-install-db mariadb-admin >/dev/null 2>&1 && { ! is_root || getent passwd mysql >/dev/null; }; then
    work=$TMP/mariadb user=
    mkdir -m 755 "$work"
    if is_root; then
        user=mysql
        chown mysql "$work"
    fi
    options=(--no-defaults "--datadir=$work/data" "--tmpdir=$work")
    client=(--no-defaults --user=root "--socket=$work/socket")
    mariadb-install-db "${options[@]}" ${user:+"--user=$user"} --auth-root-authentication-method=normal --skip-test-db >"$TMP/install" 2>&1 ||
        fail "mariadb-install-db: $(tail "$TMP/install")"
    start_recorded mariadb "$user" mariadbd "${options[@]}" "--socket=$work/socket" --skip-networking "--pid-file=$work/pid" \
        --innodb-buffer-pool-size=32M
    until_ready mariadb-admin "${client[@]}" ping
    mariadb "${client[@]}" -e 'create database d; create table d.t (id int primary key, n int) engine=innodb; insert into d.t values (1, 0)' ||
        fail "mariadb"
    clients=()
    for _ in 1 2 3 4; do
        for _ in $(seq 12); do
            echo 'start transaction; update d.t set n = n + 1 where id = 1; do sleep(0.1); commit;'
        done | mariadb "${client[@]}" >/dev/null &
        clients+=($!)
    done
    wait "${clients[@]}" || fail "a client of mariadbd failed"
    stop_recorded mariadb-admin "${client[@]}" shutdown
    answers '^ +[0-9.]+% .*: waiting for a (lock|condition) [0-9]+'
else
    leave_out mariadb "it is not installed"
fi

# ---- nginx ----

# A proxy waits in its event loop, which is no bottleneck of its own: what the loop is for is in the name of the set.
if type nginx wrk >/dev/null 2>&1; then
    port=$(free_port) upstream=$(free_port)
    "$PYTHON" -c 'import http.server, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()' "$upstream" &
    slow=$!
    cat >"$TMP/nginx.conf" <<CONF
daemon off;
master_process off;
pid $TMP/nginx.pid;
error_log stderr warn;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $TMP/body; proxy_temp_path $TMP/proxy; fastcgi_temp_path $TMP/fastcgi;
    uwsgi_temp_path $TMP/uwsgi; scgi_temp_path $TMP/scgi;
    upstream slow { server 127.0.0.1:$upstream; keepalive 4; }
    server {
        listen 127.0.0.1:$port;
        location / { proxy_pass http://slow; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
}
CONF
    start_recorded nginx '' nginx -e stderr -c "$TMP/nginx.conf"
    until_ready connects "$port"
    until_ready connects "$upstream"
    wrk -t 1 -c 4 -d "${SECONDS_OF_LOAD}s" "http://127.0.0.1:$port/" >"$TMP/wrk" 2>&1 || fail "wrk: $(cat "$TMP/wrk")"
    stop_recorded kill -QUIT "$(cat "$TMP/nginx.pid")"
    kill "$slow"
    answers "tcp 127\.0\.0\.1:$upstream" --idle --by on
else
    leave_out nginx "it is not installed"
fi

# ---- Java ----

if type java javac >/dev/null 2>&1; then
    mkdir "$TMP/java"
    cat >"$TMP/java/Ledger.java" <<'JAVA'
public class Ledger {
    synchronized void append() throws InterruptedException {
        Thread.sleep(20);
    }

    public static void main(String[] arguments) throws Exception {
        Ledger ledger = new Ledger();
        for (int i = 1; i <= 4; i++) {
            new Thread(() -> {
                try {
                    for (int entry = 0; entry < 40; entry++)
                        ledger.append();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, "writer-" + i).start();
        }
    }
}
JAVA
    javac -d "$TMP/java" "$TMP/java/Ledger.java" || fail "javac"
    start_recorded java '' java -Xmx64m -cp "$TMP/java" Ledger
    stop_recorded true
    answers '^ +[0-9.]+% .*: waiting for a lock [0-9]+'
    answers '^ .*writer-[1-4]' --by thread
else
    leave_out java "it is not installed"
fi
exit "$bad"
