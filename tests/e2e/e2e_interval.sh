#!/bin/bash
# Continuous mode: a profile for each interval, complete, whose times add up to the whole; old ones go, memory stays.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

export WALLPROF_OVERHEAD=off
target=$TARGETS/target_control

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "${program-}" ] || kill -KILL "$program" 2>/dev/null
}

until_there() { # FILE
    local end=$((SECONDS + 30))
    until [ -e "$1" ]; do
        [ "$SECONDS" -lt "$end" ] || fail "no ${1##*/} has come: $(ls "${1%/*}")"
        sleep 0.02
    done
}

numbered() { # DIRECTORY
    find "$TMP/$1" -name '*.pb.gz' -printf '%f\n' | LC_ALL=C sort
}

# Each keeps to the format, and lasts exactly as long as its main thread was recorded.
judge_all() { # DIRECTORY ; the sums, by thread, in $TMP/sums
    local file
    for file in "$TMP/$1"/*.pb.gz; do
        read_pprof check "$file" || fail "$file breaks a rule of the format"
    done
    "$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/$1"/*.pb.gz >"$TMP/sums" || fail "$(cat "$TMP/sums")"
    cat "$TMP/sums"
}

# ---- the parts and the whole ----

# The program says what each of its threads has used; what the files have of it is that, but for what a thread does before it
# registers and after it has left.
mkdir "$TMP/parts"
status=0
since=${EPOCHREALTIME/[.,]/}
WALLPROF_INTERVAL_DUMP=200ms WALLPROF_INTERVAL_KEEP=0 WALLPROF_LOG=info:$TMP/log profile_run "$TMP/parts/app.pb.gz" "$target" \
    crowd=2000 >"$TMP/said" 2>"$TMP/err" || status=$?
lasted_us=$((${EPOCHREALTIME/[.,]/} - since))
assert_equal "status, and stderr" "$status $(cat "$TMP/err")" "0 "
numbered parts | tr '\n' ' '
[ "$(numbered parts | wc -l)" -ge 5 ] || fail 'too few files'
assert_equal 'the first' "$(numbered parts | head -n 1)" app.000001.pb.gz
assert_equal 'the last, by its number' "$(numbered parts | tail -n 1)" "$(printf 'app.%06d.pb.gz' "$(numbered parts | wc -l)")"
assert_equal 'what the log says' "$(grep -c 'profile written to' "$TMP/log")" "$(numbered parts | wc -l)"
judge_all parts
awk '
    FNR == NR { wall[$1] = $2; cpu[$1] = $3; next }
    $1 == "thread" {
        count++
        said_wall = $3; said_cpu = $4
        # In ns: nothing is missing. What is more is of the way to the first and from the last statement, and of main when it
        # waits for the others; no thread lives for longer than the run. Threads of one name may exchange CPU time.
        all_cpu += cpu[$2]; all_said_cpu += said_cpu
        if (wall[$2] < said_wall || wall[$2] > 1000 * lasted_us) {
            print "thread " $2 ": " wall[$2] " ns of wall time in all files, it says " said_wall
            bad = 1
        }
    }
    END {
        if (all_cpu < all_said_cpu || all_cpu > all_said_cpu + 300e6) {
            print all_cpu " ns of CPU time in all files, they say " all_said_cpu
            bad = 1
        }
    }
    END { exit bad || count != 6 }' "$TMP/sums" lasted_us="$lasted_us" "$TMP/said" || fail 'the parts are not the whole'

# Several outputs, each numbered, and a store for what only the tool writes; those of forked processes have their own.
mkdir "$TMP/more"
WALLPROF_INTERVAL_DUMP=300ms WALLPROF_OUT=$TMP/more/a.pb.gz,$TMP/more/b.folded LD_PRELOAD=$LIBRARY "$target" \
    forked=2000 >"$TMP/said" || fail "more: status $?"
child=$(awk '$1 == "child" { print $2 }' "$TMP/said")
for ((i = 0; i < 100; i++)); do
    [ -d "/proc/$child" ] || break
    sleep 0.1
done
for file in a.000001.pb.gz a.000002.pb.gz b.000001.folded.store b.000002.folded.store "a.$child.000001.pb.gz" "b.$child.000002.folded.store"; do
    [ -s "$TMP/more/$file" ] || fail "no $file: $(ls "$TMP/more")"
done
for file in "$TMP"/more/b.00000?.folded.store; do
    "$BUILD/wallprof" export "$file" -o "${file%.store}" || fail "$file cannot be exported"
done
# A machine that is busy elsewhere may leave out one.
[ "$(grep -l work_during "$TMP"/more/b.00000?.folded | wc -l)" -ge 2 ] ||
    fail "intervals without their function: $(grep . "$TMP"/more/b.*)"

# ---- old ones go ----

# Only what this process has written: a file of that name that is another's stays. No run is as long as that number.
mkdir "$TMP/kept"
: >"$TMP/kept/app.900000.pb.gz"
WALLPROF_INTERVAL_DUMP=100ms WALLPROF_INTERVAL_KEEP=10 LD_PRELOAD=$LIBRARY WALLPROF_OUT=$TMP/kept/app.pb.gz "$target" \
    active during=4000 >"$TMP/said" &
program=$!
until_there "$TMP/kept/app.000002.pb.gz"
cp "$TMP/kept/app.000002.pb.gz" "$TMP/mine" || fail 'kept: the second was there for a moment only'
mv "$TMP/mine" "$TMP/kept/app.000002.pb.gz" || fail 'kept: nothing can be put there'
wait "$program" || fail "kept: status $?"
program=
files=$(numbered kept)
echo "$files" | tr '\n' ' '
assert_equal 'files that are kept' "$(wc -l <<<"$files")" 12
grep -qx app.900000.pb.gz <<<"$files" || fail "a file that it has not written is gone"
grep -qx app.000001.pb.gz <<<"$files" && fail 'the first is still there'

# ---- stopped in between ----

# An interval is one of recording: while it is stopped none ends. On a busy machine the work lasts for longer than it should,
# so there may be as many files as there are intervals in what was recorded.
mkdir "$TMP/stopped"
WALLPROF_INTERVAL_DUMP=600ms WALLPROF_INTERVAL_KEEP=0 profile_run "$TMP/stopped/app.pb.gz" "$target" before=200 stop sleep=1500 start during=200 >"$TMP/said" || fail stopped
judge_all stopped
awk -v files="$(numbered stopped | wc -l)" '{ exit files < 1 || files > $2 / 600e6 + 1 }' "$TMP/sums" ||
    fail "not as many files as were recorded: $(numbered stopped | tr '\n' ' ')"
for file in "$TMP"/stopped/*.pb.gz; do
    functions_of "$file"
done >"$TMP/functions"
for function in work_before work_during; do
    grep -qx "$function" "$TMP/functions" || fail "stopped: $function is in no file"
done

# ---- killed ----

# The interval that had begun is in its store, and gets its number.
next_number() { # DIRECTORY
    printf 'app.%06d.pb.gz' $(($(numbered "$1" | wc -l) + 1))
}

kill_and_recover() { # what is recovered in $expected
    rm -rf "$TMP/killed"
    mkdir "$TMP/killed"
    WALLPROF_INTERVAL_DUMP=400ms WALLPROF_STORE=auto LD_PRELOAD=$LIBRARY WALLPROF_OUT=$TMP/killed/app.pb.gz "$target" active during=60000 >"$TMP/said" &
    program=$!
    until_there "$TMP/killed/app.000002.pb.gz"
    sleep 0.2
    kill -KILL "$program"
    wait "$program"
    program=
    expected=$(next_number killed)
    find "$TMP/killed" -name '*.store'
    "$BUILD/wallprof" recover "$TMP/killed" || fail 'killed: nothing is recovered'
    assert_equal 'the last of one that was killed' "$(numbered killed | tail -n 1)" "$expected"
    judge_all killed
}

# Where the machine stood still, the next interval may have just begun when it is killed.
for _ in 1 2 3; do
    kill_and_recover
    ! has_function "$TMP/killed/$expected" work_during || break
done
assert_function "$TMP/killed/$expected" work_during

mkdir "$TMP/ended"
WALLPROF_INTERVAL_DUMP=200ms WALLPROF_STORE=auto profile_run "$TMP/ended/app.pb.gz" "$target" during=700 >"$TMP/said" || fail ended
judge_all ended
assert_equal 'what is left of one that has ended' "$(find "$TMP/ended" -type f ! -name 'app.*.pb.gz')" ''

for end in 'exit 3' 'kill -KILL $$'; do
    mkdir "$TMP/run" "$TMP/run.stores"
    TMPDIR=$TMP/run.stores "$ROOT/scripts/wallprof-run" --interval-dump 300ms --out "$TMP/run/app.pb.gz" \
        sh -c "sleep 2.5; $end" 2>"$TMP/err"
    echo "$end: $(cat "$TMP/err")"
    judge_all run
    last=$(numbered run | tail -n 1)
    grep -qF "$(numbered run | wc -l) profiles, the last in $TMP/run/$last" "$TMP/err" || complain "wallprof-run does not say where they are: $(cat "$TMP/err")"
    [ "$(numbered run | wc -l)" -ge 3 ] || complain 'too few intervals in a run'
    [ -z "$(ls -A "$TMP/run.stores")" ] || complain "this is left of a run: $(ls -AR "$TMP/run.stores")"
    rm -r "$TMP/run" "$TMP/run.stores"
done

# ---- memory stays ----

# New threads, new stacks and libraries that come and go, for a hundred intervals.
mkdir "$TMP/flat"
WALLPROF_INTERVAL_DUMP=100ms WALLPROF_INTERVAL_KEEP=2 WALLPROF_TIMELINE=1 profile_run "$TMP/flat/app.pb.gz" "$target" \
    churn=3000 rss churn=7000 rss >"$TMP/said" || fail "flat: status $?"
cat "$TMP/said"
numbered flat | tr '\n' ' '
[ "$(numbered flat | tail -n 1 | tr -dc 0-9 | sed 's/^0*//')" -ge 40 ] || fail 'too few intervals'
awk '$1 == "rss" && !first { first = $2; next } $1 == "rss" { exit !($2 < first + 4096) }' "$TMP/said" || fail 'memory grows from interval to interval'
exit "$bad"
