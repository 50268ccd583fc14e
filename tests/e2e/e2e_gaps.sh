#!/bin/bash
# Stopped time is stopped time: by SIGSTOP, by gdb, by a frozen cgroup; see target_gaps.c and judge_gaps.py.
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
stops=2 cgroup=

futex=$(printf '#include <asm/unistd.h>\n__NR_futex\n' | "${CC:-cc}" -E - | tail -n 1)

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "$cgroup" ] || { thaw; rmdir "$cgroup"; } 2>/dev/null
}

ns() {
    echo $((${EPOCHREALTIME/[.,]/} * 1000))
}

begin() { # NAME
    WALLPROF_HZ=250 WALLPROF_OVERHEAD=0 WALLPROF_OUT=$TMP/$1.pb.gz LD_PRELOAD=$LIBRARY "$TARGETS/target_gaps" 2 >"$TMP/$1.truth" &
    program=$!
    stopped_ns=0
    observed_ns=0
}

# Waits until no thread of the program is in another state than these.
await_states() { # LETTERS
    until ! sed 's/.*) \(.\).*/\1/' "/proc/$program/task/"*/stat | grep -q "[^$1]"; do
        sleep 0.01
    done
}

# A stop in the midst of work: once the program has used so much CPU time.
await_work() { # MILLISECONDS
    local used_ns=0
    until [ "$used_ns" -ge "$((1000000 * $1))" ]; do
        sleep 0.01
        read -r used_ns _ <"/proc/$program/schedstat" || fail "the program is gone"
    done
}

finish() { # NAME waits|known
    wait "$program" || fail "$1: the program's status is $?"
    check_profile "$TMP/$1.pb.gz" --main="$TARGETS/target_gaps"
    echo "== $1"
    "$PYTHON" "$TESTS/judges/judge_gaps.py" "$TMP/$1.pb.gz" "$TMP/$1.truth" "$2" "$stops" "$stopped_ns" "$observed_ns" ||
        complain "$1"
}

# While the program stands still: a stop in the midst of the sampler's work says little, as its calls may wait too.
is_sampler_waiting() {
    local task call
    for task in "/proc/$program/task/"*; do
        grep -qx wallprof "$task/comm" || continue
        read -r call _ <"$task/syscall"
        [ "$call" = "$futex" ] && return
    done
    return 1
}

# A second of a stop that has begun.
pass_second() {
    local since_ns passed_ns is_waiting=0
    ! is_sampler_waiting || is_waiting=1
    since_ns=$(ns)
    sleep 1
    passed_ns=$(($(ns) - since_ns))
    stopped_ns=$((stopped_ns + passed_ns))
    observed_ns=$((observed_ns + is_waiting * passed_ns))
}

by_signal() { # NAME
    local stop
    begin "$1"
    for ((stop = 1; stop <= stops; stop++)); do
        await_work $((stop * 600))
        kill -STOP "$program"
        await_states T
        pass_second
        kill -CONT "$program"
    done
    finish "$1" waits
}

by_gdb() {
    local stop gdb
    begin gdb
    for ((stop = 1; stop <= stops; stop++)); do
        await_work $((stop * 600))
        rm -f "$TMP/detach"
        gdb -nx -q -batch -p "$program" -ex "shell until [ -e $TMP/detach ]; do sleep 0.01; done" -ex detach >"$TMP/gdb.out" 2>&1 &
        gdb=$!
        await_states t
        pass_second
        touch "$TMP/detach"
        wait "$gdb" || fail "gdb: $(tail "$TMP/gdb.out")"
    done
    finish gdb waits
}

freeze() {
    if [ -e "$cgroup/cgroup.freeze" ]; then
        echo 1 >"$cgroup/cgroup.freeze"
        until grep -q '^frozen 1' "$cgroup/cgroup.events"; do sleep 0.01; done
    else
        echo FROZEN >"$cgroup/freezer.state"
        until grep -q '^FROZEN' "$cgroup/freezer.state"; do sleep 0.01; done
    fi
}

thaw() {
    if [ -e "$cgroup/cgroup.freeze" ]; then
        echo 0 >"$cgroup/cgroup.freeze"
    elif [ -e "$cgroup/freezer.state" ]; then
        echo THAWED >"$cgroup/freezer.state"
    fi
}

by_freezer() { # NAME waits|known
    local stop
    begin "$1"
    echo "$program" >"$cgroup/cgroup.procs" || fail "$1: cannot move the program to $cgroup"
    for ((stop = 1; stop <= stops; stop++)); do
        await_work $((stop * 600))
        freeze
        pass_second
        thaw
    done
    finish "$1" "$2"
    rmdir "$cgroup"
    cgroup=
}

# A cgroup of our own, where one can be made.
make_cgroup() { # MOUNT
    cgroup=$1/wallprof-gaps.$$
    mkdir "$cgroup" 2>/dev/null && return
    cgroup=
    return 1
}

by_signal stop
WALLPROF_OBSERVE=signal by_signal stop-signal
if type -P gdb >/dev/null; then
    by_gdb
else
    leave_out gdb "it is not installed"
fi
# Version 2 wakes each thread so that it stops. Version 1 freezes those that sleep as they are: then the sampler cannot tell.
if make_cgroup /sys/fs/cgroup/unified || make_cgroup /sys/fs/cgroup; then
    by_freezer freezer waits
else
    leave_out freezer "no cgroup can be made"
fi
! make_cgroup /sys/fs/cgroup/freezer || by_freezer freezer-1 known
exit "$bad"
