#!/bin/bash
# A recording that is kept in a file while it is made: what a program may meet, or do, meanwhile. See target_store.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "what the emulator does is another's"
program=$TARGETS/target_store tool=$BUILD/wallprof
export HOME=$TMP

# shellcheck disable=SC2317 # called by e2e.sh
on_exit() {
    local pid
    for pid in $(jobs -p); do
        kill -KILL "$pid" 2>/dev/null
    done
    umount "$TMP/small" 2>/dev/null
}

# With its store in $TMP/NAME and its profile in $TMP/NAME.pb.gz, unless variables say otherwise.
run() { # NAME VARIABLE=VALUE... -- ARGUMENTS...
    local name=$1 variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    mkdir -p "$TMP/$name"
    # The shell's own word on how it ended goes nowhere.
    { env "WALLPROF_STORE=$TMP/$name/" "WALLPROF_OUT=$TMP/$name.pb.gz" WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off "${variables[@]}" \
        "LD_PRELOAD=$LIBRARY" "$program" "${@:2}" >"$TMP/$name.out" 2>"$TMP/$name.err"; } 2>/dev/null
}

stores_of() { # NAME
    find "$TMP/$1" -name '*.live.store' | sort
}

expect_stores() { # NAME COUNT
    [ "$(stores_of "$1" | wc -l)" -eq "$2" ] || complain "$1: there are not $2 stores: $(stores_of "$1" | tr '\n' ' ')"
}

# What its one store holds, as $TMP/NAME.read.pb.gz.
read_store() { # NAME
    "$tool" export "$(stores_of "$1" | head -n 1)" -o "$TMP/$1.read.pb.gz" 2>"$TMP/$1.reason" ||
        { complain "$1: the store cannot be read: $(cat "$TMP/$1.reason")" && return 1; }
    read_pprof check "$TMP/$1.read.pb.gz" || complain "$1: what is in the store breaks a rule of the format"
}

wall_ms_of() { # FILE FUNCTION: cumulative
    read_pprof functions "$1" | awk -v name="$2" '$1 == "wall" && $4 == name { print int($3 / 1000000) }'
}

# What no sample stands for counts, too, as the machine may have stood still; but half of it was seen.
expect_wall() { # FILE FUNCTION LEAST_MS ASKED_MS
    local found unseen
    found=$(wall_ms_of "$1" "$2") unseen=$(wall_ms_of "$1" '[unsampled]')
    [[ $((${found:-0} + ${unseen:-0})) -ge $3 && ${found:-0} -ge $(($4 / 2)) ]] ||
        complain "$1: $2 has ${found:-no} ms, ${unseen:-no} are unseen, not $3 of $4"
}

expect_said() { # NAME TEXT
    grep -F -- "$2" "$TMP/$1.err" >/dev/null || complain "$1: it did not say '$2' but '$(cat "$TMP/$1.err")'"
}

start() { # NAME ARGUMENTS OF run...: in the background, until it says that it lives
    local attempt
    run "$@" &
    for attempt in $(seq 600); do
        [ -s "$TMP/$1.out" ] && [ -n "$(stores_of "$1")" ] && return
        sleep 0.1
    done
    fail "$1: it did not begin, looked at $attempt times"
}

