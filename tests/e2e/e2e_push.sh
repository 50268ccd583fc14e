#!/bin/bash
# wallprof push against a server on loopback that reads requests as Pyroscope and Parca do: what it gets is the profile,
# told apart by its name and labels; what it answers is heeded; nobody but it gets to know our credentials, and those
# only over TLS or on this machine; what is followed is sent once, in order, whatever happens to the server or to us.
# test: waits
# shellcheck disable=SC2317 # functions are called as commands of others
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
secret=ToP-sEcReT/tOkEn+7
pids=
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
export WALLPROF_CACHE=off
[ -x "$tool" ] || skip "there is no tool for this machine"
need "$PYTHON"
"$tool" push --to parca http://127.0.0.1:9 /nonexistent 2>&1 | grep libcurl >/dev/null && skip "libcurl is not installed"

on_exit() {
    # shellcheck disable=SC2086 # a list
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null
}

# ---- the server ----

# SERVER_PORT: where it was before; otherwise where nobody is.
start_server() { # NAME ANSWERS... : sets $at, $url, $server
    local try
    at=$TMP/$1
    mkdir -p "$at"
    rm -f "$at/port"
    shift
    for try in 1 2 3 4 5; do
        SERVER_PORT=${SERVER_PORT:-$(free_port)} "$PYTHON" "$TESTS/lib/push_server.py" "$at" "$@" >>"$at/log" 2>&1 &
        server=$!
        pids="$pids $server"
        until_true has_begun_or_ended
        [ ! -s "$at/port" ] || break
        echo "server $try: $(tail -n 1 "$at/log")"
        sleep 1
    done
    [ -s "$at/port" ] || fail "there is no server: $(cat "$at/log")"
    url=http://127.0.0.1:$(cat "$at/port")
}

has_begun_or_ended() {
    [ -s "$at/port" ] || ! kill -0 "$server" 2>/dev/null
}

stop_server() {
    kill -KILL "$server"
    wait "$server" 2>/dev/null
}

