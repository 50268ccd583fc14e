#!/bin/bash
# Blocked threads are seen without being woken, and their time is exact: see target_blocked.c, target_kernel_waits.c
# and judge_blocked.py. Everything runs both ways: as it is by default, and by signal only.
#
# BLOCKED_SECONDS: for how long each case runs; 10 to 60 for runs by hand, the default is what there is time for, which
# is for the short form not every case.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own stacks are what the kernel knows of"

echo "BLOCKED_SECONDS=${BLOCKED_SECONDS-}"

# One profile: $TMP/NAME.pb.gz, and what the program said.
record() { # NAME auto|signal HZ THREADS PROGRAM ARGUMENTS...
    local name=$1 way=$2 hz=$3 threads=$4
    shift 4
    [ "$way" = auto ] || local -x WALLPROF_OBSERVE=$way
    WALLPROF_HZ=$hz WALLPROF_THREADS=$threads profile_run "$TMP/$name.pb.gz" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
    echo "$?" >"$TMP/$name.status"
}

judge() { # NAME MODE OPTIONS OF judge_blocked.py...
    local name=$1 mode=$2
    shift 2
    echo "== $name"
    [ "$(cat "$TMP/$name.status")" = 0 ] || complain "$name: exit status $(cat "$TMP/$name.status")"
    [ ! -s "$TMP/$name.err" ] || complain "$name: on stderr: $(cat "$TMP/$name.err")"
    (check_profile "$TMP/$name.pb.gz") || complain "$name: its profile is not good"
    read_pprof comments "$TMP/$name.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_blocked.py" "$mode" "$TMP/$name.pb.gz" "$TMP/$name.out" "$@" || complain "$name: not its truth"
}

# Both ways at once, which is for threads that mostly wait.
both() { # MODE HZ THREADS PROGRAM ARGUMENTS...
    local mode=$1 hz=$2 threads=$3 way
    shift 3
    for way in auto signal; do
        record "$mode-$hz-$way" "$way" "$hz" "$threads" "$@" &
    done
    wait
    judge "$mode-$hz-auto" "$mode"
    judge "$mode-$hz-signal" "$mode" --by-signal
}

alone() { # NAME MODE WAY HZ THREADS "OPTIONS" PROGRAM ARGUMENTS...
    local name=$1 mode=$2 way=$3 hz=$4 threads=$5 options
    read -ra options <<<"$6"
    shift 6
    record "$name" "$way" "$hz" "$threads" "$@"
    judge "$name" "$mode" "${options[@]}"
}

# All six threads of target_blocked long are in the kernel, where they sleep.
all_wait() { # PID
    [ "$(cat /proc/"$1"/task/*/stat 2>/dev/null | grep -c '(long-[0-9]*) S')" -eq 6 ]
}

until_all_wait() { # PID
    local end=$((SECONDS + 30))
    until all_wait "$1"; do
        [ "$SECONDS" -lt "$end" ] || { complain "the threads of $1 do not wait" && return; }
        sleep 0.05
    done
}

# The whole process stands still three times, by job control; the waits are in one call before and after. They are so
# long that none ends meanwhile, however late this shell is: what is missed at a call's ends is missed indeed.
stop_and_go() { # SECONDS
    local way stopped_us=0 since pids=()
    local -x WALLPROF_HZ=100 WALLPROF_THREADS=64
    for way in auto signal; do
        [ "$way" = auto ] || local -x WALLPROF_OBSERVE=$way
        # Not by a function: $! is the program itself.
        WALLPROF_OUT=$TMP/stopped-$way.pb.gz LD_PRELOAD=$LIBRARY "$TARGETS/target_blocked" long "$1" \
            >"$TMP/stopped-$way.out" 2>"$TMP/stopped-$way.err" &
        pids+=($!)
    done
    until_all_wait "${pids[0]}"
    until_all_wait "${pids[1]}"
    sleep 0.3
    for _ in 1 2 3; do
        kill -STOP "${pids[@]}"
        since=${EPOCHREALTIME/[.,]/}
        sleep 0.3
        stopped_us=$((stopped_us + ${EPOCHREALTIME/[.,]/} - since))
        kill -CONT "${pids[@]}"
        sleep 0.3
    done
    wait "${pids[0]}"
    echo "$?" >"$TMP/stopped-auto.status"
    wait "${pids[1]}"
    echo "$?" >"$TMP/stopped-signal.status"
    judge stopped-auto long --stops=3x$((stopped_us * 1000 / 3))
    judge stopped-signal long --stops=3x$((stopped_us * 1000 / 3)) --by-signal
}

# As daemons do, which the kernel then lets read less of themselves than before.
as_nobody() { # SECONDS
    if [ "$(id -u)" -ne 0 ]; then
        leave_out as-nobody "only root can become somebody else"
        return
    fi
    chmod 711 "$TMP"
    mkdir -m 777 "$TMP/nobody"
    for way in auto signal; do
        record "nobody/$way" "$way" 100 64 "$TARGETS/target_blocked" as-nobody long "$1" &
    done
    wait
    judge nobody/auto long
    judge nobody/signal long --by-signal
}

# The code of whole distributions is built so: its frames are found by a register that the kernel does not tell.
frame_pointers() { # SECONDS
    "${CC:-cc}" -std=gnu11 -O2 -g -fno-omit-frame-pointer -D_GNU_SOURCE -o "$TMP/target_blocked_fp" \
        "$TESTS/targets/target_blocked.c" -pthread || fail "cc does not work"
    alone frame-pointers wakeups auto 1000 256 "--wake-ups=0.01 --busy=0.03" "$TMP/target_blocked_fp" wakeups "$1"
}

blocked=$TARGETS/target_blocked
# In a long run eight threads tell enough, in a short one it takes more.
both alternate 100 64 "$blocked" alternate "${BLOCKED_SECONDS:-6}" "$((${BLOCKED_SECONDS:-6} < 20 ? 24 : 8))"
! is_long || both alternate 1000 8 "$blocked" alternate "${BLOCKED_SECONDS:-6}" 8
both long 100 64 "$blocked" long "${BLOCKED_SECONDS:-3}"
stop_and_go "${BLOCKED_SECONDS:-6}"
both deaf 100 64 "$blocked" deaf "${BLOCKED_SECONDS:-2}"
both kernel-waits 100 64 "$TARGETS/target_kernel_waits" "$((${BLOCKED_SECONDS:-2} * 2))"
alone wakeups wakeups auto 100 8 --wake-ups=0.001 "$blocked" wakeups "${BLOCKED_SECONDS:-4}"
! is_long || alone wakeups-dense wakeups auto 1000 256 "--wake-ups=0.001 --busy=0.03" "$blocked" wakeups "${BLOCKED_SECONDS:-4}"
! is_long || alone wakeups-signal wakeups signal 100 8 --by-signal "$blocked" wakeups "${BLOCKED_SECONDS:-2}"
frame_pointers "${BLOCKED_SECONDS:-3}"
alone churn-auto churn auto 10000 8 "" "$blocked" churn "${BLOCKED_SECONDS:-3}"
! is_long || alone churn-signal churn signal 10000 8 --by-signal "$blocked" churn "${BLOCKED_SECONDS:-3}"
as_nobody "${BLOCKED_SECONDS:-2}"
exit "$bad"
