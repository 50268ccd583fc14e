#!/bin/bash
# The environment: every bad value is named with what is used instead, every output that cannot be written is
# reported in one line, and the program never notices.
# shellcheck disable=SC2016 # what stands in single quotes is expanded by an inner shell
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_process
cases=0

expect_equal() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || complain "$1 is '$2', not '$3'"
}

# Runs a command in a new empty directory, $dir, with the library preloaded; sets $status, leaves $dir.out, $dir.err.
run_in() { # NAME COMMAND...
    cases=$((cases + 1))
    name=$1
    dir=$TMP/$name
    mkdir "$dir" || exit 1
    shift
    (cd "$dir" && LD_PRELOAD=$LIBRARY "$@") >"$dir.out" 2>"$dir.err"
    status=$?
}

# The one profile in a directory, but for one of env, should it live for long enough to have one on a busy machine.
only_profile() { # DIRECTORY
    local files
    mapfile -t files < <(find "$1" \( -name '*.pb.gz' -o -name '.wallprof*' \) ! -name '*.env.pb.gz')
    [ "${#files[@]}" -eq 1 ] || complain "$name: ${#files[@]} files instead of one profile: ${files[*]}"
    echo "${files[0]-}"
}

expect_silence() {
    expect_equal "$name: stderr" "$(cat "$dir.err")" ""
}

expect_program_unharmed() { # STATUS
    expect_equal "$name: exit status" "$status" "$1"
    expect_equal "$name: stdout" "$(cat "$dir.out")" output
}

expect_one_line() { # PATTERN...
    local pattern
    expect_equal "$name: lines on stderr" "$(wc -l <"$dir.err")" 1
    for pattern in '^wallprof: ' "$@"; do
        grep -Eq -- "$pattern" "$dir.err" || complain "$name: stderr does not say '$pattern': $(cat "$dir.err")"
    done
}

# ---- values ----

bad_value() { # VARIABLE VALUE WHAT IS USED INSTEAD
    run_in "value-$cases" env "$1=$2" "$program" status 5
    name="$1=$2"
    expect_program_unharmed 5
    expect_one_line "$1" "$2" "$3"
    read_pprof check "$(only_profile "$dir")" || complain "$name: no good profile"
}

bad_values() {
    local value
    for value in 0 abc 20000 -1 100x 1e2 99999999999999999999; do
        bad_value WALLPROF_HZ "$value" 'using 100$'
    done
    for value in 0 x -8; do
        bad_value WALLPROF_THREADS "$value" 'using 8$'
    done
    for value in 0 deep 99999999; do
        bad_value WALLPROF_DEPTH "$value" 'using 1024$'
    done
    for value in KILL STOP 99 foo 0 SEGV; do
        bad_value WALLPROF_SIGNAL "$value" 'using (SIG)?PROF$'
    done
    for value in 1 x 0 64Q; do
        bad_value WALLPROF_MEM "$value" 'using 64 ?M'
    done
    bad_value WALLPROF_LABELS foo 'using '
    bad_value WALLPROF_LOG foo 'using '
    bad_value WALLPROF_XYZ XYZ 'ignored|unknown|not a variable'
}

# An empty value is an unset one; each of the good ones takes effect without a word.
good_value() { # VARIABLE=VALUE OPTION OF check...
    run_in "value-$cases" env "$1" "$program" status 5
    name=$1
    expect_program_unharmed 5
    expect_silence
    (check_profile "$(only_profile "$dir")" "${@:2}") || complain "$name: no good profile"
}

good_values() {
    local value
    for value in WALLPROF_HZ= WALLPROF_OUT= WALLPROF_HZ=1 WALLPROF_HZ=1000 WALLPROF_THREADS=1 WALLPROF_DEPTH=1 \
        WALLPROF_SIGNAL=SIGUSR2 WALLPROF_SIGNAL=URG WALLPROF_SIGNAL=RTMIN+5 WALLPROF_MEM=1M WALLPROF_SEED=1; do
        good_value "$value"
    done
    good_value WALLPROF_LABELS=none --labels=none
    good_value WALLPROF_LABELS=name --labels=name
    good_value WALLPROF_LABELS=id --labels=both
}

