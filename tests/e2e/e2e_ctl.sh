#!/bin/bash
# wallprof ctl: another process starts and stops the recording, has it written, and requests its status.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

export WALLPROF_OVERHEAD=off
target=$TARGETS/target_control
tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"

# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    [ -z "${program-}" ] || kill "$program" 2>/dev/null
    [ -z "${child-}" ] || kill "$child" 2>/dev/null
}

start_target() { # OPERATIONS... ; its pid in $program
    : >"$TMP/said"
    LD_PRELOAD=$LIBRARY "$target" active "$@" >"$TMP/said" 2>"$TMP/err" &
    program=$!
    until [ -s "$TMP/said" ]; do
        kill -0 "$program" || fail "it has ended: $(cat "$TMP/err")"
        sleep 0.05
    done
}

ctl() { # ARGUMENTS... ; for $program
    "$tool" ctl --timeout 60 "$program" "$@" >"$TMP/out" 2>"$TMP/ctl.err"
}

does() { # ARGUMENTS...
    ctl "$@" || fail "ctl $*: status $?: $(cat "$TMP/ctl.err")"
}

refuses() { # STATUS TEXT ARGUMENTS OF wallprof ctl...
    local status=$1 text=$2
    shift 2
    "$tool" ctl "$@" >"$TMP/out" 2>"$TMP/ctl.err"
    assert_equal "status of ctl $*" "$?" "$status"
    grep -q -- "$text" "$TMP/ctl.err" || fail "ctl $* says: $(cat "$TMP/ctl.err")"
}

state() {
    does status
    awk '$1 == "state" { print $2 }' "$TMP/out"
}

# Until what is dumped has the function: how soon a program is sampled is the machine's affair.
dump_until_it_has() { # FUNCTION FILE
    local end=$((SECONDS + 30))
    until sleep 0.5 && does dump "$2" && grep -q "$1" "$2"; do
        [ "$SECONDS" -lt "$end" ] || fail "nothing of the program in what was dumped: $(cat "$2")"
    done
}

# Sets $before: what the sampler had used when it had come to rest. One that waits for a CPU is not at rest.
await_rest() { # SAMPLER
    local end=$((SECONDS + 10))
    before=
    until grep -q '^State:.S' "$1/status" && [ "$(cat "$1/schedstat")" = "$before" ]; do
        [ "$SECONDS" -lt "$end" ] || fail "the sampler runs on while it is stopped: $before, now $(cat "$1/schedstat")"
        before=$(cat "$1/schedstat")
        sleep 0.5
    done
}

await_run() { # SAMPLER, which had used $before
    local end=$((SECONDS + 10))
    until [ "$(cat "$1/schedstat")" != "$before" ]; do
        [ "$SECONDS" -lt "$end" ] || fail 'started again, the sampler does not run'
        sleep 0.2
    done
}

