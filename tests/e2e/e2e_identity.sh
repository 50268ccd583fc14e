#!/bin/bash
# Programs that change their root, their user, their namespaces or their capabilities: what they ask for is done as it is
# without the profiler, and the profile has what was before and after, where it was asked for.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_identity
cases=0
mode=777 # of the directory for the profile

# A case that does not work without the profiler says nothing about it (no root, no such namespace).
run_case() { # NAME COMMAND...
    name=$1
    dir=$TMP/$name
    mkdir "$dir" "$dir/root" && chmod 711 "$TMP" && chmod "$mode" "$dir" || exit 1
    shift
    if ! (cd "$dir" && "$@" >/dev/null 2>&1 || [ $? = 3 ]); then
        leave_out "$name" "it cannot be done here"
        return 1
    fi
    cases=$((cases + 1))
    (cd "$dir" && exec timeout -k 5 "$HANG_S" env WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off WALLPROF_OUT=out.pb.gz LD_PRELOAD="$LIBRARY" \
        "$@" >"$dir.out" 2>"$dir.err")
    status=$?
}

expect() { # MODE ARGUMENT
    run_case "$1-${2-}" "$program" "$@" || return
    assert_equal "$name: stderr" "$(cat "$dir.err")" ""
    assert_equal "$name: status" "$status" 3
    functions_of "$dir/out.pb.gz" | grep '^work_[ab]' | sort | tr '\n' ' ' >"$dir.functions"
    assert_equal "$name: functions" "$(cat "$dir.functions")" "work_after work_before "
}

# A daemon's root, its user, and all descriptors closed; then the calls that want a process of one thread.
expect chroot root
expect daemon root
expect unshare
expect setns mnt
expect setns user
expect setns time
expect capset

# Where the new user may not write: said, with the reason, and nothing is left behind.
mode=755
if run_case not-writable "$program" daemon root; then
    assert_equal "$name: status" "$status" 3
    assert_equal "$name: lines on stderr" "$(wc -l <"$dir.err")" 1
    grep -q 'Permission denied.*as user 65534' "$dir.err" || fail "$name: not said why: $(cat "$dir.err")"
    assert_equal "$name: left behind" "$(find "$dir" -type f)" ""
fi

# The user that the process is for a moment cannot reach the directory of a run. Nobody needs to know.
if [ "$(id -u)" = 0 ]; then
    for ((i = 0; i < 10; i++)); do
        status=0
        WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off timeout -k 5 "$HANG_S" "$BUILD/wallprof" run --quiet -o "$TMP/jail.pb.gz" -- \
            "$program" jail 2>"$TMP/jail.err" || status=$?
        assert_equal "jail: status" "$status" 3
        assert_equal "jail: stderr" "$(cat "$TMP/jail.err")" ""
        assert_function "$TMP/jail.pb.gz" work_after
    done
else
    leave_out jail "it wants the rights of root"
fi

# No thread can be created between unshare(CLONE_NEWPID) and fork: the profile ends, and the log says so.
if run_case pid-namespace unshare --user --map-root-user --pid --fork true; then
    assert_equal "$name: status" "$status" 0
    grep -q 'recording ends here' "$dir.err" || fail "$name: not said: $(cat "$dir.err")"
    check_profile "$dir/out.pb.gz"
fi

# A filter that allows what we need changes nothing; one that does not, for a thread or all, ends the recording, and never
# the program.
expect seccomp broad
expect seccomp errno
for how in narrow tsync handled; do
    run_case "seccomp-$how" "$program" seccomp "$how" || continue
    assert_equal "$name: status" "$status" 3
    assert_equal "$name: stderr" "$(cat "$dir.err")" \
        "wallprof: recording ends here: a seccomp filter allows too few system calls"
    check_profile "$dir/out.pb.gz"
    assert_function "$dir/out.pb.gz" work_before
done

echo "$cases cases"
