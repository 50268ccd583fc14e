#!/bin/bash
# nginx under wrk: a master and two workers that it forks, each with a profile of its own. Started by root the workers
# become another user.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
need wrk
PATH=$PATH:/usr/sbin
need nginx

port=$(free_port)
mkdir -p "$TMP/www" && chmod 755 "$TMP/www"
head -c 2000 /dev/zero | tr '\0' x >"$TMP/www/small.txt"
head -c 200000 /dev/urandom | base64 >"$TMP/www/large.txt"
cat >"$TMP/nginx.conf" <<CONF
daemon off;
worker_processes 2;
pid $TMP/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
    access_log $TMP/access.log;
    client_body_temp_path $TMP/body; proxy_temp_path $TMP/proxy; fastcgi_temp_path $TMP/fastcgi;
    uwsgi_temp_path $TMP/uwsgi; scgi_temp_path $TMP/scgi;
    gzip on; gzip_types text/plain; gzip_min_length 100;
    sendfile on;
    server {
        listen 127.0.0.1:$port;
        root $TMP/www;
        location /empty { return 204; }
    }
}
CONF
server=(nginx -e stderr -c "$TMP/nginx.conf")
stop="kill -QUIT \$(cat $TMP/nginx.pid)" # its orderly way

is_ready() {
    connects "$port"
}

load() {
    load_by_wrk "$port" /small.txt /large.txt /small.txt /empty
}

expect nginx 'epoll_wait < .* < ngx_process_events_and_timers' 0.01
expect nginx '.*(writev?|sendfile|send).* < .* < ngx_process_events_and_timers' 0.01
expect nginx 'ngx_http_core_run_phases < .* < ngx_process_events_and_timers' 0.01
expect nginx '(__)?sigsuspend < ngx_master_process_cycle < main' 10
run_pairs
