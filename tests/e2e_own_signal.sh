#!/bin/bash
# A program's own use of a signal of ours: target_own_signal makes every call that has to do with signals, case by case,
# and must print the same with and without us; with the number that is sent, and those that stand by. And what takes the
# signal away past the C library is noticed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
program=$TARGETS/target_own_signal
cases=$("$program" list)

# All cases at once: they mostly wait.
run_cases() { # NUMBER FILE
    local name directory=$TMP/cases
    rm -rf "$directory"
    mkdir "$directory"
    for name in $cases; do
        timeout -k 5 60 "$program" "$name" "$1" >"$directory/$name" 2>&1 || echo "status $?" >>"$directory/$name" &
    done
    wait
    for name in $cases; do
        sed "s/^/$name: /" "$directory/$name"
    done | without_internal_signals >"$2"
}

own() { # NUMBER OUR-SIGNAL VARIABLE=VALUE...
    local number=$1 variable
    [ -s "$TMP/bare.$number" ] || run_cases "$number" "$TMP/bare.$number"
    (
        export WALLPROF_SIGNAL=$2 WALLPROF_HZ=1000 WALLPROF_OUT="$TMP/own.%p.pb.gz" LD_PRELOAD=$LIBRARY
        shift 2
        for variable; do
            export "${variable?}"
        done
        run_cases "$number" "$TMP/profiled"
    )
    diff "$TMP/bare.$number" "$TMP/profiled" >"$TMP/diff" ||
        fail "signal $number, ours $2, $3: $(cat "$TMP/diff")"
    echo "signal $number, ours $2, $3: $(wc -l <"$TMP/profiled") lines are the same"
}

own 27 PROF WALLPROF_OBSERVE=auto
own 27 PROF WALLPROF_OBSERVE=signal
own 64 PROF WALLPROF_OBSERVE=signal # the spare one
own 64 64 WALLPROF_OBSERVE=auto
own 64 64 WALLPROF_OBSERVE=signal
own 62 64 WALLPROF_OBSERVE=signal # the stand-in

# The profiler goes on with another signal, and says so.
taken_away() { # WHAT PATTERN
    local status=0
    WALLPROF_SIGNAL=PROF WALLPROF_HZ=1000 WALLPROF_LOG=info:$TMP/log profile_run "$TMP/raw.pb.gz" \
        "$TARGETS/target_raw_signal" "$1" 27 || status=$?
    assert_equal "$1: status" "$status" 0
    grep -qE "$2" "$TMP/log" || fail "$1: the log does not say '$2' but '$(cat "$TMP/log")'"
    check_profile "$TMP/raw.pb.gz" >/dev/null
    assert_function "$TMP/raw.pb.gz" spin_after
    rm "$TMP/log"
}

answers() {
    functions_of "$TMP/raw.pb.gz" | grep -F '[not responding]' && fail "$1: a thread does not respond"
}

for what in default ignore handler block; do
    taken_away "$what" 'signal 27 was taken away by a system call .* signal [0-9]+ now'
    [ "$what" = block ] || answers "$what"
done
taken_away fill 'blocks all signals past the C library'
