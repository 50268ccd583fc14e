#!/bin/bash
# varnish: a manager and a worker, a program compiled and loaded, a server behind it, jails of users, a stop
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need varnishd; }

run() {
    local port behind
    port=$(free_port) behind=$(free_port)
    mkdir site && echo hello >site/page
    python3 -m http.server --bind 127.0.0.1 --directory site "$behind" >/dev/null 2>&1 &
    local origin=$!
    server=$origin await connects "$behind"
    chmod 755 .
    serve varnishd -F -n "$PWD/varnish" -T 127.0.0.1:0 -a "127.0.0.1:$port" -b "127.0.0.1:$behind" -s malloc,16M -p thread_pool_min=10
    await connects "$port" || return
    fetch "$port" /page 200 8
    stop TERM
    kill "$origin"
}

# Times and identifiers stand in its own lines.
filter() { grep -vE '^(Debug: (Version|Platform|Child)|Child launched|Info: (Child|Manager)|[0-9]+ ?$)' | sed 's/([0-9]*)//g; s/[0-9a-f-]\{36\}//'; true; }

zoo "$@"
