#!/bin/bash
# The tool on the profile of a real program: what it writes again is the same, its reports agree with pprof's to the
# nanosecond, and what is no profile is refused with a reason.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
profile=$TMP/a.pb.gz
unset COLUMNS NO_COLOR BROWSER DISPLAY WAYLAND_DISPLAY
profile_run "$profile" "$TARGETS/target_truth" 1 7 >/dev/null || fail "target_truth ended with status $?"
check_profile "$profile"

run_tool() { # ARGUMENTS...
    "$tool" "$@" 2>"$TMP/stderr"
}

expect() { # STATUS ARGUMENTS...
    local wanted=$1 status
    shift
    run_tool "$@" >"$TMP/stdout"
    status=$?
    [ "$status" = "$wanted" ] || complain "wallprof $*: status $status, not $wanted: $(cat "$TMP/stderr")"
}

# ---- export ----

expect 0 export "$profile" -o "$TMP/again.pb.gz" -o "$TMP/again.pb"
assert_equal "stdout" "$(cat "$TMP/stdout")" ""
cmp "$profile" "$TMP/again.pb.gz" || complain "written again it is another file"
gzip -dc "$profile" | cmp - "$TMP/again.pb" || complain "written again without compression it is another file"
for report in raw top traces; do
    run_pprof "-$report" "$profile" >"$TMP/before" 2>/dev/null
    run_pprof "-$report" "$TMP/again.pb" >"$TMP/after" 2>/dev/null
    grep -v '^File: \|^Build ID: ' "$TMP/before" | diff - <(grep -v '^File: \|^Build ID: ' "$TMP/after") >"$TMP/diff" ||
        complain "pprof -$report differs: $(head -n 5 "$TMP/diff")"
done
run_tool export "$profile" -o - | cmp - "$profile" || complain "export to standard output"
run_tool export - -o - <"$TMP/again.pb.gz" | cmp - "$profile" || complain "export from standard input"
run_tool export "$profile" -f pprof -o /dev/stdout | cmp - "$profile" || complain "export to /dev/stdout"
expect 0 export -v "$profile" -o "$TMP/b.pb"
assert_equal "export -v" "$(cat "$TMP/stdout")" "written: $TMP/b.pb"
expect 1 export "$profile" -o /nonexistent/x.pb -o "$TMP/c.pb"
[ -s "$TMP/c.pb" ] || complain "one file that cannot be written keeps another from being"
expect 1 export "$profile" -f firefox -o "$TMP/firefox.json"
grep -q 'has no timeline' "$TMP/stderr" || complain "a timeline that is missing is not said: $(cat "$TMP/stderr")"
[ ! -e "$TMP/firefox.json" ] || complain "what cannot be written is there"
expect 1 export "$profile" -o /dev/full
grep -q 'No space left' "$TMP/stderr" || complain "a full disk is not said: $(cat "$TMP/stderr")"
expect 2 export "$profile" -o x -f nonsense
expect 2 export "$profile"
expect 2 export -o x

# ---- top ----

# NAME FLAT CUM of every row, in ns.
rows_of_pprof() { # METRIC FILE
    run_pprof -top -unit=ns -sample_index="$1" -nodecount=1000000 -nodefraction=0 -edgefraction=0 "$2" 2>/dev/null |
        awk 'rows { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, ""); sub(/ \(inline\)$/, "")
                gsub(/ns$/, "", flat); gsub(/ns$/, "", cum); print $0, flat, cum }
            $1 == "flat" { rows = 1 }' | sort
}

rows_of_top() { # METRIC FILE
    run_tool top --json --stacks --idle --by leaf "$2" | "$PYTHON" -c '
import collections, json, sys
metric = sys.argv[1]
report = json.load(sys.stdin)
threads, leaves = collections.Counter(), collections.Counter()
for stack in report["stacks"]:
    threads[stack["thread"]] += stack["values"][metric]
    leaves[report["frames"][stack["frames"][0]]["function"]] += stack["values"][metric]
assert [threads[i] for i in range(len(report["threads"]))] == [thread["total"][metric] for thread in report["threads"]]
assert all(leaves[row["name"]] == row["flat"][metric] for row in report["rows"])
assert report["row_count"] == len(report["rows"])
assert sum(row["flat"][metric] for row in report["rows"]) == report["total"][metric] == report["selected"][metric]
assert sum(thread["total"][metric] for thread in report["threads"]) == report["total"][metric]
for row in report["rows"]:
    if row["cum"][metric]:
        print(row["name"], row["flat"][metric], row["cum"][metric])' "$1_ns" | sort
}

