#!/bin/bash
# php-fpm: workers with changed user, requests by FastCGI, a graceful stop and a stop
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need php-fpm8.2 cgi-fcgi
    [ "$(id -u)" -eq 0 ] || cannot "only root starts it as a distribution does"
    cat >"$ZOO_MADE/page.php" <<'END'
<?php
for ($i = 0, $sum = 0; $i < 200000; $i++) $sum = ($sum * 31 + $i) % 1000003;
usleep(2000);
echo $sum, ' ', preg_replace('/(\d)(\d)/', '$2$1', '123456'), ' ', strlen(shell_exec('echo child')), "\n";
END
}

ask() {
    SCRIPT_FILENAME=$ZOO_MADE/page.php REQUEST_METHOD=GET cgi-fcgi -bind -connect "$PWD/fpm.sock"
}

run() {
    local signal
    for signal in QUIT TERM; do
        cat >fpm.conf <<END
[global]
error_log = $PWD/fpm.log
daemonize = no
[www]
user = www-data
group = www-data
listen = $PWD/fpm.sock
pm = static
pm.max_children = 4
pm.max_requests = 10
END
        serve php-fpm8.2 -n -F -y "$PWD/fpm.conf"
        await ask || return
        for ((i = 0; i < 40; i++)); do ask; done | sort | uniq -c
        stop "$signal"
    done
    # Workers end by themselves after ten requests.
    grep -oE 'exited (with code [1-9]|on signal).*' fpm.log | sed 's/ after.*//'
}

zoo "$@"