# ---- where the profile goes ----

names() {
    local pid file
    run_in default-name bash -c 'echo $$ >pid; exec "$0" status 0' "$program"
    pid=$(cat "$dir/pid")
    expect_silence
    # The shell before the exec leaves no profile and no temporary file either.
    expect_equal "$name: file" "$(only_profile "$dir")" "$dir/wallprof.$pid.pb.gz"

    run_in pattern env 'WALLPROF_OUT=%n-%h-%t-%p-%%-%q.pb.gz' bash -c 'echo $$ >pid; exec "$0" status 0' "$program"
    pid=$(cat "$dir/pid")
    file=$(basename "$(only_profile "$dir")")
    [[ $file =~ ^target_process-$(uname -n)-20[0-9]{6}T[0-9]{6}Z-$pid-%-%q\.pb\.gz$ ]] || complain "$name: called $file"
    expect_silence

    run_in absolute env WALLPROF_OUT="$TMP/elsewhere.pb.gz" "$program" status 0
    [ -s "$TMP/elsewhere.pb.gz" ] || complain "$name: no $TMP/elsewhere.pb.gz"
    expect_silence

    mkdir "$TMP/place"
    run_in directory env WALLPROF_OUT="$TMP/place/" "$program" status 0
    [[ $(basename "$(only_profile "$TMP/place")") =~ ^wallprof\.[0-9]+\.pb\.gz$ ]] || complain "$name: $(ls "$TMP/place")"
    expect_silence

    mkdir "$TMP/away"
    run_in chdir env WALLPROF_OUT=here.pb.gz "$program" chdir "$TMP/away"
    expect_equal "$name: file" "$(only_profile "$dir")" "$dir/here.pb.gz"
    expect_equal "$name: where it went" "$(find "$TMP/away" -type f)" ""
    expect_silence

    run_in replaced env WALLPROF_OUT=again.pb.gz sh -c '"$0" status 0 && cp again.pb.gz first && "$0" status 0' "$program"
    expect_silence
    cmp -s "$dir/first" "$dir/again.pb.gz" && complain "$name: the second profile did not replace the first"
}

# Said at the start and at the end, but only once; and never in the program's way.
unwritable() { # NAME OUT PATTERN...
    run_in "$1" env WALLPROF_OUT="$2" "$program" status 5
    expect_program_unharmed 5
    expect_one_line "${@:3}"
    expect_equal "$name: left behind" "$(find "$dir" -type f)" ""
}

unwritable_places() {
    unwritable no-directory missing/x.pb.gz 'missing' 'No such file or directory'
    unwritable is-directory /tmp /tmp 'Is a directory'
    unwritable ends-in-slash missing/ 'missing' 'No such file or directory'
    unwritable under-a-file /etc/passwd/x.pb.gz /etc/passwd 'Not a directory'
    unwritable read-only /proc/x.pb.gz /proc
    unwritable too-long "$(printf 'x%.0s' {1..300}).pb.gz" 'too long'
    full_device
    no_permission
}

# Not /dev/full itself: should the profiler replace the file, root would lose the device.
full_device() {
    if ! mknod "$TMP/full" c 1 7 2>/dev/null || ! (: >"$TMP/full") 2>/dev/null; then
        leave_out full-device "devices cannot be made here"
        return
    fi
    unwritable full-device "$TMP/full" "$TMP/full" 'No space left'
    [ -c "$TMP/full" ] || complain "full-device: the device was replaced"
}

# As another user, into a directory of root's.
no_permission() {
    if [ "$(id -u)" != 0 ] || ! setpriv --reuid=65534 --clear-groups "$program" status 0 >/dev/null 2>&1; then
        leave_out no-permission "another user cannot be had here"
        return
    fi
    mkdir -m 755 "$TMP/not-yours"
    chmod 711 "$TMP"
    run_in no-permission env -u LD_PRELOAD setpriv --reuid=65534 --clear-groups \
        env WALLPROF_OUT="$TMP/not-yours/x.pb.gz" LD_PRELOAD="$LIBRARY" "$program" status 5
    expect_program_unharmed 5
    expect_one_line not-yours 'Permission denied'
    expect_equal "$name: left behind" "$(find "$TMP/not-yours" "$dir" -type f)" ""
}

