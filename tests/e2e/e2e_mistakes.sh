#!/bin/bash
# What a mistake costs: a mistyped word is answered with the right one, what cannot work is refused before the program runs,
# and a place that is gone at the end does not cost the profile.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"
mkdir "$TMP/work" "$TMP/stores"
export TMPDIR=$TMP/stores
unset BROWSER DISPLAY WAYLAND_DISPLAY COLUMNS
cd "$TMP/work" || exit 1

says() { # STATUS TEXT ARGUMENTS OF wallprof...
    local wanted=$1 text=$2 status
    shift 2
    "$tool" "$@" >"$TMP/out" 2>"$TMP/err"
    status=$?
    [ "$status" = "$wanted" ] || complain "wallprof $*: status $status, not $wanted"
    [ -z "$text" ] || grep -qF -e "$text" "$TMP/err" || complain "wallprof $*: '$(cat "$TMP/err")', not '$text'"
}

# ---- words ----

says 2 "there is no command 'tpo'; did you mean 'top'?" tpo
says 2 "there is no command 'nonsense'" nonsense
touch there.pb.gz
says 2 "'there.pb.gz' is no command; to look at a file: wallprof top there.pb.gz" there.pb.gz
says 2 'there is no option --focsu; did you mean --focus?' top --focsu x there.pb.gz
says 2 'there is no option --ouptut; did you mean --output?' export --ouptut=x there.pb.gz
says 2 'there is no option -z' diff -z a b
says 2 'option --lines needs a value' top --lines
says 2 'option --cum takes no value' top --cum=3 there.pb.gz
for command in merge push ctl recover gather view explain; do
    says 2 'there is no option --hepl; did you mean --help?' "$command" --hepl
done
says 125 "unknown option --overhaed; did you mean '--overhead'?" run --overhaed 5 true

# ---- filters that leave nothing ----

profile_run labels.pb.gz "$TARGETS/target_labels" work 300 >/dev/null || fail "target_labels ended with status $?"
says 1 "--thread 'bsuy': no thread is like this; there are: " top --thread bsuy labels.pb.gz
grep -q "there are: .*dreamer.*; did you mean 'busy'?" "$TMP/err" || complain "threads: $(cat "$TMP/err")"
[ ! -s "$TMP/out" ] || complain 'a table of nothing'
says 1 "--label 'tetn': no label is like this; there are: " top --label tetn labels.pb.gz
grep -q 'there are: .*role=waits' "$TMP/err" || complain "labels: $(cat "$TMP/err")"
says 1 "--focus 'compte': no function, file or module is like this; there are: " top --focus compte labels.pb.gz
grep -q "; did you mean 'compute'?" "$TMP/err" || complain "functions: $(cat "$TMP/err")"
says 1 "--process 'app': the profile names no process" top --process app labels.pb.gz
says 1 "--ignore '.' is like something in every stack" top --ignore . labels.pb.gz
says 1 'no stack passes all these filters' top --focus compute --thread dreamer labels.pb.gz
says 1 "--thread 'none': no thread" diff --thread none labels.pb.gz labels.pb.gz
says 0 "--thread 'none': no thread" top --json --thread none labels.pb.gz
grep -q '"rows":\[\]' "$TMP/out" || complain 'JSON is not written as ever'

# ---- -o and -h everywhere ----

for command in top explain; do
    "$tool" $command labels.pb.gz >"$TMP/stdout"
    says 0 '' $command labels.pb.gz -o report.txt
    [ ! -s "$TMP/out" ] || complain "wallprof $command -o writes to standard output"
    cmp "$TMP/stdout" report.txt || complain "wallprof $command -o"
    says 2 "x.html: the report is text; 'wallprof export'" $command labels.pb.gz -o x.html
    says 1 'nowhere/x: No such file' $command labels.pb.gz -o nowhere/x
    says 0 '' $command --json labels.pb.gz -o report.json
    "$PYTHON" -m json.tool <report.json >"$TMP/out" || complain "wallprof $command --json -o"
    rm report.*
done
says 0 '' diff labels.pb.gz labels.pb.gz -o report.txt
grep -q '^no difference' report.txt || complain 'diff -o'
rm report.txt
for command in run record top explain diff view export merge push ctl recover gather; do
    says 0 '' $command -h
done
cmp <("$tool" run --help-all) <("$tool" record --help-all) || complain 'record is not run'
says 7 "profile in $PWD/x.pb.gz" record -o x.pb.gz sh -c 'sleep 0.1; exit 7'
rm x.pb.gz

# ---- a machine without a display ----

"$tool" view labels.pb.gz >"$TMP/out" 2>"$TMP/err" || complain "view: status $?"
grep -q 'there is no display here; --serve' "$TMP/err" || complain "no display: $(cat "$TMP/err")"
rm -r "$TMPDIR"/wallprof-*
serving=
# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "$serving" ] || kill "$serving" 2>/dev/null
}
"$tool" view --serve labels.pb.gz >"$TMP/address" 2>"$TMP/err" &
serving=$!
until grep -q 'Ctrl-C ends it' "$TMP/err"; do
    kill -0 $serving 2>/dev/null || fail "view --serve has ended: $(cat "$TMP/err")"
    sleep 0.05