sampler_of() { # PID
    grep -lx wallprof /proc/"$1"/task/*/comm | sed 's|/comm||'
}

# ---- it is started, sampled, written, stopped ----

cd "$TMP" || exit 1
WALLPROF_OUT=$TMP/whole.pb.gz WALLPROF_START=0 start_target during=600000 # it is killed long before
assert_equal 'at first' "$(state)" stopped
cat "$TMP/out"
refuses 1 'nothing has been recorded yet' "$program" dump
refuses 1 'stopped already' "$program" stop
does start
refuses 1 'recording already' "$program" start
assert_equal 'started' "$(state)" recording
dump_until_it_has work_during relative.folded
does dump "$TMP/absolute.pb.gz"
check_profile "$TMP/absolute.pb.gz"
"$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/absolute.pb.gz" || fail 'dumped'
does dump
check_profile "$TMP/whole.pb.gz"
does status
cat "$TMP/out"
for line in "program     target_control" "pid         $program" "threads     1 seen, 1 alive" "profile     $TMP/whole.pb.gz"; do
    grep -qx "$line" "$TMP/out" || fail "status has no '$line'"
done
ctl dump - || fail "dump -: $(cat "$TMP/ctl.err")"
mv "$TMP/out" "$TMP/stdout.pb.gz"
check_profile "$TMP/stdout.pb.gz"
does dump --output "$TMP/output.folded"
[ -s "$TMP/output.folded" ] || fail 'dump --output'
assert_equal 'left by dump -' "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'wallprof-dump-*' -newer "$TMP/said" -print 2>/dev/null)" ''
refuses 1 'No such file or directory' "$program" dump /nonexistent/x.pb.gz
refuses 1 'Is a directory' "$program" dump "$TMP/"
refuses 1 'No such file or directory' "$program" dump /nonexistent/x.folded
assert_equal 'stores left by dumps in formats of the tool' "$(find "$TMP" -name '*.store')" ''

# What cannot be written after all is not lost.
refuses 1 'has left what it recorded in' "$program" dump "$TMP/untimed.json"
"$tool" export "$TMP"/untimed.json.*.store -o "$TMP/untimed.folded" || fail 'a store that a dump has left'
grep -q work_during "$TMP/untimed.folded" || fail 'nothing of the program in a store that a dump has left'
rm "$TMP"/untimed.json.*.store

# ---- while it is stopped its sampler does not run at all ----

does stop
sampler=$(sampler_of "$program")
await_rest "$sampler"
ticks=$(awk '/ctxt_switches/ { sum += $2 } END { print sum }' "$sampler/status")
sleep 3
assert_equal 'CPU time, waits and runs of the sampler while it is stopped' "$(cat "$sampler/schedstat")" "$before"
assert_equal 'its switches' "$(awk '/ctxt_switches/ { sum += $2 } END { print sum }' "$sampler/status")" "$ticks"
does start
before=$(cat "$sampler/schedstat")
await_run "$sampler"

# Several requests at once: each has its reply.
for i in 1 2 3 4 5 6 7 8; do
    ("$tool" ctl --timeout 60 "$program" status >"$TMP/one.$i" 2>&1 && "$tool" ctl --timeout 60 "$program" dump "$TMP/many.$i.folded") &
    requests[i]=$!
done
for i in 1 2 3 4 5 6 7 8; do
    wait "${requests[i]}" || fail "requested at once: $(cat "$TMP/one.$i")"
    [ -s "$TMP/many.$i.folded" ] || fail 'requested at once: nothing written'
done

# What is written into its page is not believed.
"$PYTHON" "$TESTS/lib/ctl_hostile.py" "$sampler" "$TMP/absolute.pb.gz" || fail 'a hostile page'
assert_equal 'after that' "$(state)" recording
kill "$program"
wait "$program"

# ---- what takes no requests ----

refuses 1 'there is no process 2147483646' 2147483646 status
refuses 1 'is not being recorded' "$$" status
refuses 2 'PID and what to do' 1
refuses 2 "'what' is not start" 1 what
refuses 2 "is too much" 1 status more
refuses 2 'PID and what to do' x status
refuses 2 'is not a number of seconds' --timeout 0 1 status
WALLPROF_OUT=$TMP/strict.pb.gz WALLPROF_SECCOMP=strict start_target during=600000
refuses 1 'cannot be controlled' "$program" status
kill "$program"
wait "$program"

# Without a PATH it is the profile's own name that says the format.
WALLPROF_OUT=$TMP/own.folded start_target during=600000
does dump
[ -s "$TMP/own.folded" ] || fail "no own.folded: $(ls "$TMP")"
assert_equal 'stores left by a dump to the own name' "$(find "$TMP" -name '*.store')" ''
kill "$program"
wait "$program"

# Another user's is not to be had.
if [ "$(id -u)" -eq 0 ] && type -P setpriv >/dev/null; then
    WALLPROF_OUT=$TMP/user.pb.gz start_target during=600000
    chmod 711 "$TMP"
    cp "$tool" "$TMP/wallprof"
    setpriv --reuid 65534 --clear-groups "$TMP/wallprof" ctl "$program" stop >"$TMP/out" 2>"$TMP/ctl.err"
    assert_equal 'status for another user' "$?" 1
    grep -q 'is not yours' "$TMP/ctl.err" || fail "another user: $(cat "$TMP/ctl.err")"
    assert_equal 'after a request of another user' "$(state)" recording
    kill "$program"
    wait "$program"
else
    leave_out another-user "only root can be another user, by setpriv"
fi

# A forked child takes requests of its own.
WALLPROF_OUT=$TMP/child.%p.pb.gz start_target forked=600000
end=$((SECONDS + 30))
until grep -q '^child' "$TMP/said"; do
    [ "$SECONDS" -lt "$end" ] || fail "no child: $(cat "$TMP/said" "$TMP/err")"
    sleep 0.05
done
parent=$program
child=$(awk '$1 == "child" { print $2 }' "$TMP/said")
program=$child
does stop
assert_equal 'the child' "$(state)" stopped
program=$parent
assert_equal 'its parent' "$(state)" recording
kill "$child" "$parent"
wait "$parent"
program='' child=''
exit "$bad"
