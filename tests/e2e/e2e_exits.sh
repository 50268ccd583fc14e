#!/bin/bash
# However a process ends, it prints what it would without us and has the same status; where the profiler sees the end
# there is a profile, and it is true of what ran to the end. See target_exits.c.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
ulimit -c 0
program=$TARGETS/target_exits

bounded_run() { # NAME COMMAND...
    local name=$1
    shift
    # The shell's own word on how it ended goes nowhere.
    { (timeout --kill-after=1 "$HANG_S" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"; echo $? >"$TMP/$name.status"); } 2>/dev/null
}

expect_same() { # WHAT NAME MODE
    local part
    for part in status out err; do
        # Of several that exit one may end the process before another has said its word, with us or without.
        case $3.$part.$(cat "$TMP/$2.out") in several-exit.out. | 'several-exit.out.first handler') continue ;; esac
        cmp -s "$TMP/$2.$part" "$TMP/bare-$3.$part" ||
            complain "$1: its $part is '$(cat "$TMP/$2.$part")', bare '$(cat "$TMP/bare-$3.$part")'"
    done
}

compare() { # MODE HAS_PROFILE VARIABLE=VALUE...
    local mode=$1 has_profile=$2 file=$TMP/$1.pb.gz
    shift 2
    rm -f "$file"
    bounded_run "$mode" env "$@" "LD_PRELOAD=$LIBRARY" "WALLPROF_OUT=$file" "$program" "$mode"
    expect_same "$mode, $*" "$mode" "$mode"
    [ "$has_profile" -eq 0 ] && return
    read_pprof check "$file" >"$TMP/checked" 2>&1 || complain "$mode, $*: no good profile: $(cat "$TMP/checked")"
    case $mode in
    returns | exits | thread-exits | main-leaves-thread-exits)
        # What runs at the very end is in it: threads of exit handlers, destructors.
        for function in finish_life destruct; do
            has_function "$file" "$function" || complain "$mode, $*: $function is not in the profile"
        done
        ;;
    esac
}

modes=$("$program" modes)
[ -n "$modes" ] || fail "there are no modes"
while read -r mode has_profile; do
    echo "== $mode"
    bounded_run "bare-$mode" "$program" "$mode"
    compare "$mode" "$has_profile" WALLPROF_HZ=1000
    compare "$mode" "$has_profile" WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_THREADS=16 WALLPROF_OVERHEAD=0
done <<<"$modes"
exit "$bad"