until_true() { # COMMAND...
    local tries
    for ((tries = 0; tries < 1200; tries++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "it has not come to this: $*"
}

requests() { # FIELD : of every request, one a line
    "$PYTHON" -c 'import json, sys
for line in open(sys.argv[1]):
    value = json.loads(line).get(sys.argv[2])
    print(value if isinstance(value, str) else json.dumps(value, sort_keys=True))' "$at/requests" "$1"
}

has_requests() { # COUNT
    [ -f "$at/requests" ] && [ "$(wc -l <"$at/requests")" -ge "$1" ]
}

spool_holds() { # NAMES
    [ "$(cd "$spool" && echo *)" = "$1" ]
}

no_problems() {
    assert_equal "what is wrong with the requests ($at)" "$(requests problem | sort -u)" null
}

# ---- the client ----

push() { # STATUS ARGUMENTS... : its output is $TMP/out and $TMP/err
    local wanted=$1 status
    shift
    "$tool" push "$@" >"$TMP/out" 2>"$TMP/err"
    status=$?
    [ "$status" = "$wanted" ] || complain "wallprof push $*: status $status, not $wanted: $(cat "$TMP/err")"
}

says() { # TEXT
    grep -qF -- "$1" "$TMP/err" || complain "'$1' is not said: $(cat "$TMP/err")"
}

follow() { # ARGUMENTS... : sets $follower; its output is $at/out and $at/err
    "$tool" push -v --to pyroscope "$url" "$@" >>"$at/out" 2>>"$at/err" &
    follower=$!
    pids="$pids $follower"
}

end_follower() { # SIGNAL
    kill -s "$1" "$follower"
    wait "$follower"
    assert_equal "status of what follows after SIG$1" "$?" 0
}

# As the library puts a file there: under another name first.
put() { # FILE AS
    cp "$1" "$2.part"
    mv "$2.part" "$2"
}

profile_run "$TMP/a.pb.gz" "$TARGETS/target_tool_export" >/dev/null
profile_run "$TMP/a.store" "$TARGETS/target_tool_export" >/dev/null
check_profile "$TMP/a.pb.gz"
gzip -dc "$TMP/a.pb.gz" >"$TMP/a.pb"

# ---- what arrives ----

start_server shapes
push 0 -v --to pyroscope "$url" "$TMP/a.pb.gz" "$TMP/a.store" "$TMP/a.pb" --label 'place=Łódź 7' -l 'odd==&?#%2C{"<'
assert_equal 'what is sent' "$(cat "$TMP/out")" "sent: $TMP/a.pb.gz
sent: $TMP/a.store
sent: $TMP/a.pb"
push 0 --to pyroscope --pyroscope-api push --name my.app/1 -l 'odd=,}=" \u' "$TMP/a.pb.gz" "$TMP/a.pb.gz" "$url/base//"
push 0 "$TMP/a.pb.gz" --to parca "${url/127.0.0.1/localhost}" -l x=y
assert_equal 'said without -v' "$(cat "$TMP/out" "$TMP/err")" ''
no_problems
assert_equal 'paths' "$(requests path | uniq -c | awk '{ print $1, $2 }')" '3 /ingest
2 /base/push.v1.PusherService/Push
1 /api/profiles/writeraw'
assert_equal 'labels' "$("$PYTHON" -c 'import json, sys
for line in open(sys.argv[1]):
    print(sorted(json.loads(line)["labels"].items()))' "$at/requests" | uniq -c | sed 's/^ *//')" \
    "3 [('odd', '=&?#%2C{\"<'), ('place', 'Łódź 7'), ('service_name', 'target_tool_export')]
2 [('odd', ',}=\" \\\\u'), ('service_name', 'my.app/1')]
1 [('service_name', 'target_tool_export'), ('x', 'y')]"
assert_equal 'authorizations' "$(requests authorization | sort -u)" null
[ "$(requests id | grep -v null | sort -u | wc -l)" = 2 ] || complain "two profiles have one UUID: $(requests id)"
for number in 1 4 5 6; do
    cmp "$TMP/a.pb.gz" "$at/profile.$number.pb.gz" || complain "profile $number is another one"
done
gzip -dc "$at/profile.3.pb.gz" | cmp - "$TMP/a.pb" || complain "what was not packed has become something else"
for number in 1 2 3; do # pprof checks what it reads (CheckValid)
    check_profile "$at/profile.$number.pb.gz"
done
"$tool" export "$TMP/a.store" -o - | cmp - "$at/profile.2.pb.gz" || complain "a store is sent as something else"

# From and until hold what was recorded, and not much more.
run_pprof -raw "$TMP/a.pb.gz" 2>/dev/null | sed -n 's/^Time: //p' >"$TMP/time"
[ -s "$TMP/time" ] || fail "pprof does not tell the time"
begin=$(date -d "$(cut -d' ' -f1-3 "$TMP/time")" +%s)
assert_equal 'from' "$(requests from | sed -n 1p)" "$begin"
duration=$(($(requests until | sed -n 1p) - begin))
((duration >= 1 && duration <= 3)) || complain "until is $duration s after from"
stop_server

# ---- what the server answers ----

start_server answers 500 503
push 0 -v --to pyroscope "$url" "$TMP/a.pb.gz"
assert_equal 'requests after 500 and 503' "$(requests answer | xargs)" '500 503 200'
says 'HTTP status 500: what the server says; trying again'
grep -q 'second line' "$TMP/err" && complain "more than a line of the server's"
stop_server
start_server again 429:3 500
push 0 --to pyroscope -P push "$url" "$TMP/a.pb.gz"
"$PYTHON" -c 'import json, sys
times = [json.loads(line)["when"] for line in open(sys.argv[1])]
assert times[1] - times[0] >= 3, times' "$at/requests" || complain "Retry-After is not kept to"
[ "$(requests id | sort -u | wc -l)" = 1 ] || complain "sent again, the profile has another UUID"
stop_server
start_server refused 413 400 200 401 404 "302:http://localhost:1/ingest" echo:422 echo:403
push 1 -v --to pyroscope "$url" "$TMP/a.pb.gz" "$TMP/a.pb" "$TMP/a.store"
assert_equal 'sent of three' "$(cat "$TMP/out")" "sent: $TMP/a.store"
says "$TMP/a.pb.gz: not sent: HTTP status 413, the profile is too large for the server: what the server says"
says "$TMP/a.pb: not sent: HTTP status 400: what the server says"
push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
says 'HTTP status 401, the server wants other credentials'
push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
says 'HTTP status 404, there is no such interface'
push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
says 'HTTP status 302, redirections are not followed'
for status in 422 403; do
    WALLPROF_PUSH_TOKEN=$secret push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
    says "HTTP status $status"
    grep -qF "$secret" "$TMP/err" "$TMP/out" && complain "what the server repeats of our credentials is shown"
done
assert_equal 'requests where there is no sense in more' "$(requests answer | wc -l)" 8
stop_server
start_server cut cut cut
push 0 --to parca "$url" "$TMP/a.pb.gz"
assert_equal 'requests after two that were cut' "$(requests answer | xargs)" 'cut cut 200'
stop_server

# ---- credentials ----

if type -P openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$TMP/key" -out "$TMP/certificate" -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost 2>/dev/null || fail "no certificate"
    start_server tls --tls "$TMP/certificate" "$TMP/key"
    secure=https://localhost:${url##*:}
    push 1 --to pyroscope "$secure" "$TMP/a.pb.gz"
    says 'not sent'
    [ ! -f "$at/requests" ] || complain "a server that nobody vouches for is sent a profile"
    push 1 --to pyroscope --cacert "$TMP/certificate" "https://127.0.0.1:${url##*:}" "$TMP/a.pb.gz"
    [ ! -f "$at/requests" ] || complain "a server with another's certificate is sent a profile"
    WALLPROF_PUSH_TOKEN=$secret push 0 --to pyroscope --cacert "$TMP/certificate" "$secure" "$TMP/a.pb.gz"
    no_problems
    assert_equal 'authorization' "$(requests authorization)" "Bearer $secret"
    stop_server
else
    leave_out TLS "openssl is not installed"
fi

start_server credentials 200 200 stall
printf '# who we are\n token = %s \n' "$secret" >"$TMP/token"
printf 'user=me\npassword=%s\n' "$secret" >"$TMP/password"
chmod 600 "$TMP/token"
chmod 640 "$TMP/password"
push 0 --to pyroscope "$url" "$TMP/a.pb.gz" --credentials "$TMP/token"
push 1 --to pyroscope "$url" "$TMP/a.pb.gz" --credentials "$TMP/password"
says 'others can read or write it'
WALLPROF_PUSH_USER=me WALLPROF_PUSH_PASSWORD=$secret push 0 --to pyroscope "$url" "$TMP/a.pb.gz"
assert_equal 'authorizations' "$(requests authorization)" "Bearer $secret
Basic $(printf 'me:%s' "$secret" | base64 -w 0)"
WALLPROF_PUSH_TOKEN=$secret push 1 --to pyroscope http://192.0.2.1 "$TMP/a.pb.gz"
says 'over https'
WALLPROF_PUSH_TOKEN=a WALLPROF_PUSH_USER=b WALLPROF_PUSH_PASSWORD=c push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
WALLPROF_PUSH_TOKEN=$'a\r\nX: y' push 1 --to pyroscope "$url" "$TMP/a.pb.gz"
push 2 --to pyroscope "http://me:$secret@localhost" "$TMP/a.pb.gz"
grep -qF "$secret" "$TMP/err" "$TMP/out" && complain "a password in an address is repeated"
# While a request is under way: not in what anybody can see, nor in what our own user sees.
WALLPROF_PUSH_TOKEN=$secret "$tool" push --to pyroscope "$url" "$TMP/a.pb.gz" >"$TMP/out" 2>"$TMP/err" &
client=$!
pids="$pids $client"
until_true has_requests 3
for file in cmdline environ; do
    tr '\0' '\n' <"/proc/$client/$file" >"$TMP/seen" || fail "/proc/$client/$file"
    grep -q . "$TMP/seen" || fail "nothing in /proc/$client/$file"
    grep -qF "$secret" "$TMP/seen" && complain "a token is in /proc/PID/$file"
done
kill "$client"
wait "$client" 2>/dev/null
assert_equal 'the token, when it was sent' "$(requests authorization | sed -n 3p)" "Bearer $secret"
grep -qF "$secret" "$TMP/err" "$TMP/out" && complain "a token is in a message"
stop_server

# ---- what makes no sense ----

for label in 1a=x a-b=x =x a __name__=x 'a=' $'a=x\ty' $'a=\xff' service_name=x; do
    push 2 --to parca "$url" "$TMP/a.pb.gz" --label "$label"
done
push 2 --to parca "$url" "$TMP/a.pb.gz" -l a=1 -l a=2
push 2 --to pyroscope "$url" "$TMP/a.pb.gz" -l 'a=x,y'
says 'label a'
push 2 --to pyroscope "$url" "$TMP/a.pb.gz" --name 'a{b'
for address in ftp://a http:// http://:80 'http://a/?x=1' 'http://a b' "http://a\\b" 'http://a/#x' http://a%41; do
    push 2 --to parca "$address" "$TMP/a.pb.gz"
done
push 2 --to grafana "$url" "$TMP/a.pb.gz"
push 2 "$url" "$TMP/a.pb.gz"
push 2 --to parca "$TMP/a.pb.gz"
push 2 --to parca "$url"
push 2 --to parca --pyroscope-api push "$url" "$TMP/a.pb.gz"
push 2 --to parca "$url" "$TMP/a.pb.gz" --remove
push 2 --to parca "$url" --follow "$TMP" --spool-max 0
push 2 --to parca "$url" --follow "$TMP" --spool-max 5,9Q
start_server unusable
echo text >"$TMP/text.pb.gz"
head -c 300 "$TMP/a.pb.gz" >"$TMP/cut.pb.gz"
mkfifo "$TMP/fifo.pb.gz"
push 1 --to pyroscope "$url" "$TMP/text.pb.gz" "$TMP/cut.pb.gz" "$TMP/fifo.pb.gz" "$TMP" "$TMP/none.pb.gz"
assert_equal 'lines about files that are none' "$(wc -l <"$TMP/err")" 5
[ ! -f "$at/requests" ] || complain "what is no profile is sent"
stop_server

# ---- following ----

spool=$TMP/spool
mkdir "$spool"
start_server follow
put "$TMP/a.pb.gz" "$spool/app.000001.pb.gz"
put "$TMP/a.pb.gz" "$spool/app.000002.pb.gz"
echo unfinished >"$spool/.wallprof-12345678.tmp"
ln -s "$TMP/a.pb.gz" "$spool/link.pb.gz"
follow --follow "$spool"
until_true has_requests 2
put "$TMP/a.pb.gz" "$spool/app.000003.pb.gz"
until_true has_requests 3
stop_server
port=${url##*:}
put "$TMP/a.pb.gz" "$spool/app.000004.pb.gz"
put "$TMP/cut.pb.gz" "$spool/app.000005.pb.gz"
put "$TMP/a.pb.gz" "$spool/app.000010.pb.gz"
until_true grep -q 'app.000004.pb.gz: not sent yet' "$at/err"
push 1 --to pyroscope "$url" --follow "$spool"
says 'another process follows'
SERVER_PORT=$port start_server follow
assert_equal 'the port' "${url##*:}" "$port"
until_true has_requests 5
end_follower TERM
assert_equal 'sent in order, once' "$(cat "$at/out")" "$(printf 'sent: app.0000%s.pb.gz\n' 01 02 03 04 10)"
grep -q 'app.000005.pb.gz: left aside' "$at/err" || complain "a file that is none is not left aside: $(cat "$at/err")"
assert_equal 'mode of what is remembered' "$(stat -c %a "$spool/.wallprof-push")" 600

# After a restart: what is new, and a name that is used again.
put "$TMP/a.pb.gz" "$spool/app.000001.pb.gz"
follow --follow "$spool/app.*.pb.gz"
until_true has_requests 6
put "$TMP/a.pb.gz" "$spool/app.000011.pb.gz"
put "$TMP/a.pb.gz" "$spool/other.000001.pb.gz"
until_true has_requests 7
end_follower INT
assert_equal 'sent after a restart' "$(tail -n +6 "$at/out")" 'sent: app.000001.pb.gz
sent: app.000011.pb.gz'
no_problems
stop_server

# Where more waits than may, the oldest goes; what was sent is removed, what the server refuses stays.
spool=$TMP/bounded-spool
mkdir "$spool"
start_server bounded
stop_server
for number in 1 2 3 4 5; do
    put "$TMP/a.pb.gz" "$spool/x.$number.pb.gz"
done
follow --follow "$spool" --remove --spool-max 3,1G
until_true grep -q 'x.2.pb.gz: given up, .*; 2 so far' "$at/err"
until_true spool_holds 'x.3.pb.gz x.4.pb.gz x.5.pb.gz'
SERVER_PORT=${url##*:} start_server bounded 200 413
until_true has_requests 3
end_follower TERM
assert_equal 'what is left' "$(cd "$spool" && echo *)" x.4.pb.gz
grep -q 'x.4.pb.gz: left aside: HTTP status 413' "$at/err" || complain "what is refused is not said: $(cat "$at/err")"
stop_server

# By size.
spool=$TMP/by-size
mkdir "$spool"
put "$TMP/a.pb.gz" "$spool/x.1.pb.gz"
put "$TMP/a.pb.gz" "$spool/x.2.pb.gz"
rm "$at/err"
follow --follow "$spool" --spool-max "9,$(($(stat -c %s "$TMP/a.pb.gz") * 3 / 2))"
until_true grep -q 'x.1.pb.gz: given up' "$at/err"
end_follower TERM

# The end waits for a request that is under way, but not for ever; what was not taken is sent next time.
start_server stalled stall
follow --follow "$spool"
until_true has_requests 1
end_follower TERM
assert_equal 'sent to a server that says nothing' "$(cat "$at/out")" ''
follow --follow "$spool"
until_true has_requests 2
until_true grep -q x.2 "$at/out"
end_follower TERM
assert_equal 'sent after that' "$(cat "$at/out")" 'sent: x.2.pb.gz'

# A directory that goes away is an end too.
mkdir "$TMP/gone"
follow --follow "$TMP/gone"
until_true [ -e "/proc/$follower/fd/3" ]
rmdir "$TMP/gone"
wait "$follower"
assert_equal 'status when the directory has gone' "$?" 1
push 1 --to pyroscope "$url" --follow /nonexistent/x

exit "$bad"
