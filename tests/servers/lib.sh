# shellcheck shell=bash
# Sourced by the tests of servers. A test sets and defines
#
#   server=(PROGRAM ARGUMENTS...)   stays in the foreground and ends by exit
#   stop=COMMAND                    that tells it to end (default: SIGTERM)
#   status=NUMBER                   what it exits with then (default: 0)
#   user=NAME                       that runs it
#   is_ready                        whether it answers; asked until it does
#   load                            uses it for $SECONDS_OF_LOAD, prints `ops N`, `seconds N` and `errors N`
#   expect THREADS STACK SHARE      what must be in its profiles (judge.py says how this is written)
#   bounds=(--OPTION=VALUE...)      for judge.py, where its own are too narrow
#
# and calls run_pairs: the server without and with the profiler, again and again, each time from its start to its end.
#
# SERVERS_PAIRS     how often (default: 3); 0: once, with the profiler only
# SERVERS_SECONDS   of load each time (default: 4)
# SERVERS_HZ        WALLPROF_HZ of the profiled server
# SERVERS_OBSERVE   signal: WALLPROF_OBSERVE of the profiled server
# SERVERS_SETUID    not empty: mariadbd is started by root and becomes another user by itself, as memcached and nginx do
# SERVERS_KEEP      a directory to keep profiles and reports in
# SERVERS_ROWS      a file to append to what table.py makes a table of
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/e2e.sh"
SERVERS=$TESTS/servers
NAME=$(basename "$0" .sh)
SECONDS_OF_LOAD=${SERVERS_SECONDS:-4}
ROWS=${SERVERS_ROWS:-$TMP/rows}
[ -z "${SERVERS_HZ-}" ] || export WALLPROF_HZ=$SERVERS_HZ
[ -z "${SERVERS_OBSERVE-}" ] || export WALLPROF_OBSERVE=$SERVERS_OBSERVE
# Servers become other users, and what they are by then has to write its profile.
chmod 711 "$TMP"
[ ! -e "$LIBRARY" ] || cp "$LIBRARY" "$TMP/libwallprof.so"
server=() stop='' status=0 user='' bounds=() expectations=() watch=''

on_exit() {
    stop_watch
}

stop_watch() {
    [ -z "$watch" ] || { kill "$watch" && wait "$watch"; } 2>/dev/null
}

expect() { # THREADS STACK SHARE
    expectations+=("--expect=$1: $2: $3")
}

is_root() {
    [ "$(id -u)" -eq 0 ]
}

# For those that list their compiled functions.
remove_perf_maps() {
    sed -n 's|^ "pid": \([0-9]*\),$|/tmp/perf-\1.map|p' "$TMP"/*/report.json 2>/dev/null | xargs -r rm -f
}

free_port() {
    "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Whether something answers at a port.
connects() { # PORT
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

run_pairs() {
    local pair
    [ -s "$TMP/libwallprof.so" ] || fail "there is no $LIBRARY"
    if [ "${SERVERS_PAIRS:-3}" -eq 0 ]; then
        run_once with 1
    fi
    for pair in $(seq "${SERVERS_PAIRS:-3}"); do
        if [ $((pair % 2)) -eq 1 ]; then
            run_once without "$pair"
            run_once with "$pair"
        else
            run_once with "$pair"
            run_once without "$pair"
        fi
    done
    "$PYTHON" "$SERVERS/table.py" "$ROWS"
}

# Its files are in $FILES: load, stdout, stderr, report.json, PROGRAM.PID.pb.gz.
run_once() { # WITH_OR_WITHOUT NUMBER
    local options=()
    FILES=$TMP/$1.$2
    mkdir "$FILES" && chmod 1777 "$FILES"
    [ "$1" = without ] || options=("--preload=$TMP/libwallprof.so" "--out=$FILES/%n.%p.pb.gz")
    start_watch "${options[@]}"
    await
    load >"$FILES/load" || fail "the load on $NAME $1 the profiler ended with status $?: $(tail -n 3 "$FILES"/*)"
    kill -USR1 "$watch"
    wait "$watch" || fail "$NAME: watch.py ended with status $?"
    watch=
    keep "$1.$2"
    judge "$1"
}

start_watch() { # OPTIONS
    "$PYTHON" "$SERVERS/watch.py" "$FILES/report.json" ${stop:+"--stop=$stop"} ${user:+"--user=$user"} "$@" -- "${server[@]}" \
        >"$FILES/stdout" 2>"$FILES/stderr" &
    watch=$!
}

await() {
    local try
    for try in $(seq 600); do
        is_ready >"$TMP/ready" 2>&1 && return
        kill -0 "$watch" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 20 "$FILES/stdout" "$FILES/stderr"
    fail "$NAME did not answer in $try tries: $(cat "$TMP/ready")"
}

keep() { # DIRECTORY
    [ -n "${SERVERS_KEEP-}" ] || return 0
    mkdir -p "$SERVERS_KEEP/$NAME.$1"
    cp "$FILES"/* "$SERVERS_KEEP/$NAME.$1/"
}

judge() { # WITH_OR_WITHOUT
    local profiles=() largest
    if [ "$1" = with ]; then
        profiles=("$FILES"/*.pb.gz)
        [ -e "${profiles[0]}" ] || fail "$NAME left no profile: $(tail "$FILES/stderr")"
        ! grep -i wallprof "$FILES/stderr" || fail "the profiler has something to say"
    fi
    "$PYTHON" "$SERVERS/judge.py" "$NAME" "$FILES" --status="$status" "${bounds[@]}" "${expectations[@]}" >>"$ROWS" ||
        fail "$NAME $1 the profiler"
    [ "$1" = with ] || return 0
    largest=$(find "$FILES" -name '*.pb.gz' -printf '%s %p\n' | sort -rn | sed -n '1s/[^ ]* //p')
    check_profile "$largest"
    read_pprof comments "$largest"
    show_top "$largest" 8
}

# For wrk, with the server's addresses one after the other.
load_by_wrk() { # PORT PATHS...
    local port=$1
    shift
    {
        printf 'paths = {'
        printf '"%s", ' "$@"
        echo '} at = 0 request = function() at = at % #paths + 1 return wrk.format("GET", paths[at]) end'
    } >"$TMP/paths.lua"
    wrk -t 1 -c 64 -d "${SECONDS_OF_LOAD}s" -s "$TMP/paths.lua" "http://127.0.0.1:$port" >"$FILES/wrk" 2>&1 || return
    awk '
        / requests in / { ops = $1; seconds = $4; sub(/s,$/, "", seconds) }
        /Socket errors:/ { gsub(",", ""); errors += $4 + $6 + $8 + $10 }
        /Non-2xx/ { errors += $NF }
        END { print "ops", ops; print "seconds", seconds; print "errors", errors + 0 }' "$FILES/wrk"
}

# Repeats a load of fixed size until the time is up. `batch` prints how many operations it was.
load_by_batches() {
    local start=$EPOCHREALTIME ops=0 count
    while awk "BEGIN { exit !($EPOCHREALTIME - $start < $SECONDS_OF_LOAD) }"; do
        count=$(batch) || return
        ops=$((ops + count))
    done
    echo "ops $ops"
    echo "seconds $(awk "BEGIN { print $EPOCHREALTIME - $start }")"
    echo "errors 0"
}
