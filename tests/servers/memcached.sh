#!/bin/bash
# memcached under memcaslap: worker threads with an event loop each, that are handed connections by the main thread, and
# five helpers. Started by root it becomes another user.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
need memcached memcaslap

port=$(free_port)
server=(memcached -l 127.0.0.1 -p "$port" -U 0 -t 4 -m 1024 -c 1024)
! is_root || server+=(-u nobody)

# Keys, values, one set to nine gets. Without a file it makes one, in the user's home.
printf '%s\n' key '64 64 1' value '1024 1024 1' cmd '0 0.1' '1 0.9' >"$TMP/memcaslap.conf"

is_ready() {
    connects "$port"
}

load() {
    memcaslap -F "$TMP/memcaslap.conf" -s "127.0.0.1:$port" -T 1 -c 64 -v 0.2 -t "${SECONDS_OF_LOAD}s" >"$FILES/memcaslap" 2>&1 || return
    awk '
        /^get_misses:|^verify_failed:|_error|ERROR|refused|lost/ { errors += $NF ~ /^[0-9]+$/ ? $NF : 1 }
        /^Run time:/ { seconds = $3; sub(/s$/, "", seconds); ops = $5 }
        END { print "ops", ops; print "seconds", seconds; print "errors", errors + 0 }' "$FILES/memcaslap"
}

# Debian's memcached has no symbols, libevent exports its own.
expect memcached 'epoll_wait < .* < event_base_loop < .* < __libc_start_main.*' 80
expect mc-worker 'epoll_wait < .* < event_base_loop < .* < clone3?' 0.01
expect mc-worker '.*(read|recv).* < .* < event_base_loop' 0.01
expect mc-worker '.*(write|sendmsg).* < .* < event_base_loop' 0.01
expect mc-assocmaint 'pthread_cond_wait.*' 90
run_pairs
