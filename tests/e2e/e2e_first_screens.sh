#!/bin/bash
# The first screen of `wallprof top`, 24 lines of 80 columns, names the function that somebody would have to change, and
# what it waits for. For programs in several languages, each with one planted fault.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need g++ go node javac java redis-server redis-cli psql
wallprof=$BUILD/wallprof
mkdir "$TMP/work"
cd "$TMP/work" || exit 1

# COMMAND, whose profile goes to $TMP/NAME.pb.gz. names: what --runtime-names is.
names=auto
record() { # NAME COMMAND...
    WALLPROF_OVERHEAD=off "$wallprof" run --merge --runtime-names "$names" -o "$TMP/$1.pb.gz" -- "${@:2}" >"$TMP/$1.out" 2>"$TMP/$1.err" ||
        complain "$1: status $?: $(tail -3 "$TMP/$1.err")"
}

screen() { # NAME OPTIONS OF top...
    COLUMNS=80 "$wallprof" top "${@:2}" "$TMP/$1.pb.gz" | head -n 24 | cut -c 1-80
}

# One of the findings, "  54.1% FUNCTION: PARTS", and the row of that function, are like these. It is the first one on a
# machine that has a CPU for who waits for one.
expect() { # NAME FUNCTION WORDS KIND ROW
    local screen findings
    screen=$(screen "$1")
    findings=$(grep -a -E '^ +[0-9.]+% .*: ' <<<"$screen")
    grep -a -E "% $2.*($3)" <<<"$findings" >/dev/null || complain "$1: the findings are '$findings', not $2, $3"
    sed -n '/ FUNCTION$/,$p' <<<"$screen" | grep -a -E "$4.*($5)" >/dev/null || complain "$1: no row of $5 that waits for $4"
    echo "$1: $findings"
}

# ---- C++: a mutex that is held while the journal is written ----

cat >ledger.cc <<'END'
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

template <typename Entry, typename = std::enable_if_t<std::is_copy_constructible_v<Entry>>> class Journal {
    std::mutex mutex;
    std::vector<Entry> entries;

  public:
    __attribute__((noinline)) void append(Entry const &entry)
    {
        std::lock_guard<std::mutex> guard(mutex);
        entries.push_back(entry);
        usleep(2000);
    }
};

int main()
{
    Journal<std::pair<std::string, long>> journal;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] { for (int j = 0; j < 250; j++) journal.append({"deposit", j}); });
    for (std::thread &thread : threads)
        thread.join();
}
END
g++ -std=c++17 -O1 -g -pthread -o ledger ledger.cc || fail 'ledger.cc is not compiled'
record ledger ./ledger
expect ledger 'Journal.*append' 'waiting for a lock' lock append

# ---- a shell that only waits ----

record shell sh -c "'$TARGETS/target_answers' mutex; true"
expect shell planted_mutex 'waiting for a lock' lock planted_mutex

# ---- node: a report that is made anew for each request ----

cat >server.js <<'END'
const http = require('http');

const rows = Array.from({length: 500}, (_, i) => (i * 7919) % 2000);
function buildReport(rounds) {
    let sum = 0;
    for (let round = 0; round < rounds; round++)
        for (let i = 0; i < rows.length; i++)
            for (let j = i; j < rows.length; j++)
                sum = (sum * 31 + rows[i] * rows[j]) % 1000003;
    return String(sum);
}

const server = http.createServer((request, response) => response.end(buildReport(4)));
let left = 400;
function ask() {
    if (left-- === 0)
        return server.close();
    http.get({port: server.address().port, agent: false}, response => {
        response.resume();
        response.on('end', ask);
    });
}
server.listen(0, '127.0.0.1', ask);
END
record node node server.js
expect node buildReport 'running|waiting for a CPU' '' 'buildReport server.js:4'
screen node | grep -a 'code that node compiled' && complain 'node: it is told flags that it has'
! ls isolate-*.log >/dev/null 2>&1 || complain 'node: it left a log'
grep -a '^wallprof: added for names: --perf-basic-prof-only-functions' "$TMP/node.err" >/dev/null || complain 'node: nothing was said'
printf '#!%s\n' "$(command -v node)" | cat - server.js >script && chmod +x script
record node-script ./script
expect node-script buildReport 'running|waiting for a CPU' '' 'buildReport script:5'
names=off
record nameless-node node server.js
screen nameless-node | grep -a -e '--perf-basic-prof' >/dev/null || complain 'node: its flag is not named'
WALLPROF_HZ=2000 WALLPROF_OVERHEAD=off record half-named-node node --perf-basic-prof -e 'for (let i = 0; i < 3e5; i++) JSON.parse("{}")'
screen half-named-node | grep -a -A 1 '^Some of the code that node compiled' | grep -a -e '--interpreted-frames-native-stack too' >/dev/null ||
    complain 'node: its other flag is not named'