# ---- standard streams and descriptors ----

closed_streams() {
    # Without its streams the program gets descriptor 1 or 2 for its file: nothing of ours may be written there.
    run_in closed-both env WALLPROF_HZ=abc WALLPROF_OUT=x.pb.gz bash -c 'exec "$0" file mine >&- 2>&-' "$program"
    expect_equal "$name: exit status" "$status" 3
    expect_equal "$name: file" "$(cat "$dir/mine")" "descriptor 1"
    (check_profile "$dir/x.pb.gz") || complain "$name: no good profile"

    run_in closed-stderr env WALLPROF_HZ=abc WALLPROF_OUT=missing/x.pb.gz bash -c 'exec "$0" file mine 2>&-' "$program"
    expect_equal "$name: exit status" "$status" 3
    expect_equal "$name: file" "$(cat "$dir/mine")" "descriptor 2"
    # The shell that is profiled until its exec still has a stderr; nothing but its own complaints may be there.
    expect_equal "$name: stdout" "$(cat "$dir.out")" ""

    run_in closed-all env WALLPROF_OUT=x.pb.gz bash -c 'exec "$0" file mine <&- >&- 2>&-' "$program"
    expect_equal "$name: exit status" "$status" 3
    expect_equal "$name: file" "$(cat "$dir/mine")" "descriptor 0"

    # Undisturbed, the first descriptor of a program's own is 3.
    run_in open-streams env WALLPROF_OUT=x.pb.gz "$program" file mine
    expect_equal "$name: file" "$(cat "$dir/mine")" "descriptor 3"
    expect_silence
}

log_file() {
    run_in log-file env WALLPROF_LOG=info:log WALLPROF_HZ=abc "$program" status 5
    expect_program_unharmed 5
    expect_silence
    grep -q '^wallprof: .*WALLPROF_HZ=abc' "$dir/log" || complain "$name: the log does not name the bad value"
    run_in log-off env WALLPROF_LOG=off WALLPROF_HZ=abc WALLPROF_OUT=missing/x.pb.gz "$program" status 5
    expect_program_unharmed 5
    expect_silence
}

# ---- fork without exec ----

forked() { # NAME OUT PARENT'S FILE CHILD'S FILE, with PID for the child's pid
    local child parent_file child_file
    run_in "$1" env WALLPROF_OUT="$2" "$program" fork
    child=$(cat "$dir.out")
    expect_equal "$name: exit status" "$status" 6
    expect_silence
    expect_equal "$name: number of profiles" "$(find "$dir" -type f | wc -l)" 2
    child_file=$dir/${4//PID/$child}
    parent_file=$(find "$dir" -type f -name "$3" ! -samefile "$child_file")
    [ -s "$child_file" ] || { complain "$name: no $child_file: $(ls "$dir")" && return; }
    [ -s "$parent_file" ] || { complain "$name: no $3: $(ls "$dir")" && return; }
    (check_profile "$parent_file") || complain "$name: the parent's profile is not good"
    (check_profile "$child_file") || complain "$name: the child's profile is not good"
    (check_roots "$child_file") || complain "$name: the child's stacks are not good"
    expect_only "$parent_file" work_before_fork work_in_parent
    expect_only "$child_file" work_in_child
}

# Of the functions of target_process, a profile has these and no others.
expect_only() { # FILE FUNCTION...
    expect_equal "$name: functions in $(basename "$1")" \
        "$(functions_of "$1" | grep '^work_[bi]' | sort | tr '\n' ' ')" "$(printf '%s ' "${@:2}")"
}

run_in good env WALLPROF_OUT=x.pb.gz "$program" status 5
expect_program_unharmed 5
expect_silence
(check_profile "$dir/x.pb.gz" --main="$program") || complain "no good profile"
bad_values
good_values
names
unwritable_places
closed_streams
log_file
forked fork-name app.pb.gz app.pb.gz app.PID.pb.gz
forked fork-pattern '%n.%p.pb.gz' 'target_process.*.pb.gz' target_process.PID.pb.gz
forked fork-default '' 'wallprof.*.pb.gz' wallprof.PID.pb.gz
echo "$cases cases"
exit "$bad"
