#!/bin/bash
# A run of several processes under wallprof-run: one store each while they record, afterwards one profile each or one of
# all, whoever ended how and when; and nothing else is left.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/families.sh
. "$TESTS/lib/families.sh"

echo "== one each"
run each sh -c "$work 300 & $work 200 crash; wait; $work 150 kill; $work 150 _exit; $work 150; :"
expect_files each 6
expect_nothing_left each
for file in "$TMP"/each/*.pb.gz; do
    check_profile "$file" || complain "$file breaks a rule"
    comments_of "$file"
done >"$TMP/each.said"
for text in 'ended: killed by signal 11 (SEGV)' 'ended: killed by signal 9 (KILL)' 'ended: ended by _exit(3)'; do
    [ "$(grep -c -F "$text" "$TMP/each.said")" -eq 1 ] || complain "not one profile says '$text': $(grep ended: "$TMP/each.said")"
done
expect_others_said each

echo "== the name that was asked for is the program's own"
run named --out app.pb.gz sh -c "$work 120; $work 120; :"
expect_files named 3
[ -f "$TMP/named/app.pb.gz" ] || complain "there is no app.pb.gz: $(ls "$TMP/named")"
expect_said "$TMP/named/app.pb.gz" 'command: sh -c'

echo "== what became another program has a profile of its own"
run became --out app.pb.gz sh -c "sleep 0.2; exec $work 150"
expect_files became 2
expect_said "$TMP/became/app.pb.gz" "command: $work 150"
[ "$(find "$TMP/became" -name 'app.*.dash.pb.gz' -o -name 'app.*.sh.pb.gz' -o -name 'app.*.bash.pb.gz' | wc -l)" -eq 1 ] ||
    complain "what the shell did until then is missing: $(ls "$TMP/became")"

# At that moment its recording may be about to begin: no half of one is left for a profile, and the run is still there.
echo "== what becomes another again and again"
run again --out app.pb.gz sh -c "$work 0 again 200; $work 150; :"
expect_files again 3
expect_nothing_left again
expect_others_said again

run slow --hz 1 --merge --out all.pb.gz bash -c "sleep 0.3; exec $work 300"
[ "$(ls "$TMP/slow")" = all.pb.gz ] || complain "before its first tick: there are $(ls "$TMP/slow")"
expect_nothing_left slow

echo "== what would have become another, and is killed"
run mistake --out app.pb.gz "$work" 150 mistake
expect_files mistake 1
expect_wall "$TMP/mistake/app.pb.gz" 200 "$took_ms"
expect_said "$TMP/mistake/app.pb.gz" 'killed by signal 9 (KILL)'
expect_nothing_left mistake

# The inner run's own tools are not recorded: the outer one would wait for what waits for it.
echo "== a run below a run"
run nested --out outer.pb.gz "$BUILD/wallprof" run --out inner.pb.gz "$work" 150
expect_files nested 2
expect_nothing_left nested
! grep -F 'on' "$TMP/nested.err" | grep -F 'process' || complain "nested: it says $(cat "$TMP/nested.err")"

echo "== what is recorded for a while only"
run while --out app.%p.pb.gz --duration 100ms sh -c "$work 200; $work 50; :"
expect_files while 3
expect_nothing_left while
expect_others_said while
run part --merge --out all.pb.gz --duration 100ms sh -c "$work 200; $work 50; :"
expect_files part 1
expect_nothing_left part
[ "$(processes_in "$TMP/part/all.pb.gz")" -eq 3 ] || complain "part: there are $(processes_in "$TMP/part/all.pb.gz") processes"

echo "== what cannot be done"
# It is said, and nothing is left of what was made for it.
for refused in '--merge --out x.store' '--merge --store off' '--merge --interval-dump 1s' '--merge --top --interval-dump 1s'; do
    # shellcheck disable=SC2086 # words
    run refused $refused "$work" 1
    assert_equal "wallprof-run $refused" "$? $(wc -l <"$TMP/refused.err")" '125 1'
    expect_nothing_left "wallprof-run $refused"
done

echo "== one of all"
run merged --merge --out all.pb.gz sh -c "$work 300 & $work 200 crash; wait; $work 250 kill; :"
expect_files merged 1
expect_nothing_left merged
expect_said "$TMP/merged/all.pb.gz" 'killed by signal 11 (SEGV)'
expect_said "$TMP/merged/all.pb.gz" 'killed by signal 9 (KILL)'
run_pprof -tags "$TMP/merged/all.pb.gz" >"$TMP/merged.tags" 2>/dev/null
grep -E ' work$' "$TMP/merged.tags" >/dev/null || complain "the process is no label: $(cat "$TMP/merged.tags")"
[ "$(processes_in "$TMP/merged/all.pb.gz")" -eq 4 ] || complain "not four processes by pid: $(cat "$TMP/merged.tags")"
# A sampler that had no CPU meanwhile has not seen them sleep, but then it says so. Of two that are killed the last stretch
# is not known; the third ends by itself.
wall_of_workers() { # FUNCTIONS
    run_pprof -top -unit=ns -sample_index=wall -tagfocus='process=^work$' -focus="$1" "$TMP/merged/all.pb.gz" 2>/dev/null |
        sed -n 's/^Showing nodes accounting for \([0-9]*\)ns.*/\1/p'
}
slept=$(wall_of_workers '^sleep_for$') known=$(wall_of_workers '^sleep_for$|^\[unsampled\]$|^\[not observed\]$')
[[ ${slept:-0} -gt 0 && ${known:-0} -ge 300000000 ]] ||
    complain "they have slept for ${slept:-no} ns, ${known:-no} with what was not seen, not for 300 ms"

echo "== without a store, each writes his own"
(ulimit -f 1000 && run bare --out app.%p.pb.gz sh -c "$work 150; exec $work 150")
expect_files bare 2
expect_nothing_left bare
grep -F 'profile in' "$TMP/bare.err" >/dev/null || complain "bare: it says $(cat "$TMP/bare.err")"

echo "== stopped in between, and killed"
run paused --out app.pb.gz "$work" 500 pause
expect_wall "$TMP/paused/app.pb.gz" 800 $((took_ms - 900))
expect_said "$TMP/paused/app.pb.gz" 'killed by signal 9 (KILL)'
expect_nothing_left paused
exit "$bad"
