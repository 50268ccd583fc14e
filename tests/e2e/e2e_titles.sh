#!/bin/bash
# Titles that processes write over their arguments name them in reports, also of one that was killed; a compiler is named by the
# file that it works on.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"
mkdir "$TMP/stores" "$TMP/work"
export TMPDIR=$TMP/stores
unset COLUMNS
cd "$TMP/work" || exit 1
running=
# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "$running" ] || kill "$running" 2>/dev/null
    [ ! -s "$TMP/pid" ] || kill -9 "$(cat "$TMP/pid")" 2>/dev/null
}

# The last child is killed when its title is in its store.
run_family() { # TITLE THAT ITS STORE HAS OPTIONS OF wallprof run...
    local title=$1 end=$((SECONDS + 60))
    shift
    rm -f "$TMP/pid"
    "$tool" run "$@" "$TARGETS/target_titles" "$TMP/pid" 2>"$TMP/err" &
    running=$!
    until [ -s "$TMP/pid" ] && grep -aqs "$title" "$TMPDIR"/wallprof-run.*/*."$(cat "$TMP/pid")".*.store; do
        [ "$SECONDS" -lt "$end" ] || fail "no store has '$title': $(cat "$TMP/err")"
        sleep 0.05
    done
    kill -9 "$(cat "$TMP/pid")"
    rm "$TMP/pid"
    wait $running || fail "target_titles: status $?: $(cat "$TMP/err")"
    running=
}

has() { # FILE TEXT
    grep -qE -e "$2" "$1" || complain "no '$2' in $(cat "$1")"
}

run_family 'ledger: client app' --merge -o all.pb.gz -o all.html
"$tool" top --idle --by process --width 0 all.pb.gz >report || fail "top"
has report '  ledger: compaction of table 7 \([0-9]*\)$'
has report '  ledger: walwriter \([0-9]*\)$'
has report '  ledger: client app 10\.0\.0\.7\(5432\) password=\*\*\* \([0-9]*\)$'
has report '  target_titles \([0-9]*\)$'
grep -q 'hunter2' report all.html && complain 'a secret of a title is told'
"$tool" top --idle --by process --width 0 --process ledger all.pb.gz >report || fail "top --process ledger"
assert_equal 'processes that are called ledger' "$(grep -c '  ledger: .* ([0-9]*)$' report)" 3
has all.html '"name":"ledger: walwriter \([0-9]*\): target_titles"'

# Each for itself.
run_family 'ledger: client app' -o '%p.store'
for store in *.store; do
    "$tool" top --idle --width 0 "$store" | head -n 1
done >names
has names '^ledger: walwriter( \(|$)'
has names '^ledger: client app '
has names '^[^ ]*/target_titles .*/pid$'
store=$(grep -al 'ledger: compaction' ./*.store)
"$tool" export "$store" -o one.pb.gz -o one.html
"$tool" top one.pb.gz | head -n 1 >report
has report '^ledger: compaction of table 7( \(|$)'
has one.html '"command":"ledger: compaction of table 7[ "]'
rm -f ./*.store
run_family target_titles --args program -o '%p.store'
grep -aq 'ledger:' ./*.store && complain 'a title is told where only the program may be'
rm -f ./*.store
run_family 'ledger: client app' -o '%p.json'
grep -hq '"processName":"ledger: walwriter"' ./*.json || complain 'Firefox does not know of titles'

# ---- compilers ----

if type -P gcc >/dev/null; then
    mkdir src
    for i in $(seq 300); do echo "int f$i(int x) { for (int i = 0; i < x; i++) x ^= i * $i; return x; }"; done >src/arena.c
    "$tool" run --merge -o gcc.pb.gz gcc -O2 -c src/arena.c -o arena.o 2>"$TMP/err" || fail "gcc: $(cat "$TMP/err")"
    "$tool" top --idle --by process --width 0 gcc.pb.gz >report
    has report '  cc1 src/arena.c \([0-9]*\)$'
    "$tool" merge --labels name -o names.pb.gz gcc.pb.gz && "$tool" top --by process names.pb.gz >report
fi
exit "$bad"
