#!/bin/bash
# Programs that count their descriptors, and programs under limits: they never notice, the profile is as good as
# can be, and what is missing is said in one line.
# shellcheck disable=SC2016 # what stands in single quotes is expanded by an inner shell
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_limits
cases=0

complain() { # MESSAGE
    echo "FAIL: $name: $1"
    cat "$dir.err"
    bad=1
}

# The only child of this shell has stopped. It goes on after 0.2 s.
let_go_on() {
    local child
    until child=$(pgrep -P "$$" -r T); do sleep 0.01; done
    sleep 0.2
    kill -CONT "$child"
}

# Runs a command with nothing but 0, 1 and 2 open, in a directory of its own; sets $status.
run_in() { # NAME [OPTION OF exec_alone.py] COMMAND...
    name=$1
    dir=$TMP/$name
    cases=$((cases + 1))
    mkdir "$dir" || exit 1
    shift
    local option=()
    [[ $1 = --* ]] && option=("$1") && shift
    (cd "$dir" && exec "$PYTHON" "$TESTS/lib/exec_alone.py" "${option[@]}" env WALLPROF_OUT=out.pb.gz \
        LD_PRELOAD="$LIBRARY" "$@") </dev/null >"$dir.out" 2>"$dir.err"
    status=$?
}

expect_unharmed() {
    [ "$status" = 3 ] || complain "status $status"
    [ -z "$(<"$dir.out")" ] || complain "it has printed $(<"$dir.out")"
}

expect_silence() {
    [ ! -s "$dir.err" ] || complain "something is said"
}

expect_said() { # PATTERN
    grep -Eq "^wallprof: .*$1" "$dir.err" || complain "not said: $1"
}

expect_profile() { # [FUNCTION]
    (check_profile "$dir/out.pb.gz" && assert_function "$dir/out.pb.gz" "${1-work}") || complain "no good profile"
}

expect_no_profile() {
    [ -z "$(find "$dir" -type f)" ] || complain "left behind: $(ls -A "$dir")"
}

# ---- descriptors ----

for hz in 100 10000; do
    run_in "descriptors-$hz" env WALLPROF_HZ=$hz "$program" descriptors
    expect_unharmed
    expect_silence
    (check_profile "$dir/out.pb.gz") || complain "no good profile"
done

# ---- our own messages ----

# Nobody reads the stderr that a message is for, or there is no room.
run_in broken-pipe --broken-stderr env WALLPROF_HZ=no "$program" limit none 0
expect_unharmed
expect_profile
run_in full-stderr --full-stderr=5 env WALLPROF_HZ=no "$program" limit none 0
expect_unharmed
rm "$dir/stderr"
expect_no_profile

# ---- limits ----

# Without a single pending signal, ours come without their value: they are told by the thread they come to.
run_in sigpending "$program" limit sigpending 0
expect_unharmed
expect_silence
expect_profile

# The file was opened before; for the names of functions there is no descriptor then.
for limit in 0 3 5; do
    run_in "nofile-$limit" "$program" limit nofile $limit
    expect_unharmed
    expect_silence
    expect_profile "$([ $limit = 0 ] && echo __libc_start_main || echo work)"
done
run_in nofile-from-the-start prlimit --nofile=6 "$program" limit none 0
expect_unharmed
expect_silence
expect_profile

# A sampler that came late looks why, and has a file more for that.
let_go_on &
run_in nofile-when-late prlimit --nofile=6 "$program" stopped
expect_unharmed
expect_profile

# A share of what there is, and the program is left the most of it.
run_in address-space prlimit --as=50000000 "$program" limit none 0
expect_unharmed
expect_said 'instead of 65536: RLIMIT_AS leaves no more'
expect_profile
run_in data prlimit --data=30000000 "$program" limit none 0
expect_unharmed
expect_said 'instead of 65536: RLIMIT_DATA leaves no more'
expect_profile
run_in no-memory-left prlimit --as=6000000 "$program" limit none 0
expect_unharmed

# No file may be as large as the profile: SIGXFSZ is not for the program.
run_in file-size "$program" limit fsize 400
expect_unharmed
expect_said 'out.pb.gz: File too large'
expect_no_profile

# The sampler cannot be had: as another user, whose processes are at their limit.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    chmod 711 "$TMP"
    run_in no-thread setpriv --reuid=65533 --clear-groups prlimit --nproc=1 "$program" limit none 0
    expect_unharmed
    grep -q '^wallprof: cannot record: Resource temporarily unavailable' "$dir.err" || complain "not said"
    expect_no_profile
fi

echo "$cases cases"
exit "$bad"
