# shellcheck shell=bash
# Sourced by each kind of program. The second line of a kind says what it is. It may define
#
#   prepare      makes what it runs in $ZOO_MADE, once, bare; `cannot REASON` leaves the kind out
#   run          uses the program by `under` or `serve`, in a directory of its own; what it prints and its status are compared
#   filter       what of the output is compared: from stdin to stdout (default: all)
#
# and ends with `zoo "$@"`. All a kind prints must be the same in each bare run: nothing of pids, times and addresses.
#
# ZOO_HOW    bare, preloaded or wrapper
# ZOO_HZ     ticks a second
# ZOO_OUT    the directory of the profiles
# ZOO_MADE   what `prepare` has made
# ZOO_BIN    where libwallprof.so, wallprof and wallprof-run are
# ZOO_STOP   a file for the seconds that the longest stop took
set -u

filter() { cat; }

prepare() { :; }

cannot() { # REASON...
    echo "$*"
    exit 77
}

need() { # PROGRAM...
    local program
    for program in "$@"; do
        type -P "$program" >/dev/null || cannot "$program is not installed"
    done
}

# Becomes a program, bare or profiled. The rate is the one that is named, whatever it costs.
become() { # PROGRAM ARGUMENTS...
    local settings=("WALLPROF_OUT=$ZOO_OUT/%n.%p.pb.gz" "WALLPROF_HZ=$ZOO_HZ" WALLPROF_OVERHEAD=off)
    case $ZOO_HOW in
    bare) exec "$@" ;;
    preloaded) exec env LD_PRELOAD="$ZOO_BIN/libwallprof.so" "${settings[@]}" "$@" ;;
    wrapper) exec env "${settings[@]}" "$ZOO_BIN/wallprof-run" --quiet -- "$@" ;;
    esac
}

under() { # PROGRAM ARGUMENTS...
    (become "$@")
}

# A shell is profiled, and starts the command: twice, and once more in the background.
below_a_shell() { # COMMAND...
    under bash -c '"$@" && echo "first: $?" || echo "first: $?"
        "$@"
        echo "second: $?"
        "$@" &
        wait $!
        echo "in the background: $?"
        for ((i = 0; i < 20000; i++)); do :; done' bash "$@"
}

# A server in the background, as $server.
serve() { # PROGRAM ARGUMENTS...
    become "$@" &
    server=$!
}

# Until a command succeeds, or the server has ended.
await() { # COMMAND...
    until "$@" >/dev/null 2>&1; do
        kill -0 "$server" 2>/dev/null || { echo "the server has ended" && return 1; }
        sleep 0.05
    done
}

# How it ends is printed, and how long that took is kept.
stop() { # SIGNAL, or a command
    local begin=$EPOCHREALTIME
    if [ $# -gt 1 ]; then "$@"; else kill -s "$1" "$server"; fi
    wait "$server"
    echo "stopped: $?"
    awk -v begin="$begin" -v end="$EPOCHREALTIME" -v before="$(cat "$ZOO_STOP" 2>/dev/null)" \
        'BEGIN { s = end - begin; if (s < before + 0) s = before; printf "%.3f\n", s }' >"$ZOO_STOP.new"
    mv "$ZOO_STOP.new" "$ZOO_STOP"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

connects() { # PORT
    (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# How often each answer came from a server: "200 hello", say.
fetch() { # PORT PATH TIMES CLIENTS
    python3 - "$@" <<'END'
import collections, concurrent.futures, http.client, sys

port, path, times, clients = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def one(_):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
        connection.request("GET", path)
        answer = connection.getresponse()
        return f"{answer.status} {answer.read().decode().strip()}"
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__

with concurrent.futures.ThreadPoolExecutor(clients) as pool:
    for answer, count in sorted(collections.Counter(pool.map(one, range(times))).items()):
        print(f"{count} times: {answer}")
END
}

zoo() { # prepare | run | filter
    "$1"
}
