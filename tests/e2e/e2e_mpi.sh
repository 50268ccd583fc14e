#!/bin/bash
# Parallel runs under Open MPI's mpirun: one profile for each rank in one directory, with the rank in its name and in its
# labels, however the profiler was put before it; merged, they have the sums that they had.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need mpirun mpicc
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
tool=$BUILD/wallprof
program=$TMP/mpi_program
mpicc -g -O1 -o "$program" "$TESTS/targets/mpi_program.c" 2>"$TMP/mpicc.err" || skip "mpicc: $(head -n 1 "$TMP/mpicc.err")"

launch() { # RANKS ARGUMENTS OF mpirun...
    local ranks=$1
    shift
    mpirun --allow-run-as-root --oversubscribe -n "$ranks" "$@"
}

(cd "$TMP" && launch 2 "$program") >"$TMP/plain" 2>&1 || skip "mpirun does not work here: $(tail -n 1 "$TMP/plain")"

total() { # FILE
    "$tool" top --json --lines 1 "$1" | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["total"]["wall_ns"])'
}

# What a rank was in, in ns: of all samples with the function on their stacks.
time_in() { # FILE RANK FUNCTION
    local ns
    ns=$(run_pprof -top -unit=ns -sample_index=wall -nodecount=1000000 -nodefraction=0 -tagfocus="rank=$2:$2rank" \
        -focus="$3" "$1" 2>/dev/null | sed -n 's/.*Showing nodes accounting for \([0-9]*\).*/\1/p')
    echo "${ns:-0}"
}

check_ranks() { # NAME DIRECTORY RANKS
    local file files rank sum=0
    for ((rank = 0; rank < $3; rank++)); do
        mapfile -t files < <(find "$2" -name "*.$rank.*.pb.gz" ! -name '.*')
        [ "${#files[@]}" -eq 1 ] || fail "$1: ${#files[@]} profiles of rank $rank, not 1: $(ls -A "$2")"
        file=${files[0]}
        read_pprof check "$file" >/dev/null || complain "$1: $file breaks a rule of the format"
        run_pprof -tags "$file" 2>/dev/null | grep -A1 '^ rank:' | grep "(  100%): ${rank}\(rank\)\?$" >/dev/null ||
            complain "$1: rank $rank is not a label of all of $file: $(run_pprof -tags "$file" 2>/dev/null | grep -A2 rank:)"
        sum=$((sum + $(total "$file")))
    done
    assert_equal "$1: profiles" "$(find "$2" -name '*.pb.gz' | wc -l)" "$3"
    "$tool" merge "$2" -o "$TMP/$1.pb.gz" || fail "$1: merge ended with status $?"
    check_profile "$TMP/$1.pb.gz"
    assert_equal "$1: sum of all ranks" "$(total "$TMP/$1.pb.gz")" "$sum"
    [ "$(time_in "$TMP/$1.pb.gz" 0 work_of_rank_0)" -gt 0 ] || complain "$1: rank 0 was not seen at work"
    for ((rank = 1; rank < $3; rank++)); do
        [ "$(time_in "$TMP/$1.pb.gz" "$rank" 'MPI_Recv')" -gt 0 ] || complain "$1: rank $rank was not seen to wait"
        [ "$(time_in "$TMP/$1.pb.gz" "$rank" work_of_rank_0)" -eq 0 ] || complain "$1: rank $rank has rank 0's work"
    done
}

said() { # FILE RANKS
    grep '^rank' "$1" | sort >"$TMP/said"
    for ((rank = 0; rank < $2; rank++)); do
        echo "rank $rank of $2: 7"
    done | diff - "$TMP/said" || complain "the program says something else: $(cat "$1")"
}

is_long && all='2 8' || all=8
for ranks in $all; do
    mkdir "$TMP/preload.$ranks" "$TMP/wrapped.$ranks"
    # Without a name: each rank makes one of its own. Ranks are to be sampled often enough on any machine.
    (cd "$TMP/preload.$ranks" && launch "$ranks" -x LD_PRELOAD="$LIBRARY" -x WALLPROF_OVERHEAD=off "$program") \
        >"$TMP/out" 2>"$TMP/err" || fail "preloaded, $ranks ranks: status $?: $(tail -n 3 "$TMP/err")"
    said "$TMP/out" "$ranks"
    check_ranks "preload.$ranks" "$TMP/preload.$ranks" "$ranks"
    [ -n "$(find "$TMP/preload.$ranks" -name "wallprof.0.$(uname -n).*.pb.gz")" ] ||
        complain "the default name is not wallprof.RANK.HOST.PID: $(ls "$TMP/preload.$ranks")"
    launch "$ranks" "$ROOT/scripts/wallprof-run" --overhead off --out "$TMP/wrapped.$ranks/app.%r.x.pb.gz" "$program" \
        >"$TMP/out" 2>"$TMP/err" || fail "wallprof-run, $ranks ranks: status $?: $(tail -n 3 "$TMP/err")"
    said "$TMP/out" "$ranks"
    # mpirun may pass on two of them as one line.
    assert_equal "messages of wallprof-run" \
        "$(grep -o "wallprof: profile in $TMP/wrapped.$ranks/app.[0-9]*.x.pb.gz -- " "$TMP/err" | sort -u | wc -l)" "$ranks"
    check_ranks "wrapped.$ranks" "$TMP/wrapped.$ranks" "$ranks"
done

# mpirun itself, and all that it starts.
mkdir "$TMP/around"
(cd "$TMP/around" && "$ROOT/scripts/wallprof-run" --out 'a.%n.%r.%p.store' \
    mpirun --allow-run-as-root --oversubscribe -n 2 "$program") >"$TMP/out" 2>"$TMP/err" ||
    fail "wallprof-run mpirun: status $?: $(tail -n 3 "$TMP/err")"
said "$TMP/out" 2
for rank in 0 1; do
    [ -n "$(find "$TMP/around" -name "a.mpi_program.$rank.*.store")" ] || complain "no rank $rank: $(ls "$TMP/around")"
done
"$tool" merge "$TMP/around" -o "$TMP/around.pb.gz" || complain "merging mpirun and its ranks: status $?"
run_pprof -tags "$TMP/around.pb.gz" 2>/dev/null | grep ': mpi_program$' >/dev/null || complain "mpi_program is no process of it"
exit $bad
