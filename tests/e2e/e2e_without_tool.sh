#!/bin/bash
# The library writes pprof and stores. Where another format was asked for and the tool does not write it, a store is left, and
# one line says by which command it becomes what was asked for.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"

endings="callgrind folded html perfetto.json.gz json.gz"
mkdir "$TMP/bin"
ln -s "$BUILD/wallprof" "$TMP/bin/wallprof"
export WALLPROF_HZ=500

record() { # OUT PROGRAM ARGUMENTS... ; what it says on stderr in $TMP/err
    profile_run "$1" "${@:2}" >"$TMP/said" 2>"$TMP/err" || fail "$2: status $?: $(cat "$TMP/err")"
}

# Runs the commands that the messages name.
run_commands() { # HOW MANY
    sed -n 's/^wallprof: the recording is left as a store, .*; now run: //p' "$TMP/err" >"$TMP/commands"
    assert_equal "commands in: $(cat "$TMP/err")" "$(wc -l <"$TMP/commands")" "$1"
    assert_equal "lines on stderr" "$(wc -l <"$TMP/err")" "$1"
    (cd / && PATH=$TMP/bin:$PATH bash -e "$TMP/commands") || fail "a command fails: $(cat "$TMP/commands")"
}

is_there() { # FILE...
    local file
    for file in "$@"; do
        [ -s "$file" ] || fail "there is no $file: $(ls "${file%/*}")"
    done
}

# ---- what the library consists of ----

symbols=$("${NM:-nm}" "$LIBRARY" | awk '{ print $3 }') || fail "nm"
grep -qx enc_pprof_write <<<"$symbols" || fail "nm does not see what is in the library"
for symbol in enc_callgrind_write enc_folded_write enc_html_write enc_firefox_write enc_perfetto_write html_page_before json_begin_object; do
    ! grep -qx "$symbol" <<<"$symbols" || complain "the library has $symbol in it"
done
grep -qai '<!doctype html>' "$BUILD/wallprof" || fail "a page would not be found"
! grep -qai '<!doctype html>' "$LIBRARY" || complain "the library has the page of the HTML format in it"

# ---- the command makes what the tool would have written ----

# A tool that writes the files elsewhere, and then has not written them.
cat >"$TMP/tool" <<SOURCE
#!/bin/bash
cat >"$TMP/given.store"
for ending in $endings; do
    "$BUILD/wallprof" export "$TMP/given.store" -o "$TMP/tool.\$ending"
done
exit 1
SOURCE
chmod +x "$TMP/tool"
mkdir "$TMP/it's here"
asked=$TMP/it\'s\ here/x
out=''
for ending in $endings; do
    out=${out:+$out,}$asked.$ending
done
WALLPROF_TOOL=$TMP/tool record "$out" "$TARGETS/target_threads" kinds
for ending in $endings; do
    [ ! -e "$asked.$ending" ] || fail "x.$ending was written without the tool"
    cmp "$TMP/given.store" "$asked.$ending.store" || fail "x.$ending.store is not what the tool was given"
done
run_commands 5
for ending in $endings; do
    cmp "$TMP/tool.$ending" "$asked.$ending" || fail "x.$ending is not what the tool had written"
done

# A file of the list that the tool has written is not written again. Each file is noted under the name that it has got.
cat >"$TMP/half" <<SOURCE
#!/bin/bash
cat >"$TMP/given.store"
"$BUILD/wallprof" export --verbose "$TMP/given.store" -o "\${@:6:1}"
exit 1
SOURCE
chmod +x "$TMP/half"
mkdir "$TMP/half.d"
: >"$TMP/written"
WALLPROF_WRITTEN=$TMP/written WALLPROF_TOOL=$TMP/half record "$TMP/half.d/a.pb.gz,$TMP/half.d/b.folded,$TMP/half.d/c.folded,$TMP/half.d/d.pb.gz" /bin/sleep 0.3
assert_equal "files beside the one that the tool wrote" "$(cd "$TMP/half.d" && echo *)" 'a.pb.gz b.folded c.folded.store d.pb.gz'
assert_equal "what is noted" "$(sed "s|$TMP/half.d/||" "$TMP/written" | cut -d ' ' -f 2- | LC_ALL=C sort | tr '\n' ' ')" \
    'also b.folded also c.folded.store also d.pb.gz written a.pb.gz '
check_profile "$TMP/half.d/a.pb.gz"
run_commands 1
is_there "$TMP/half.d/c.folded"

# ---- for whatever reason the tool does not write it ----

without_tool() { # NAME VARIABLE=VALUE
    (export "${2?}" && record "$TMP/$1.folded,$TMP/$1.pb.gz,$TMP/callgrind.out.$1" "$TARGETS/target_control" during=300) || exit 1
    [ ! -e "$TMP/$1.folded" ] || fail "$1: the file is there"
    check_profile "$TMP/$1.pb.gz"
    run_commands 2
    is_there "$TMP/$1.folded" "$TMP/callgrind.out.$1"
    grep -q work_during "$TMP/$1.folded" || fail "$1: the file lacks what was recorded"
}

without_tool off WALLPROF_TOOL=off
without_tool missing WALLPROF_TOOL=/nonexistent/wallprof
without_tool failing WALLPROF_TOOL=/bin/false
without_tool strict WALLPROF_SECCOMP=strict

# A short recording is worth a start of the tool where nobody else writes the format.
record "$TMP/short.folded" /bin/sleep 0.02
is_there "$TMP/short.folded"
assert_equal "stderr of a short one" "$(cat "$TMP/err")" ''

# ---- nothing of anybody else's is overwritten ----

export WALLPROF_TOOL=off
echo mine >"$TMP/taken.folded.store"
ln -s /nonexistent "$TMP/taken.folded.2.store"
record "$TMP/taken.folded,$TMP/taken.folded.3.store" /bin/sleep 0.3
run_commands 1
is_there "$TMP/taken.folded"
assert_equal "a file that was there before" "$(cat "$TMP/taken.folded.store")" mine
[ -L "$TMP/taken.folded.2.store" ] || fail "a link that was there before is not"
record "$TMP/taken.folded" /bin/sleep 0.3
is_there "$TMP/taken.folded.3.store" "$TMP/taken.folded.4.store"

mkdir "$TMP/sealed"
chmod 555 "$TMP/sealed"
if [ "$(id -u)" -ne 0 ]; then
    record "$TMP/sealed/x.folded" /bin/sleep 0.3
    assert_equal "a directory that cannot be written to" "$(grep -c 'cannot be written' "$TMP/err")" 1
fi
unset WALLPROF_TOOL

# ---- what the library writes by itself although the tool is there ----

# By wallprof_dump: the second takes the place of the first, and the end is the tool's.
record "$TMP/end.folded" "$TARGETS/target_control" during=200 dump="$TMP/part.folded" during=200 dump="$TMP/part.folded"
assert_equal "what wallprof_dump returned" "$(grep -c '^dump 0$' "$TMP/said")" 2
is_there "$TMP/end.folded" "$TMP/part.folded.store"
[ ! -e "$TMP/part.folded.2.store" ] || fail "a dump has left the store of the one before"
run_commands 2
grep -q work_during "$TMP/part.folded" || fail "what was dumped has no work_during"

# A Firefox profile needs a timeline, which is not recorded for a file that nobody knew of.
record "$TMP/end.pb.gz" "$TARGETS/target_control" during=100 dump="$TMP/part.json"
assert_equal "a dump without a timeline" "$(grep dump "$TMP/said")" 'dump 61' # ENODATA
[ ! -e "$TMP/part.json.store" ] || fail "a store is left that cannot become a Firefox profile"

# Intervals: a store for each, and a line for the first.
mkdir "$TMP/intervals"
WALLPROF_INTERVAL_DUMP=100ms WALLPROF_INTERVAL_KEEP=2 record "$TMP/intervals/x.folded" "$TARGETS/target_control" during=1000
run_commands_of_first() {
    local stores=("$TMP"/intervals/x.*.folded.store)
    assert_equal "stores that are kept" "${#stores[@]}" 2
    sed -i "s|x\.000001\.|$(basename "${stores[0]}" | sed 's/folded.*//')|g" "$TMP/err"
    run_commands 1
}
run_commands_of_first
grep -q '^\[target_control ' "$TMP"/intervals/x.*.folded || fail "an interval has nothing of the program"

# Before an exec. When it fails after all, its file is gone in the end.
record "$TMP/exec.folded" "$PYTHON" -c 'import os, time; time.sleep(0.3); os.execv("/bin/sleep", ["sleep", "0.3"])'
is_there "$TMP/exec.folded" "$TMP"/exec.*.folded.store
run_commands 1
is_there "$TMP"/exec.*.*.folded
cat >"$TMP/failing.py" <<'SOURCE'
import os, time
time.sleep(0.3)
for path in "/nonexistent", "/etc/passwd":
    try:
        os.execv(path, ["x"])
    except OSError:
        pass
SOURCE
record "$TMP/failed.folded" "$PYTHON" "$TMP/failing.py"
assert_equal "files of an exec that failed" "$(cd "$TMP" && echo failed.*)" failed.folded

exit "$bad"