# ---- Python: a server of threads that asks another server, and waits for it ----

cat >shop.py <<'END'
import json
import socket

import flask

app = flask.Flask(__name__)


def fetch_recommendations(sku):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("recommend.sock")
        connection.sendall(b"%d\n" % sku)
        return json.loads(connection.makefile().readline())


@app.route("/product/<int:sku>")
def product(sku):
    return {"name": f"product {sku}", "also": fetch_recommendations(sku)}
END

# The other server, in the same program as four clients.
cat >clients.py <<'END'
import http.client, os, socket, socketserver, sys, threading, time


class Recommend(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        time.sleep(0.05)
        self.wfile.write(b"[1, 2, 3]\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect("shop.sock")


def ask():
    connection = Connection("localhost")
    connection.request("GET", "/product/7")
    return connection.getresponse().status


def client():
    failures.extend(status for status in (ask() for _ in range(80)) if status != 200)


failures = []
threading.Thread(target=Server("recommend.sock", Recommend).serve_forever, daemon=True).start()
clients = [threading.Thread(target=client) for _ in range(4)]
for each in clients:
    each.start()
for each in clients:
    each.join()
sys.exit(bool(failures))
END

record_gunicorn() {
    WALLPROF_OVERHEAD=off "$wallprof" run --merge -o "$TMP/gunicorn.pb.gz" -- gunicorn -b "unix:shop.sock" --threads 4 shop:app \
        >"$TMP/gunicorn.out" 2>&1 &
    local server=$!
    until [ -S shop.sock ]; do
        kill -0 "$server" || fail "gunicorn has ended: $(tail -3 "$TMP/gunicorn.out")"
        sleep 0.1
    done
    "$PYTHON" clients.py || complain "gunicorn: $(tail -3 "$TMP/gunicorn.out")"
    kill "$server"
    wait "$server"
}
if ! type -P gunicorn >/dev/null || ! "$(sed -n '1s/^#! *//p' "$(type -P gunicorn)")" -c 'import flask' 2>/dev/null; then
    leave_out gunicorn 'gunicorn and flask are not installed'
else
    record_gunicorn
    expect gunicorn 'fetch_recommendations shop.py:9' 'waiting for the network' network fetch_recommendations
    "$wallprof" explain "$TMP/gunicorn.pb.gz" | grep -a 'fetch_recommendations shop.py:9 (shop.py:13)' >/dev/null ||
        complain 'gunicorn: the line that waits is not explained'
fi

# ---- Java: a monitor that is held during a call. (Below C2's stub for that the caller's frame is not found.) ----

cat >Service.java <<'END'
public class Service {
    static final Object account = new Object();
    static long balance;

    static void transferFunds() throws InterruptedException {
        synchronized (account) {
            Thread.sleep(1);
            balance++;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (int j = 0; j < 1000; j++)
                        transferFunds();
                } catch (InterruptedException e) {
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
    }
}
END
javac Service.java || fail 'Service.java is not compiled'
names=auto
record java java -Xcomp -XX:TieredStopAtLevel=1 -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,Service::* \
    -XX:CompileCommand=dontinline,Service::transferFunds Service
expect java '.*Service.transferFunds' 'waiting for a lock' lock 'Service.transferFunds'
names=off
record nameless-java java Service
screen nameless-java | grep -a -e 'DumpPerfMapAtExit' >/dev/null || complain 'Java: its flag is not named'
names=auto

# ---- PostgreSQL: a row that all clients change ----

record_postgres() {
    local programs
    programs=$(dirname "$(readlink -f "$(type -P postgres || echo /usr/lib/postgresql/*/bin/postgres)")")
    local run=()
    [ "$(id -u)" -ne 0 ] || run=(setpriv --reuid postgres --regid postgres --clear-groups)
    mkdir "$TMP/pg"
    [ "$(id -u)" -ne 0 ] || { chmod 755 "$TMP" && chown postgres "$TMP/pg"; }
    "${run[@]}" "$programs/initdb" -D "$TMP/pg/data" -A trust -U postgres >/dev/null || fail 'initdb failed'
    WALLPROF_OVERHEAD=off HOME=$TMP/pg "${run[@]}" "$wallprof" run --merge -o "$TMP/pg/postgres.pb.gz" -- \
        "$programs/postgres" -D "$TMP/pg/data" -k "$TMP/pg" -c listen_addresses= >"$TMP/pg/log" 2>&1 &
    local server=$! sql=(psql -q -h "$TMP/pg" -U postgres)
    until "${sql[@]}" -c 'select 1' >/dev/null 2>&1; do
        kill -0 "$server" || fail "PostgreSQL has ended: $(tail -3 "$TMP/pg/log")"
        sleep 0.1
    done
    "${sql[@]}" -c 'create table account(id int primary key, v int); insert into account values (1, 0)'
    local clients=()
    for _ in 1 2 3; do
        for _ in $(seq 10); do
            echo 'begin; update account set v = v + 1 where id = 1; select pg_sleep(0.05); commit;'
        done | "${sql[@]}" >/dev/null &
        clients+=($!)
    done
    wait "${clients[@]}"
    "${run[@]}" "$programs/pg_ctl" -D "$TMP/pg/data" stop -m fast >/dev/null
    wait "$server"
    cp "$TMP/pg/postgres.pb.gz" "$TMP" || fail "no profile: $(tail -3 "$TMP/pg/log")"
}
record_postgres
expect postgres '(heap_lock_tuple|heap_update|LockTuple|standard_ExecutorRun)' 'waiting for a lock' lock 'heap_lock_tuple|heap_update'
screen postgres --by process --idle | grep -a -E 'postgres: .*(walwriter|checkpointer)' >/dev/null || complain 'PostgreSQL: its processes have no titles'

# ---- Go: a mutex ----

cat >transfer.go <<'END'
package main

import "sync"

var account sync.Mutex
var balance int

//go:noinline
func transferFunds() {
	account.Lock()
	for i := 0; i < 1000000; i++ {
		balance = (balance*31 + i) % 1000003
	}
	account.Unlock()
}

func main() {
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			for j := 0; j < 250; j++ {
				transferFunds()
			}
			all.Done()
		}()
	}
	all.Wait()
}
END
HOME=$TMP GOCACHE=$TMP/gocache GO111MODULE=off CGO_ENABLED=1 go build -o transfer -ldflags=-linkmode=external transfer.go ||
    leave_out 'Go' 'it cannot be linked with the C library'
if [ -x transfer ]; then
    record go ./transfer
    expect go '.*main.transferFunds' 'running|waiting for a CPU' '' 'main.transferFunds'
fi

# ---- redis: a script that scans ----

record_redis() {
    local socket=$TMP/redis.sock
    WALLPROF_OVERHEAD=off "$wallprof" run --merge -o "$TMP/redis.pb.gz" -- redis-server --port 0 --unixsocket "$socket" --save '' \
        >"$TMP/redis.out" 2>&1 &
    local server=$!
    until [ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ]; do
        kill -0 "$server" || fail "redis has ended: $(tail -3 "$TMP/redis.out")"
        sleep 0.1
    done
    redis-cli -s "$socket" eval 'for i = 1, 20000 do redis.call("set", "key" .. i, i) end' 0 >/dev/null
    for _ in $(seq 200); do
        echo 'keys *1*2*3*4*5*6*7*'
    done | redis-cli -s "$socket" >/dev/null
    redis-cli -s "$socket" shutdown nosave
    wait "$server"
}
record_redis
expect redis '(stringmatchlen|keysCommand|dictNext)' 'running|waiting for a CPU' '' 'keysCommand|stringmatch'

# ---- a compiler, and what it starts ----

record gcc gcc -O2 -D_GNU_SOURCE -I"$ROOT/src" -c -o tool.o "$ROOT/src/tool/read/store_mend.c"
screen gcc --by process | grep -a 'cc1 .*store_mend' >/dev/null || complain 'gcc: the file that is compiled is not named'

exit "${bad:-0}"