done
address=$(cat "$TMP/address") port=$(sed 's|.*127.0.0.1:\([0-9]*\)/.*|\1|' "$TMP/address")
grep -q "ssh -L $port:127.0.0.1:$port $(hostname)" "$TMP/err" || complain "how it is reached: $(cat "$TMP/err")"
"$PYTHON" - "$address" <<'END' || complain "view --serve at $address"
import socket, sys, urllib.error, urllib.request
address = sys.argv[1]
idle = socket.create_connection(("127.0.0.1", int(address.split(":")[2].split("/")[0])))  # a browser opens some in advance
with urllib.request.urlopen(address) as reply:
    page = reply.read()
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/html"), reply.headers
    assert int(reply.headers["Content-Length"]) == len(page) and b"</html>" in page, len(page)
for other in "/", "/favicon.ico", "/labels.html":
    try:
        urllib.request.urlopen(address.rsplit("/", 2)[0] + other)
    except urllib.error.HTTPError as error:
        assert error.code == 404, error
    else:
        raise AssertionError(other + " is found")
END
kill $serving
wait $serving || complain "view --serve: status $?"
serving=
[ -z "$(ls -A "$TMPDIR")" ] || complain "view --serve left $(ls "$TMPDIR")"
says 2 '--serve=0 is not a port' view --serve=0 labels.pb.gz
rm labels.pb.gz

# ---- outputs ----

known='.pb.gz, .callgrind, .folded, .html, .perfetto.json.gz, .json.gz and .store are known'
says 125 "--out x.svg: no format has this ending ($known)" run -o x.svg touch ran
WALLPROF_OUT=x.svg says 125 "WALLPROF_OUT=x.svg: no format has this ending ($known)" run touch ran
says 125 'the directory of nowhere/x.pb.gz: No such file or directory' run -o nowhere/x.pb.gz touch ran
WALLPROF_OUT=nowhere/x.pb.gz says 125 'the directory of nowhere/x.pb.gz' run touch ran
[ ! -e ran ] || complain 'the program was started'
says 2 "x.svg: no format has this ending ($known)" export there.pb.gz -o x.svg
says 2 'x.svg: no format has this ending' merge there.pb.gz -o x.svg
says 2 'x.svg: no format has this ending' recover there.pb.gz -o x.svg
says 2 'x.svg: no format has this ending' ctl 1 dump x.svg
rm there.pb.gz

# The directory is there at the start and gone at the end.
losing() { # OPTIONS OF wallprof run... : the program is a shell, which takes 0.3 s
    mkdir -p gone
    rm -f x*.html
    "$tool" run -o gone/x.html "$@" sh -c 'sleep 0.3; exec 2>&-; mv gone went; sleep 0.1' 2>"$TMP/err" || complain "losing: status $?"
    rm -rf went
    grep -qF "it is in $PWD/x.html instead" "$TMP/err" || complain "losing $*: $(cat "$TMP/err")"
    grep -qF "profile in $PWD/x.html -- open it in a browser" "$TMP/err" || complain "losing $*: $(cat "$TMP/err")"
    grep -q '</html>' x.html || complain "losing $*: there is no such page"
    [ -z "$(ls -A "$TMPDIR")" ] || complain "losing $*: left $(ls "$TMPDIR")"
}

losing --merge
losing --follow none
echo mine >x.html
mkdir gone
"$tool" run -o gone/x.html --merge sh -c 'mv gone went; sleep 0.2' 2>"$TMP/err"
[ "$(cat x.html)" = mine ] || complain 'a file of the user was replaced'
grep -q "it is in $PWD/x\.[0-9]*\.html instead" "$TMP/err" || complain "beside another file: $(cat "$TMP/err")"

# Nowhere: it stays in the store, and the line that is said writes it.
rm -rf x*.html went
mkdir gone
# shellcheck disable=SC2016 # the shell that runs it expands it
"$tool" run -o gone/y.html --merge sh -c 'mv gone went; mkdir y.html "$TMPDIR/y.html"; for d in . "$TMPDIR"; do mkdir $d/y.$$.html; done
    sleep 0.2' 2>"$TMP/err"
command=$(sed -n 's/.*write it with: wallprof \(recover.*\)/\1/p' "$TMP/err")
[ -n "$command" ] || complain "nowhere: $(cat "$TMP/err")"
# shellcheck disable=SC2086 # words of a command line
"$tool" ${command/FILE/saved.html} >"$TMP/out" 2>&1 || complain "wallprof $command: $(cat "$TMP/out")"
grep -q '</html>' saved.html || complain "not recovered by: wallprof $command"
exit "$bad"
