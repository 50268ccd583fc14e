#!/bin/bash
# A recording that is started, stopped, dumped, suspended, forked and ended by several threads at once: the program ends as
# it would without us, the profile and every dump are whole, and the main thread has all the time that was recorded.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

export WALLPROF_OVERHEAD=off WALLPROF_HZ=1000
target=$TARGETS/target_transitions

# The main thread waits from the start to the end of the recording, so each span that is recorded is a span of its.
assert_conserved() { # FILE PID
    local thread duration
    thread=$(read_pprof threads "$1" | awk -v tid="$2" '$1 == tid { wall += $NF } END { printf "%.0f\n", wall }')
    duration=$("$PYTHON" -c 'import sys; sys.path.insert(0, sys.argv[1]); import pprof_read as r
print(r.Profile(sys.argv[2]).message.duration_nanos)' "$TESTS/judges" "$1")
    [ "$thread" = "$duration" ] || fail "$1: $thread ns of the main thread, $duration were recorded"
}

run() { # END [VARIABLE=VALUE...]
    local how=$1 out=$TMP/$1${2:+.interval}
    mkdir "$out"
    timeout "$HANG_S" env "${@:2}" WALLPROF_OUT="$out/app.%p.pb.gz" LD_PRELOAD="$LIBRARY" "$target" "$how" 20 "$out" >"$out/pid" 2>"$out/err" &
    wait $! || fail "$how: status $?: $(cat "$out/err")"
    assert_equal "what $how said" "$(cat "$out/err")" ''
}

assert_files() { # DIRECTORY: every file is whole
    local file count=0
    for file in "$1"/*.pb.gz; do
        read_pprof check "$file" || fail "$file breaks a rule of the format"
        count=$((count + 1))
    done
    [ "$count" -gt 1 ] || fail "$1: only $count files"
}

# exec leaves a profile of the time before it, if that is worth it.
for how in return exit _exit leave exec; do
    echo "== $how"
    run "$how"
    assert_files "$TMP/$how"
    case $how in return | exit | _exit | leave)
        profile=$TMP/$how/app.$(cat "$TMP/$how/pid").pb.gz
        check_profile "$profile"
        [ "$how" = leave ] || assert_conserved "$profile" "$(cat "$TMP/$how/pid")" # main ends before the last thread
        ;;
    esac
done
run return WALLPROF_INTERVAL_DUMP=100ms
assert_files "$TMP/return.interval"
