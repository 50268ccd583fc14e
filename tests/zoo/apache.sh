#!/bin/bash
# Apache httpd: the event MPM with changed user: requests, a graceful stop, and stops right after a start
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need apache2
    [ "$(id -u)" -eq 0 ] || cannot "only root starts it as a distribution does"
    mkdir "$ZOO_MADE/htdocs" && echo hello >"$ZOO_MADE/htdocs/index.html"
}

configure() { # PORT
    local modules=/usr/lib/apache2/modules
    cat >httpd.conf <<END
ServerRoot "$PWD"
ServerName localhost
Listen 127.0.0.1:$1
PidFile "$PWD/httpd.pid"
ErrorLog "$PWD/error.log"
User www-data
Group www-data
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
DocumentRoot "$ZOO_MADE/htdocs"
StartServers 4
ServerLimit 4
ThreadsPerChild 8
MaxRequestWorkers 32
MinSpareThreads 32
MaxSpareThreads 32
GracefulShutdownTimeout 300
END
}

start() {
    local port
    port=$(free_port)
    configure "$port"
    : >error.log
    serve apache2 -D FOREGROUND -f "$PWD/httpd.conf"
    await grep 'resuming normal operations' error.log || return # its handlers are there, and its children start
    [ "$1" -eq 0 ] || fetch "$port" /index.html "$1" 8
}

# What the children have met: those that had to be killed, or died. Where children wait for a CPU, httpd asks twice.
children() {
    grep -oE 'still did not exit.*KILL|exit signal.*|AH0005[0-2].*' error.log | sort -u
}

run() {
    local turn
    for turn in WINCH TERM; do
        start 200 || return
        stop "$turn"
        children
    done
    # Right after the start, while children change their user.
    for turn in 1 2 3 4 5 6; do
        start 0 || return
        stop TERM
        children
    done
}

zoo "$@"
