#!/bin/bash
# Merging recordings of real programs: pprof's own merge is the judge of all sums, whatever the files were; what cannot be
# read is named and left out; and memory does not grow with the number of files.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
mkdir "$TMP/parts"
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"

expect() { # STATUS ARGUMENTS OF wallprof...
    local wanted=$1 status
    shift
    "$tool" "$@" >"$TMP/stdout" 2>"$TMP/stderr"
    status=$?
    [ "$status" = "$wanted" ] || complain "wallprof $*: status $status, not $wanted: $(cat "$TMP/stderr")"
}

# NAME FLAT CUM of all functions, in ns.
rows() { # METRIC FILE OPTIONS...
    local metric=$1 file=$2
    shift 2
    run_pprof -top -unit=ns -sample_index="$metric" -nodecount=1000000 -nodefraction=0 -edgefraction=0 "$@" "$file" \
        2>/dev/null | awk 'rows { flat = $1; cum = $4; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "")
                print $0, flat, cum }
            $1 == "flat" { rows = 1 }' | sort
}

assert_rows() { # WHAT FILE OPTIONS... : as in the file of pprof's own merge, with the same OPTIONS
    local metric what=$1 file=$2
    shift 2
    for metric in samples cpu offcpu wall; do
        rows "$metric" "$file" "$@" >"$TMP/rows"
        [ -s "$TMP/rows" ] || fail "$what: there is no row of $metric"
        rows "$metric" "$TMP/oracle.pb.gz" "$@" | diff - "$TMP/rows" >"$TMP/diff" ||
            complain "$what: $metric differs from pprof's merge: $(head -n 5 "$TMP/diff")"
    done
}

# ---- three processes of two programs, each as a store and as a profile ----

for i in 1 2; do
    profile_run "$TMP/parts/$i.pb.gz,$TMP/parts/$i.store" "$TARGETS/target_truth" 1 "$i" >/dev/null || fail "target_truth"
done
profile_run "$TMP/parts/3.pb.gz,$TMP/parts/3.store" "$TARGETS/target_calls" >/dev/null 2>&1
[ -s "$TMP/parts/3.store" ] || fail "target_calls left no store"
run_pprof -proto -output="$TMP/oracle.pb.gz" "$TMP"/parts/?.pb.gz >/dev/null 2>&1 || fail "pprof cannot merge its files"

expect 0 merge -v "$TMP"/parts/?.store -o "$TMP/stores.pb.gz" -o "$TMP/stores.html"
assert_equal "merge -v" "$(head -n 1 "$TMP/stdout")" "merged: 3 recordings, 3 processes told apart"
expect 0 merge "$TMP"/parts/?.pb.gz -o "$TMP/profiles.pb.gz"
expect 0 merge "$TMP/parts/1.store" "$TMP/parts/2.pb.gz" "$TMP/parts/3.store" -o "$TMP/mixed.pb.gz"
expect 0 merge "$TMP/parts/1.store" "$TMP/parts/2.pb.gz" -o "$TMP/two.pb.gz"
expect 0 merge "$TMP/two.pb.gz" "$TMP/parts/3.store" -o "$TMP/again.pb.gz"
printf '%s\n' "$TMP"/parts/?.store >"$TMP/list"
expect 0 merge --files-from "$TMP/list" -o "$TMP/listed.pb.gz"
for file in stores profiles mixed again listed; do
    check_profile "$TMP/$file.pb.gz"
    assert_rows "$file" "$TMP/$file.pb.gz"
    assert_rows "$file, one thread name" "$TMP/$file.pb.gz" -tagfocus=thread=burst-0
    expect 0 export "$TMP/$file.pb.gz" -o "$TMP/exported.pb.gz"
    cmp "$TMP/$file.pb.gz" "$TMP/exported.pb.gz" || complain "$file: written again it is another file"
done