for metric in wall cpu offcpu; do
    rows_of_pprof "$metric" "$profile" >"$TMP/theirs"
    rows_of_top "$metric" "$profile" >"$TMP/ours" || complain "top --json: $(cat "$TMP/stderr")"
    [ "$(wc -l <"$TMP/ours")" -ge 20 ] || complain "top --json has few rows of $metric: $(wc -l <"$TMP/ours")"
    diff "$TMP/theirs" "$TMP/ours" >"$TMP/diff" || complain "top and pprof -top differ in $metric: $(head -n 5 "$TMP/diff")"
done
first=$(run_pprof -top -nodecount=1 "$profile" 2>/dev/null | tail -n 1 | awk '{ print $NF }')
expect 0 top --width 0 --lines 1 --by leaf --idle "$profile"
grep -A 1 'FUNCTION$' "$TMP/stdout" | tail -n 1 | grep -F "  $first" >/dev/null || complain "top does not begin with $first"
run_tool top "$profile" | "$PYTHON" -c 'import sys; [print(line, end="") for line in open(0, encoding="utf-8") if len(line) > 81]' |
    grep . && complain "top has lines of more than 80 columns"
COLUMNS=100 run_tool top "$profile" | LC_ALL=C.UTF-8 awk 'length($0) > 80' | grep . >/dev/null || complain "COLUMNS is not honoured"
run_tool top "$profile" | grep $'\033' >/dev/null && complain "colour where there is no terminal"
run_tool top --color=always "$profile" | grep $'\033' >/dev/null || complain "no colour where it is asked for"
on_terminal() { # COLUMNS; prints what top says there
    "$PYTHON" - "$1" "$tool" top "$profile" <<'END'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[2], sys.argv[2:])
try:
    while data := os.read(terminal, 65536):
        os.write(1, data)
except OSError:
    pass
END
}
on_terminal 120 | tr -d '\r' >"$TMP/terminal"
grep -q $'\033' "$TMP/terminal" || complain "no colour on a terminal"
LC_ALL=C.UTF-8 awk 'length($0) > 80' "$TMP/terminal" | grep . >/dev/null || complain "a terminal's width is not used"
NO_COLOR=1 on_terminal 120 | grep $'\033' >/dev/null && complain "NO_COLOR is not honoured"
for by in function leaf line file module thread; do
    expect 0 top --by "$by" --sort cpu --cum "$profile"
    [ "$by" = leaf ] && by=function
    grep -q "  ${by^^}\$" "$TMP/stdout" || complain "top --by $by has no such table"
done
expect 0 top --focus 'level_0[12]' --ignore 'no_such' --thread '*' "$profile"
expect 2 top --focus '(' "$profile"
expect 2 top --sort nonsense "$profile"
expect 2 top --lines x "$profile"
expect 2 top --stacks "$profile"
expect 2 top

# ---- diff ----

expect 0 diff "$profile" "$profile"
assert_equal "diff of a file with itself" "$(grep -c '^no difference$' "$TMP/stdout")" 2
run_tool diff --json "$profile" "$TMP/again.pb" | "$PYTHON" -c '
import json, sys
diff = json.load(sys.stdin)
assert diff["row_count"] == len(diff["rows"]) > 20 and diff["threads"]
for row in diff["rows"] + diff["threads"]:
    assert row["presence"] == "both", row
    for kind in "flat", "cum":
        assert row[kind]["before"] == row[kind]["after"] and not any(row[kind]["change"].values()), row' ||
    complain "diff --json of equal profiles: $(cat "$TMP/stderr")"
expect 2 diff "$profile"
expect 1 diff "$profile" /nonexistent

# ---- view ----

