#!/bin/bash
# A process that ends in a signal handler while it holds a lock of the C library ends as without us: see target_locked_exits.c.
# Where the sampler does not need the lock, there is a profile.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the emulator's threads take part in setuid"
program=$TARGETS/target_locked_exits

expect() { # HOW MODE PROFILES COMMAND...
    local how=$1 mode=$2 profiles=$3 status file
    shift 3
    rm -rf "$TMP/profiles"
    mkdir "$TMP/profiles"
    # A name without %p: also a process that ends before its first tick writes its profile.
    WALLPROF_OUT=$TMP/profiles/out.pb.gz timeout --kill-after=1 "$HANG_S" "$@" "$program" "$mode" >"$TMP/out" 2>&1
    status=$?
    [ "$status" = 3 ] || complain "$mode, $how: status $status, not 3: $(cat "$TMP/out")"
    [ ! -s "$TMP/out" ] || complain "$mode, $how: it printed '$(cat "$TMP/out")'"
    for file in "$TMP/profiles"/*; do
        [ "$profiles" = 0 ] || (check_profile "$file") || complain "$mode, $how: its profile is not good"
    done
    [ "$(find "$TMP/profiles" -type f | wc -l)" -ge "$profiles" ] || complain "$mode, $how: $(ls "$TMP/profiles"), not $profiles profiles"
}

while read -r mode profiles; do
    echo "== $mode"
    expect bare "$mode" 0 env
    for hz in 20 1000; do
        expect "$hz Hz" "$mode" "$profiles" env "WALLPROF_HZ=$hz" "LD_PRELOAD=$LIBRARY"
    done
done <<END
main 1
child 1
iterate 0
END
exit "$bad"
