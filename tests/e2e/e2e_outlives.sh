#!/bin/bash
# Processes that go on when their run is over and has been gathered: each writes its own profile, takes nobody's name for
# it, and the last leaves nothing, also if it is killed. And what can be gathered is, whatever cannot.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/families.sh
. "$TESTS/lib/families.sh"

# Those of the program and of sleep. On a busy machine the shell lives for 0.1 s before it becomes setsid: then what it did
# until then may be there, too.
expect_begun() { # NAME
    [ "$(files_of "$1" | wc -l)" -ge 2 ] || complain "$1: not two profiles: $(ls "$TMP/$1")"
}

echo "== who goes on after the program has ended writes his own"
run outlives --out app.%p.pb.gz sh -c "setsid $work 500 until $TMP/go & sleep 0.3"
expect_begun outlives
touch "$TMP/go"
await_files outlives 3
expect_nothing_left outlives
rm "$TMP/go"
run replaced --out app.%p.pb.gz sh -c "setsid sh -c '$work 500 until $TMP/go; exec $work 200' & sleep 0.3"
expect_begun replaced
touch "$TMP/go"
await_files replaced 4
expect_nothing_left replaced
rm "$TMP/go"
run exits --out app.%p.pb.gz sh -c "setsid $work 500 until $TMP/go _exit & sleep 0.3"
expect_begun exits
touch "$TMP/go"
await_files exits 3
expect_nothing_left exits
rm "$TMP/go"

echo "== who is killed then has a profile as well; nobody waits for it, and nothing stays, also at a shutdown"
mkdir "$TMP/killed"
said=$(cd "$TMP/killed" && "$ROOT/scripts/wallprof-run" --merge --out all.pb.gz \
    sh -c "setsid $work 500 until $TMP/go >/dev/null 2>&1 & echo \$! >$TMP/pid; sleep 0.3" 2>&1)
kill -0 "$(cat "$TMP/pid")" || complain "killed: the wrapper's output ended with the process"
grep -F '1 process goes on' <<<"$said" >/dev/null || complain "killed: the wrapper says $said"
kill -TERM "$(pgrep -f "gather.* $TMPDIR/wallprof-run")"
kill -KILL "$(cat "$TMP/pid")"
cp "$TMP/killed/all.pb.gz" "$TMP/killed.kept"
await_files killed 2
expect_nothing_left killed
expect_said "$TMP/killed/all.$(cat "$TMP/pid").pb.gz" killed
cmp "$TMP/killed/all.pb.gz" "$TMP/killed.kept" || complain "killed: all.pb.gz is another's now"

echo "== without who gathers, each writes his own"
mkdir "$TMP/alone"
touch "$TMP/alone.err"
(cd "$TMP/alone" && exec "$ROOT/scripts/wallprof-run" "$work" 100 until "$TMP/go") >/dev/null 2>&1 &
wrapper=$!
until [ -n "$(find "$TMPDIR" -name '*.live.store')" ]; do
    kill -0 "$wrapper" || fail "alone: it has ended"
    sleep 0.1
done
kill -KILL "$wrapper"
wait "$wrapper" 2>/dev/null
touch "$TMP/go"
await_files alone 1
expect_nothing_left alone
rm "$TMP/go"

echo "== and not under a name that is taken"
run same --merge --out all.pb.gz sh -c "setsid $work 500 until $TMP/go & $work 300; :"
expect_files same 1
cp "$TMP/same/all.pb.gz" "$TMP/same.kept"
touch "$TMP/go"
await_files same 2
expect_nothing_left same
cmp "$TMP/same/all.pb.gz" "$TMP/same.kept" || complain "same: all.pb.gz is another's now"

echo "== all in the directory that it was started in"
mkdir -p "$TMP/places/below"
run places sh -c "cd below; $work 150; exec $work 150"
expect_files places 2
[ -z "$(ls "$TMP/places/below")" ] || complain "places: in another one are $(ls "$TMP/places/below")"
expect_nothing_left places

echo "== what is stopped has no more time"
run stopped --duration 100ms --out app.pb.gz "$work" 1500 _exit
expect_wall "$TMP/stopped/app.pb.gz" 50 1000
expect_nothing_left stopped

echo "== a recording that cannot be read keeps none of the others"
cat >"$TMP/damage" <<'SCRIPT'
for store in "$TMPDIR"/wallprof-run.*/*.live.store; do
    cp "$store" "${store%/*}/wallprof.1.0000beef.live.store"
    printf '\377' | dd of="${store%/*}/wallprof.1.0000beef.live.store" bs=1 seek=8 conv=notrunc
    break
done 2>"$0.err"
SCRIPT
run damaged --merge --out all.pb.gz sh -c "$work 200; sh $TMP/damage; $work 150; :"
expect_files damaged 1
[ "$(processes_in "$TMP/damaged/all.pb.gz")" -ge 3 ] || complain "damaged: only $(processes_in "$TMP/damaged/all.pb.gz") processes"
[ "$(find "$TMPDIR" -name '*.store' | wc -l)" -eq 1 ] || complain "damaged: there wait $(find "$TMPDIR" -type f)"
grep -F "waits in $TMPDIR/wallprof-run." "$TMP/damaged.err" >/dev/null || complain "damaged: it says $(cat "$TMP/damaged.err")"
rm -rf "${TMPDIR:?}"/*

echo "== intervals of what becomes another program are all there"
mkfifo "$TMP/never" # what a shell can wait at without another process
# Before the exec there are 4 files, or 5, and that of the exec; so the 8th is the second of what it became, or a later one.
# shellcheck disable=SC2016 # for that shell
run renumbered --interval-dump 200ms --out app.%p.pb.gz bash -c '
    until [ -e "app.$$.000004.pb.gz" ] || [ "$SECONDS" -ge 60 ]; do
        read -rt 0.1 <>"$1"
    done
    exec "$0" 100 until "app.$$.000008.pb.gz"' "$work" "$TMP/never"
for file in "$TMP"/renumbered/*.pb.gz; do
    echo "$file: $(comments_of "$file" | grep command:)"
done >"$TMP/renumbered.said"
[ "$(grep -c 'command: bash -c' "$TMP/renumbered.said")" -ge 4 ] || complain "of what it was before: $(cat "$TMP/renumbered.said")"
[ "$(grep -c "command: $work 100" "$TMP/renumbered.said")" -ge 2 ] || complain "of what it became: $(cat "$TMP/renumbered.said")"

echo "== intervals of a run take no more and more memory"
run intervals --interval-dump 100ms --interval-keep 2 --out app.pb.gz sh -c "sleep 1.5; grep -c /wallprof-run.*/run /proc/\$\$/maps >maps; :"
[ "$(cat "$TMP/intervals/maps")" -eq 1 ] || complain "the run's page is mapped $(cat "$TMP/intervals/maps") times"
expect_nothing_left intervals
exit "$bad"