expect 0 view --print -o "$TMP/page.html" "$profile"
assert_equal "view --print" "$(cat "$TMP/stdout")" "$TMP/page.html"
assert_equal "mode of the page" "$(stat -c %a "$TMP/page.html")" 600
grep -qi '<!doctype html>' "$TMP/page.html" || complain "the page is no HTML"
expect 0 view --print "$TMP/page.html"
assert_equal "view of a page" "$(cat "$TMP/stdout")" "$TMP/page.html"
XDG_RUNTIME_DIR='' TMPDIR=$TMP expect 0 view "$profile"
page=$(cat "$TMP/stdout")
[[ $page == "$TMP"/wallprof-*/a.html && -s $page ]] || complain "view left no page in \$TMPDIR: $page"
expect 0 view --print -o "$TMP/both.html" "$profile" "$profile"
for element in profile before; do
    grep -q "<script type=\"application/json\" id=\"$element\">" "$TMP/both.html" || complain "a comparison has no $element"
done
XDG_RUNTIME_DIR='' TMPDIR=$TMP expect 1 view "$TMP/missing.pb.gz" "$profile"
assert_equal "directories of pages" "$(find "$TMP" -maxdepth 1 -name 'wallprof-*' | wc -l)" 1
expect 2 view "$profile" "$TMP/page.html"
expect 2 view "$profile" "$profile" "$profile"
cat >"$TMP/browser" <<END
#!/bin/sh
printf "%s" "\$1" >$TMP/opened
END
chmod +x "$TMP/browser"
BROWSER=$TMP/browser expect 0 view "$TMP/page.html"
assert_equal "what the browser opened" "$(cat "$TMP/opened")" "$TMP/page.html"
BROWSER=/nonexistent expect 1 view "$TMP/page.html"
expect 1 view "$TMP/missing.html"

# ---- what is no profile ----

refused() { # FILE REASON
    local command
    for command in top view "export -o $TMP/refused.pb"; do
        # shellcheck disable=SC2086 # a command and its options
        expect 1 $command "$1"
        grep -q "^wallprof: $1: .*$2" "$TMP/stderr" || complain "wallprof $command $1: '$(cat "$TMP/stderr")', not '$2'"
    done
    [ ! -e "$TMP/refused.pb" ] || complain "something was written of $1"
}

refused "$TMP/missing" 'No such file'
refused "$TMP" 'Is a directory'
: >"$TMP/empty"
refused "$TMP/empty" 'empty'
refused "$0" 'no profile'
cp "$TMP/page.html" "$TMP/page" && refused "$TMP/page" 'no profile'
refused "$BUILD/libwallprof.so" 'no profile'
printf 'garbage' | gzip >"$TMP/garbage.gz" && refused "$TMP/garbage.gz" 'no profile'
# A sample type \e[31m: named, and not obeyed.
printf '\x32\x00\x32\x05\e[31m\x0a\x02\x08\x01' >"$TMP/escape" # string_table: "", that; sample_type: 1
refused "$TMP/escape" 'it measures ?\[31m, '
grep -q $'\033' "$TMP/stderr" && complain "an escape of a file reaches the terminal"
bytes=$(stat -c %s "$profile")
for ((cut = 0; cut < bytes; cut += bytes / 40 + 1)); do
    head -c "$cut" "$profile" >"$TMP/cut.pb.gz"
    expect 1 top "$TMP/cut.pb.gz"
    grep -q "^wallprof: $TMP/cut.pb.gz: it is" "$TMP/stderr" || complain "cut at $cut: $(cat "$TMP/stderr")"
done
bytes=$(stat -c %s "$TMP/again.pb")
for ((cut = 1; cut < bytes; cut += bytes / 40 + 1)); do
    head -c "$cut" "$TMP/again.pb" >"$TMP/cut.pb"
    run_tool top "$TMP/cut.pb" >/dev/null
    status=$?
    [ "$status" = 1 ] || complain "uncompressed, cut at $cut of $bytes: status $status: $(cat "$TMP/stderr")"
done

# ---- help ----

for command in '' top explain callers waits blame diff view export merge push mcp ctl recover gather; do
    # shellcheck disable=SC2086 # one command or none
    expect 0 $command --help
    [ "$(wc -l <"$TMP/stdout")" -le 24 ] || complain "wallprof $command --help does not fit a screen"
    awk 'length($0) > 80' "$TMP/stdout" | grep . && complain "wallprof $command --help is too wide"
    grep -q '^usage: wallprof' "$TMP/stdout" || complain "wallprof $command --help says no usage"
done
expect 2 nonsense
exit "$bad"