# Each process has what it had.
for i in 1 2 3; do
    pid=$(run_pprof -comments "$TMP/parts/$i.pb.gz" 2>/dev/null | sed -n 's/^process: .*, pid //p')
    [ -n "$pid" ] || fail "$i.pb.gz does not say of which process it is"
    for metric in cpu wall; do
        rows "$metric" "$TMP/stores.pb.gz" -tagfocus="pid=$pid:${pid}pid" | grep -v ' 0 *0$' >"$TMP/rows"
        rows "$metric" "$TMP/parts/$i.pb.gz" | grep -v ' 0 *0$' | diff - "$TMP/rows" >"$TMP/diff" ||
            complain "process $pid: $metric differs: $(head -n 5 "$TMP/diff")"
    done
done
run_pprof -top -tagfocus=process=target_truth "$TMP/stores.pb.gz" >"$TMP/truth" 2>&1
grep -q 'Showing nodes accounting for [1-9]' "$TMP/truth" || complain "-tagfocus=process finds nothing: $(cat "$TMP/truth")"

# ---- files that cannot be read ----

head -c 5000 "$TMP/parts/1.store" >"$TMP/cut.store"
expect 1 merge "$TMP/parts/1.store" "$TMP/cut.store" "$TMP/nothing.store" "$TMP/parts/2.store" -o "$TMP/left.pb.gz"
grep -q "cut.store: it is cut short" "$TMP/stderr" || complain "a file that is cut is not named: $(cat "$TMP/stderr")"
grep -q "nothing.store: No such file" "$TMP/stderr" || complain "a missing file is not named: $(cat "$TMP/stderr")"
check_profile "$TMP/left.pb.gz"
run_pprof -comments "$TMP/left.pb.gz" 2>/dev/null | grep "^left out: .*cut.store: it is cut short" >/dev/null ||
    complain "the merged profile does not say what it lacks"
expect 1 merge --strict "$TMP/parts/1.store" "$TMP/cut.store" -o "$TMP/strict.pb.gz"
[ ! -e "$TMP/strict.pb.gz" ] || complain "--strict writes a file all the same"
expect 1 merge "$TMP/cut.store" -o "$TMP/none.pb.gz"
[ ! -e "$TMP/none.pb.gz" ] || complain "of nothing a file is made"
expect 2 merge "$TMP/parts/1.store"
expect 2 merge -o "$TMP/x.pb.gz"
expect 2 merge "$TMP/parts/1.store" -o "$TMP/x.store"
expect 1 export "$TMP/stores.pb.gz" -o "$TMP/x.store"
grep -q 'a store is of one process' "$TMP/stderr" || complain "a store of several is not refused: $(cat "$TMP/stderr")"
[ ! -e "$TMP/x.store" ] || complain "a store of several processes was written"
expect 2 merge --labels some "$TMP/parts/1.store" -o "$TMP/x.pb.gz"

# ---- many files ----

peak_kib() { # ARGUMENTS OF wallprof...
    "$PYTHON" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$tool" "$@"
}

# The same program 10 and 1,000 times, by links: without ids the result is the same size, and so is the memory.
mkdir "$TMP/few" "$TMP/many"
for ((i = 0; i < 1000; i++)); do
    echo "$TMP/many/$i.store"
done >"$TMP/names"
xargs -n 1 ln "$TMP/parts/1.store" <"$TMP/names" || fail "no links can be made"
for ((i = 0; i < 10; i++)); do
    ln "$TMP/parts/1.store" "$TMP/few/$i.store"
done
few=$(peak_kib merge --labels name "$TMP/few" -o "$TMP/few.pb.gz") || fail "merging 10 files"
many=$(peak_kib merge --labels name "$TMP/many" -o "$TMP/many/merged.pb.gz") || fail "merging 1,000 files"
echo "10 files: $few KiB; 1,000 files: $many KiB"
[ "$many" -lt $((few + 2048)) ] || complain "1,000 files take $many KiB, and 10 take $few"
total() { # FILE
    "$tool" top --json --lines 1 "$1" | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["total"]["wall_ns"])'
}
assert_equal "the sum of 1,000" "$(total "$TMP/many/merged.pb.gz")" "$(($(total "$TMP/parts/1.store") * 1000))"

# What a merge wrote is none of its parts the next time.
expect 0 merge -v --labels name "$TMP/many" -o "$TMP/many/merged.pb.gz"
assert_equal "merge of a directory with the merged file" "$(head -n 1 "$TMP/stdout")" \
    "merged: 1000 recordings, 1 processes told apart"
exit $bad