pid_of_store() { # PATH
    local name=${1##*/wallprof.}
    echo "${name%%.*}"
}


full_file_system() {
    mkdir -p "$TMP/small"
    if ! mount -t tmpfs -o size=160k none "$TMP/small" 2>/dev/null; then
        leave_out full-file-system "it cannot be mounted here"
        return
    fi
    run small WALLPROF_LOG=warning -- grow
    local status=$?
    [ "$status" -eq 0 ] || complain "a full file system: status $status"
    expect_stores small 0
    expect_wall "$TMP/small.pb.gz" make_stacks 2000 2500
    # And where that profile cannot be written: what is in the store is of the time before.
    run small "WALLPROF_OUT=$TMP/none/x.pb.gz" -- grow
    expect_stores small 1
    read_store small || return
    read_pprof comments "$TMP/small.read.pb.gz" | grep 'No space left on device' >/dev/null ||
        complain "a full file system: the store does not say so: $(read_pprof comments "$TMP/small.read.pb.gz")"
    rm -f "$TMP/small"/*
    mount -o remount,ro "$TMP/small"
    run small -- grow || complain "a file system to be read only: status $?"
    expect_said small "$TMP/small"
    expect_said small 'Read-only file system'
    expect_wall "$TMP/small.pb.gz" make_stacks 2000 2500
    umount "$TMP/small"
}

no_room_at_all() {
    run missing "WALLPROF_STORE=$TMP/nowhere/" -- grow || complain "missing: status $?"
    expect_said missing "$TMP/nowhere"
    expect_wall "$TMP/missing.pb.gz" make_stacks 2000 2500
    (
        ulimit -f 20000 # KiB: less than the file might grow to
        run limited -- grow || complain "limited: status $?"
        exit "$bad"
    ) || bad=1
    expect_said limited 'File too large'
    expect_stores limited 0
    expect_wall "$TMP/limited.pb.gz" make_stacks 2000 2500
}

# The profile cannot be written at the end: the store is closed, and all is in it.
unwritten() {
    run unwritten "WALLPROF_OUT=$TMP/none/x.pb.gz" -- grow
    expect_stores unwritten 1
    read_store unwritten || return
    expect_wall "$TMP/unwritten.read.pb.gz" make_stacks 2000 2500
    # Its store's descriptor has gone with the sampler by then: under its number there is another file.
    yes 'of the program' | head -c 300000 >"$TMP/theirs"
    cp "$TMP/theirs" "$TMP/theirs.before"
    run leave "WALLPROF_OUT=$TMP/none/x.pb.gz" -- leave "$TMP/theirs"
    cmp "$TMP/theirs" "$TMP/theirs.before" || complain "leave: one of the program's files was written to"
    expect_stores leave 1
    read_store leave || return
    expect_wall "$TMP/leave.read.pb.gz" outlive_main 150 200
}

killed_between() {
    run absent WALLPROF_TIMELINE=1 -- absent
    expect_stores absent 1
    read_store absent && expect_wall "$TMP/absent.read.pb.gz" work_after_absence 1200 1500
    run exec-fails -- exec-fails
    expect_stores exec-fails 1
    read_store exec-fails && expect_wall "$TMP/exec-fails.read.pb.gz" work_after_exec 1200 1600
}

# Who is absent for a moment still is who the store belongs to.
locked_while_it_lives() {
    start living -- live
    local store
    store=$(stores_of living)
    "$tool" recover "$store" >"$TMP/recover.out" 2>&1 && complain "the store of a living process was taken"
    [ -f "$store" ] || complain "the store of a living process is gone"
    kill -KILL "$(pid_of_store "$store")"
    wait 2>/dev/null
    "$tool" recover "$store" >"$TMP/recover.out" 2>&1 || complain "not recovered: $(cat "$TMP/recover.out")"
    [ ! -f "$store" ] || complain "the store of what was recovered is still there"
    expect_wall "$TMP/living.pb.gz" compute_ms 150 150
}

children() {
    local how
    for how in fork vfork clone; do
        run "child-$how" WALLPROF_FOLLOW=none -- child "$how"
        expect_stores "child-$how" 1
        read_store "child-$how" || continue
        read_pprof comments "$TMP/child-$how.read.pb.gz" | grep '_exit' &&
            complain "child-$how: the end of its child was taken for its own"
    done
    for how in fork clone; do
        run "orphan-$how" WALLPROF_FOLLOW=none -- orphan "$how"
        expect_stores "orphan-$how" 1
        "$tool" recover "$(stores_of "orphan-$how")" >"$TMP/recover.out" 2>&1 ||
            complain "orphan-$how: its child keeps the lock: $(cat "$TMP/recover.out")"
        expect_wall "$TMP/orphan-$how.pb.gz" compute_ms 300 450
        has_function "$TMP/orphan-$how.pb.gz" work_in_child && complain "orphan-$how: its child has written into its store"
    done
}

# Who waits is named once, not for each process, and who lives is not.
who_waits() {
    run waiting -- child fork
    sed -i 's/^.*$//' "$TMP/waiting.err"
    expect_stores waiting 1
    start waiting -- live
    local waits=0 line
    line=$(grep -c 'waits in' "$TMP/waiting.err")
    [ "$line" -eq 1 ] || complain "a second start says $line times that one waits: $(cat "$TMP/waiting.err")"
    mkdir -p "$TMP/third"
    run third "WALLPROF_STORE=$TMP/waiting/" -- fork
    waits=$(grep -c 'waits in' "$TMP/third.err")
    [ "$waits" -eq 1 ] || complain "a third start says $waits times that one waits: $(cat "$TMP/third.err")"
    kill_owners waiting
    { wait; } 2>/dev/null
}

kill_owners() { # NAME
    local store
    for store in $(stores_of "$1"); do
        kill -KILL "$(pid_of_store "$store")" 2>/dev/null
    done
}

# Threads leave records of what they did, and nothing else: 200 bytes each. A short life that no sample has seen gets stacks
# of those that were seen (short_lives.h). These are one for each part of its time (CPU, delay, other waiting), as a rule, and
# have 8 nodes of 80 bytes at most here. So the size depends on what a sample happens to see.
many_threads() {
    run threads WALLPROF_HZ=100 -- threads 6000
    expect_stores threads 0
    run threads WALLPROF_HZ=100 "WALLPROF_OUT=$TMP/none/x.pb.gz" -- threads 6000
    expect_stores threads 1
    local bytes most=$((6000 * (300 + 3 * 8 * 80)))
    bytes=$(stat -c %s "$(stores_of threads)")
    [ "$bytes" -lt "$most" ] || complain "threads: the store of 6000 short threads has $bytes bytes, and not $most at most"
}

echo "== a full file system"
full_file_system
echo "== no room at all"
no_room_at_all
echo "== a profile that cannot be written"
unwritten
echo "== killed after an absence, and an exec"
killed_between
echo "== locked while it lives"
locked_while_it_lives
echo "== children that are left alone"
children
echo "== who waits"
who_waits
echo "== many threads"
many_threads
exit "$bad"
