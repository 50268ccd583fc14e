#!/bin/sh
# wallprof-run: what it passes through, what it refuses, what it says. The library is an empty stub, so that nothing here
# depends on the profiler; check_profiler alone uses the real one.
# shellcheck disable=SC2016,SC2030,SC2031 # programs in single quotes; PATH is changed for one command only
set -u
here=$(cd -P -- "$(dirname -- "$0")" && pwd -P)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failures=0
build=${WALLPROF_BUILD:-$here/../../build/release}
build=$(cd -P -- "$build" && pwd -P)
unset WALLPROF_LONG WALLPROF_BUILD WALLPROF_PPROF WALLPROF_RUN # not for the profiler
newline='
'

fail() { # DESCRIPTION
    failures=$((failures + 1))
    echo "FAILED: $1"
    sed 's/^/    stdout: /' "$tmp/out"
    sed 's/^/    stderr: /' "$tmp/err"
}

ok() { # DESCRIPTION COMMAND...
    what=$1
    shift
    "$@" || fail "$what: $*"
}

# Runs the wrapper in the current directory; sets $status. The tool is a copy, by the name that it is installed with.
wrapper() { # ARGUMENTS...
    "$run" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
}

status_is() { # DESCRIPTION NUMBER
    [ "$status" -eq "$2" ] || fail "$1: status $status instead of $2"
}

says() { # DESCRIPTION TEXT ON STDERR
    grep -qF -e "$2" "$tmp/err" || fail "$1: stderr does not say '$2'"
}

prints() { # DESCRIPTION TEXT ON STDOUT
    grep -qxF -e "$2" "$tmp/out" || fail "$1: stdout does not have the line '$2'"
}

refuses() { # STATUS TEXT PROGRAM [ARGUMENTS]
    expected=$1 text=$2
    shift 2
    wrapper "$@"
    status_is "refusal of $*" "$expected"
    says "refusal of $*" "$text"
    ok "refusal of $* is one line" [ "$(wc -l <"$tmp/err")" -eq 1 ]
}

script() { # FILE FIRST-LINE [REST]
    printf '%s\n' "$2" "${3-}" >"$1"
    chmod +x "$1"
}

set_up() {
    mkdir "$tmp/bin" "$tmp/lib" "$tmp/work" "$tmp/dir"
    chmod 755 "$tmp"
    cp "$build/wallprof" "$tmp/bin/"
    ln -s wallprof "$tmp/bin/wallprof-run"
    run=$tmp/bin/wallprof-run
    : >"$tmp/out"
    : >"$tmp/err"
    ${CC:-gcc} -shared -fPIC -o "$tmp/lib/libwallprof.so" -x c /dev/null || exit 1
    cd "$tmp/work" || exit 1
    unset LD_PRELOAD WALLPROF_OUT WALLPROF_HZ WALLPROF_THREADS WALLPROF_DEPTH WALLPROF_SIGNAL WALLPROF_MEM \
        WALLPROF_LABELS WALLPROF_OBSERVE WALLPROF_FOLLOW WALLPROF_OVERHEAD WALLPROF_LOG WALLPROF_SEED
}

# ---- streams, arguments, status ------------------------------------------------------------------------------

check_status() {
    for number in 0 1 3 125 126 127 200; do
        wrapper sh -c "exit $number"
        status_is "exit $number" "$number"
    done
    for name in TERM KILL INT SEGV USR1; do
        number=$((128 + $(signal_number "$name")))
        wrapper sh -c "kill -$name \$\$"
        status_is "death by SIG$name" "$number"
        says "death by SIG$name" "no profile was written: SIG$name ended the program"
        ok "death by SIG$name: one line" [ "$(grep -c wallprof "$tmp/err")" -eq 1 ] # and the shell's own
    done
}

signal_number() { # NAME
    case $1 in HUP) echo 1 ;; INT) echo 2 ;; KILL) echo 9 ;; USR1) echo 10 ;; SEGV) echo 11 ;; TERM) echo 15 ;; esac
}

check_streams() {
    echo hi >"$tmp/in"
    "$run" cat <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
    prints 'standard input' hi
    ok 'a pipe as standard input' [ "$(echo hi | "$run" --quiet cat)" = hi ]
    wrapper --quiet sh -c 'echo out; echo err >&2'
    ok 'streams stay apart' [ "$(cat "$tmp/out") $(cat "$tmp/err")" = 'out err' ]
    "$run" --quiet sh -c '[ ! -e /proc/self/fd/0 ] && echo closed' <&- >"$tmp/out" 2>"$tmp/err"
    prints 'closed standard input stays closed' closed
    # Descriptors 3 and 9 are the caller's: the program gets those and no others.
    "$run" --quiet sh -c 'cat <&3; cat <&9; for n in 4 5 6 7 8; do [ ! -e /proc/$$/fd/$n ] || echo $n; done' \
        3<"$tmp/in" 9<"$tmp/in" 4<&- 5<&- 6<&- 7<&- 8<&- >"$tmp/out" 2>"$tmp/err"
    ok 'descriptors 3 and 9' [ "$(cat "$tmp/out")" = "$(printf 'hi\nhi')" ]
    check_closing
}

# The program closes its output and goes on: a reader sees the end at once, not when the program ends, which waits for
# that. From then on it takes its time, so that a wrapper that has not waited is found to have ended first.
check_closing() {
    rm -f seen late
    "$run" --quiet sh -c 'exec >&-
        for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
            [ -e seen ] || sleep 1
        done
        sleep 1
        : >late' 2>/dev/null | {
        cat
        [ -e late ] || : >seen
    }
    ok 'the wrapper does not hold the standard output' [ -e seen ]
    ok 'the wrapper waits all the same' [ -e late ]
}

check_arguments() {
    mkdir -p "a b"
    script 'a b/print it' '#!/bin/sh' 'printf "<%s>" "$@"; echo'
    wrapper './a b/print it' 'x  y' '' '*' '--hz' '\n'
    prints 'spaces and special characters' '<x  y><><*><--hz><\n>'
    script ./-odd '#!/bin/sh' 'echo odd'
    PATH=$PWD:$PATH wrapper -- -odd
    prints 'a program whose name starts with a dash' odd
    script ./a=b '#!/bin/sh' 'echo equals'
    wrapper ./a=b
    prints 'a program with = in its name' equals
    wrapper echo --hz 5
    prints 'options after the program are its own; builtins are programs' '--hz 5'
    wrapper --quiet sh -c 'echo "$0"'
    prints 'argv[0] as typed' sh
}

# ---- options and environment ---------------------------------------------------------------------------------

check_options() {
    wrapper --out 'a b.pb.gz' --hz=50 --threads 3 --depth=64 --signal SIGPROF --mem=1M --labels none \
        --observe=signal --follow fork --overhead 0.5 --log=debug:x.log --timeline 1 --timeline-mem=2M --seed 7 \
        --start 0 --delay 2s --duration=10m --control-signal USR2 --interval-dump 1h --interval-keep=3 env
    for line in "WALLPROF_OUT=$PWD/a b.pb.gz" WALLPROF_HZ=50 WALLPROF_THREADS=3 WALLPROF_DEPTH=64 WALLPROF_SIGNAL=SIGPROF \
        WALLPROF_MEM=1M WALLPROF_LABELS=none WALLPROF_OBSERVE=signal WALLPROF_FOLLOW=fork WALLPROF_OVERHEAD=0.5 WALLPROF_LOG=debug:x.log WALLPROF_TIMELINE=1 \
        WALLPROF_TIMELINE_MEM=2M WALLPROF_SEED=7 WALLPROF_START=0 WALLPROF_DELAY=2s WALLPROF_DURATION=10m WALLPROF_CONTROL_SIGNAL=USR2 \
        WALLPROF_INTERVAL_DUMP=1h WALLPROF_INTERVAL_KEEP=3; do
        prints 'options' "$line"
    done
    WALLPROF_HZ=12 wrapper --seed=1 env
    prints 'inherited variables stay' WALLPROF_HZ=12
    wrapper --out 'a%,b.pb.gz' --out=c.html,d --hz 50 env
    prints 'several outputs' "WALLPROF_OUT=$PWD/a%,b.pb.gz,$PWD/c.html,$PWD/d"
    wrapper --format html,pprof env
    prints 'formats' "WALLPROF_OUT=$PWD/wallprof.%p.html,$PWD/wallprof.%p.pb.gz"
    mkdir x.y x,y
    wrapper --out 'x.y/%n.json.gz' --format callgrind --format folded,firefox,store env
    prints 'formats of a name' "WALLPROF_OUT=$PWD/x.y/%n.callgrind,$PWD/x.y/%n.folded,$PWD/x.y/%n.json.gz,$PWD/x.y/%n.store"
    refuses 125 'there is no format svg' --format pprof,svg true
    wrapper --out 'x,y/z' --format html,folded env
    prints 'a directory with a comma' "WALLPROF_OUT=$PWD/x,y/z.html,$PWD/x,y/z.folded"
    refuses 125 '--format is for one --out' --format pprof --out a.pb.gz,b true
    refuses 125 'each but the last must say its format' --out a --out b.html true
    refuses 125 '--out x.svg: no format has this ending' --out x.svg true
    refuses 125 'the directory of nowhere/x.pb.gz: No such file or directory; make it' -o nowhere/x.pb.gz true
    refuses 125 "no profile can be written to $tmp/dir: Is a directory" -o "$tmp/dir" true
    refuses 125 'WALLPROF_HZ=x is not a whole number from 1 to 10000' --hz x true
    refuses 125 'have no such stream' --out /dev/stdout true
    wrapper env
    # But where the profile goes: programs of the run may be in other directories.
    ok 'nothing is set unasked' [ "$(sed -n 's/^WALLPROF_\([A-Z_]*\)=.*/\1/p' "$tmp/out" | sort | tr '\n' ' ')" = 'OUT STORE WRITTEN ' ]
    prints 'nothing is set unasked' "WALLPROF_OUT=$PWD/"
    prints 'LD_PRELOAD' "LD_PRELOAD=$tmp/lib/libwallprof.so"
    LD_PRELOAD=libc.so.6 wrapper env
    prints 'inherited LD_PRELOAD' "LD_PRELOAD=$tmp/lib/libwallprof.so:libc.so.6"
    env 'not.a-name=a
b' "$run" env >"$tmp/out" 2>"$tmp/err"
    prints 'variables no shell knows' 'not.a-name=a'
    prints 'variables no shell knows, second line' b
    wrapper -oa.pb.gz -o b.html env
    prints '-o' "WALLPROF_OUT=$PWD/a.pb.gz,$PWD/b.html"
    for help in -h --help --help-all; do
        wrapper "$help"
        status_is "$help" 0
        ok "$help" grep -q 'Usage: wallprof-run' "$tmp/out"
        ok "$help is 80 columns wide" [ "$(awk 'length($0) > 80' "$tmp/out" | wc -l)" -eq 0 ]
        [ "$help" = --help-all ] || ok "$help fits a screen" [ "$(wc -l <"$tmp/out")" -le 24 ]
    done
    ok '--help-all has all options' [ "$(grep -o '^  --[a-z-]*' "$tmp/out" | wc -l)" -eq 33 ]
    refuses 125 'unknown option --frequency' --frequency 5 true
    refuses 125 'unknown option -x' -x true
    refuses 125 'option --hz needs a value' --hz
    refuses 125 'option --hz needs a value' --hz= true
    refuses 125 'no program given'
    refuses 125 'no program given' --
}

check_version() {
    version=$(sed -n 's/.*WALLPROF_VERSION "\(.*\)"/\1/p' "$here/../../src/encode/version.h")
    for words in "$here/../../scripts/wallprof-run" "$run" "$build/wallprof run" "$build/wallprof record"; do
        # shellcheck disable=SC2086 # words
        ok "--version of $words" [ "$($words --version)" = "wallprof-run $version" ]
    done
}

# ---- finding the tool and the library ------------------------------------------------------------------------

check_library() {
    ln -sf "$run" "$tmp/work/wallprof-run"
    ok 'through a symbolic link' [ "$(./wallprof-run --quiet env | grep LD_PRELOAD)" = "LD_PRELOAD=$tmp/lib/libwallprof.so" ]
    ok 'through PATH' [ "$(PATH=$tmp/bin:$PATH && wallprof-run --quiet echo 1)" = 1 ]
    mkdir -p tree/scripts tree/build/release alone "with space"
    cp "$here/../../scripts/wallprof-run" tree/scripts/
    tree/scripts/wallprof-run true 2>"$tmp/err"
    status=$?
    status_is 'no tool' 125
    says 'no tool' "the program wallprof is not found; looked in $PWD/tree/scripts $PWD/tree/scripts/../bin $PWD/tree/scripts/../build/release"
    cp "$tmp/bin/wallprof" "$tmp/lib/libwallprof.so" tree/build/release/
    cp "$tmp/bin/wallprof" "$tmp/lib/libwallprof.so" "with space/"
    cp "$tmp/bin/wallprof" alone/
    ln -s "$PWD/tree/scripts/wallprof-run" elsewhere
    for name in tree/scripts/wallprof-run ./elsewhere; do
        ok 'the build tree' [ "$($name --quiet env | grep LD_PRELOAD)" = "LD_PRELOAD=$PWD/tree/build/release/libwallprof.so" ]
    done
    alone/wallprof run true >"$tmp/out" 2>"$tmp/err"
    status=$?
    status_is 'no library' 125
    says 'no library' "libwallprof.so not found; looked in: $PWD/alone $PWD/alone/../lib "
    "with space/wallprof" run true >"$tmp/out" 2>"$tmp/err"
    status=$?
    status_is 'a library LD_PRELOAD cannot name' 125
    says 'a library LD_PRELOAD cannot name' 'space or a colon'
}

# ---- refusals ------------------------------------------------------------------------------------------------

check_not_executable() {
    echo text >plain
    refuses 127 'no-such-program: command not found' no-such-program
    refuses 127 './no-such-file: no such file' ./no-such-file
    refuses 126 'permission denied' ./plain
    refuses 126 'is a directory' "$tmp/dir"
    PATH=$PWD:$PATH refuses 126 'permission denied' plain
    chmod +x plain
    refuses 126 'neither an ELF program nor a script' ./plain
    : >empty
    chmod +x empty
    refuses 126 'neither an ELF program nor a script' ./empty
    rm plain
    script ./orphan '#! /no/such/interpreter -x'
    refuses 127 './orphan: its interpreter /no/such/interpreter: no such file' ./orphan
    script ./env_orphan '#!/usr/bin/env no-such-program'
    refuses 127 'its interpreter no-such-program: command not found' ./env_orphan
    script ./loop "#!$PWD/loop"
    refuses 126 'too many levels' ./loop
    script ./nothing '#! '
    refuses 126 'names no interpreter' ./nothing
}

# A program that is refused, and every way to get at it through a script.
refuses_with_scripts() { # TEXT FILE
    export WALLPROF_EXTERNAL=never
    refuses 125 "$1" "$2"
    script ./s1 "#!$2 -x"
    refuses 125 "./s1: its interpreter $2: $1" ./s1
    script ./s2 "#!$PWD/s1"
    refuses 125 "$1" ./s2
    script ./s3 "#!/usr/bin/env ${2##*/}"
    PATH=${2%/*}:$PATH refuses 125 "$1" ./s3
    script ./s4 "#!/usr/bin/env -S -u X A=1 ${2##*/} -v"
    PATH=${2%/*}:$PATH refuses 125 "$1" ./s4
    unset WALLPROF_EXTERNAL
}

check_elf() {
    echo 'int main(void) { return 0; }' >main.c
    for flags in -static -static-pie; do
        ${CC:-gcc} $flags -o "fixed" main.c 2>/dev/null || { echo "LEFT OUT: $flags: it cannot be linked" && continue; }
        refuses_with_scripts 'statically linked' "$PWD/fixed"
    done
    ${CC:-gcc} -o "other" main.c
    printf '\267\000' | dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null # e_machine: aarch64
    case $(uname -m) in
    aarch64) ;;
    *) refuses_with_scripts 'is for aarch64 (64 bit), libwallprof.so is for' "$PWD/other" ;;
    esac
    ${CC:-gcc} -o "narrow" main.c
    printf '\001' | dd of=narrow bs=1 seek=4 conv=notrunc 2>/dev/null # EI_CLASS: 32 bit
    refuses 125 '(32 bit)' ./narrow
    ${CC:-gcc} -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl main.c
    refuses_with_scripts 'its C library is musl' "$PWD/musl"
    head -c 10 other >short && chmod +x short
    refuses 126 'truncated' ./short
    script ./fine '#!/usr/bin/env -S -u X A=1 sh -e' 'echo "fine $A"'
    wrapper ./fine
    prints 'env -S' 'fine 1'
}

check_privileged() {
    cp "$(command -v sleep)" private
    chmod u+s private
    wrapper ./private 0
    status_is 'set-uid to ourselves' 0
    if [ "$(id -u)" -ne 0 ]; then
        [ ! -u /bin/su ] || refuses 125 'set-uid' /bin/su
        return
    fi
    chown 65534 private
    chmod u+s private
    refuses_with_scripts 'set-uid' "$PWD/private"
    chown 0:65534 private
    chmod 2755 private
    refuses_with_scripts 'set-gid' "$PWD/private"
    chmod 2745 private
    wrapper ./private 0
    status_is 'set-gid without group execution' 0
    check_capabilities
}

check_capabilities() {
    chown 0:0 private && chmod 755 private
    if ! setcap cap_net_raw+p private 2>/dev/null || ! command -v setpriv >/dev/null; then
        echo 'LEFT OUT: capabilities: no setcap here'
        return
    fi
    wrapper ./private 0
    status_is 'file capabilities do not matter to root' 0
    setpriv --reuid=65534 --regid=65534 --clear-groups "$run" "$PWD/private" 0 >"$tmp/out" 2>"$tmp/err"
    status=$?
    status_is 'file capabilities' 125
    says 'file capabilities' 'has file capabilities'
}

# ---- signals -------------------------------------------------------------------------------------------------

# Starts the wrapper in a session of its own, so that no terminal is involved, with a program that handles one signal;
# waits until it does.
start_handler() { # SIGNAL ACTION
    rm -f ready
    setsid env --default-signal=INT --default-signal=QUIT "$run" sh -c \
        "trap '$2' $1; : >ready; while :; do sleep 0.02; done" >"$tmp/out" 2>"$tmp/err" &
    started=$!
    while [ ! -e ready ] && kill -0 $started; do sleep 0.01; done
}

check_forwarding() {
    for signal in TERM HUP INT QUIT USR1 USR2 ALRM; do
        start_handler $signal 'exit 42'
        kill -$signal $started
        wait $started 2>/dev/null
        status=$?
        status_is "$signal sent to the wrapper" 42
    done
    for number in 127 143 0; do # 127 is also what `wait` says of a child it does not know
        start_handler TERM "exit $number"
        kill -TERM $started
        wait $started 2>/dev/null
        status=$?
        status_is "TERM handled by exit $number" $number
    done
    start_handler USR1 :
    kill -TERM $started
    wait $started 2>/dev/null
    status=$?
    status_is 'TERM not handled' 143
    start_handler TERM 'exit 5'
    kill -ALRM $started
    kill -TERM $started
    wait $started 2>/dev/null
    status=$?
    case $status in
    5 | 142) ;;
    *) fail "ALRM and TERM at once: $status" ;;
    esac
}

# KILL and STOP cannot be caught; 32 and 33 are the C library's, and what python can catch are all others.
check_every_signal() {
    cat >receiver.py <<'PY'
import os, signal

every = {*range(1, 65)} - {signal.SIGKILL, signal.SIGSTOP, 32, 33}
signal.pthread_sigmask(signal.SIG_BLOCK, every)
open("ready", "w").close()
while (number := signal.sigwaitinfo(every).si_signo) != signal.SIGTERM:
    with open("got", "a") as got:
        print(number, file=got)
os._exit(42)
PY
    rm -f ready
    # INT and QUIT are ignored in it, as in every background job of a script.
    "$run" --quiet python3 receiver.py >"$tmp/out" 2>"$tmp/err" &
    started=$!
    await_file ready
    for number in $(seq 1 31) $(seq 34 64); do
        case $number in 9 | 15 | 19) continue ;; esac
        kill -"$number" $started
        for _ in $(seq 3000); do
            ! grep -qsx "$number" got || break
            kill -0 $started 2>/dev/null || break
            sleep 0.02
        done
        grep -qx "$number" got || fail "signal $number sent to the wrapper did not reach the program"
    done
    kill -TERM $started
    wait $started 2>/dev/null
    status=$?
    status_is 'after every signal' 42
    ok 'each once' [ "$(wc -l <got)" -eq 59 ]
}

await_file() { # FILE : of a process that $started is
    while [ ! -e "$1" ] && kill -0 $started; do sleep 0.01; done
}

# A signal to the whole group ends program and wrapper's `wait` at the same moment.
check_group_kill() {
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        for signal in TERM HUP INT; do
            start_handler USR1 :
            kill -s $signal -- -$started
            wait $started 2>/dev/null
            status=$?
            status_is "$signal to the group, turn $turn" $((128 + $(signal_number $signal)))
        done
    done
}

check_ignored() {
    for signal in INT QUIT HUP WINCH; do
        (
            trap '' $signal
            exec "$run" --quiet sh -c "kill -$signal \$\$; echo survived"
        ) >"$tmp/out" 2>"$tmp/err"
        prints "$signal ignored by the caller stays ignored" survived
    done
    # Not by a shell, which needs CHLD itself.
    cat >ignoring.py <<'PY'
import os, signal, sys
for number in signal.SIGCHLD, signal.SIGUSR1:
    signal.signal(number, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])
PY
    ours=$(python3 ignoring.py grep SigIgn: /proc/self/status)
    python3 ignoring.py "$run" --quiet sh -c 'exit 9' >"$tmp/out" 2>"$tmp/err"
    status=$?
    status_is 'an ignored CHLD does not take the status' 9
    python3 ignoring.py "$run" grep SigIgn: /proc/self/status >"$tmp/out" 2>"$tmp/err"
    prints 'ignored signals are as the caller left them' "$ours"
    wrapper grep SigBlk: /proc/self/status
    prints 'no signal is blocked' "$(grep SigBlk: /proc/self/status)"
}

# The parent sees how the program has ended, a container's process 1 as far as it can.
check_death() {
    python3 -c 'import subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' \
        "$run" --quiet sh -c 'kill -USR1 $$' >"$tmp/out" 2>"$tmp/err"
    prints 'the wrapper ends by the same signal' -10
    if unshare -pf true 2>/dev/null; then
        unshare -pf "$run" --quiet sh -c 'kill -USR1 $$' >"$tmp/out" 2>"$tmp/err"
        status=$?
        status_is 'as process 1' 138
    else
        echo 'LEFT OUT: process 1: no unshare -p here'
    fi
}

# Nobody waits for a program after which there is nothing to do.
check_replaced() {
    "$run" --quiet --store off sh -c 'echo $$' >"$tmp/out" 2>"$tmp/err" &
    started=$!
    wait $started 2>/dev/null
    prints 'the program takes the place of the wrapper' $started
    wrapper --quiet --store off ./no-such-file
    status_is 'and is refused as ever' 127
}

# The wrapper is stopped through its pid by a shell with job control and no terminal: program and wrapper stop.
check_stop() {
    command -v python3 >/dev/null || { echo 'LEFT OUT: stopping: no python3' && return; }
    cat >stop_job.py <<'PY'
import os, signal, sys, time

def state(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]

def becomes(pid, wanted):
    deadline = time.monotonic() + 5
    while state(pid) not in wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    print(state(pid) in wanted, flush=True)

signal.alarm(30)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.execvp(sys.argv[1], sys.argv[1:])
while not os.path.exists("program_pid"):
    time.sleep(0.01)
program = int(open("program_pid").read())
os.kill(job, signal.SIGTSTP)
_, status = os.waitpid(job, os.WUNTRACED)
print(os.WIFSTOPPED(status))
becomes(program, "T")
os.kill(job, signal.SIGCONT)
becomes(program, "SRD")
os.kill(job, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
PY
    rm -f program_pid
    setsid python3 stop_job.py "$run" --quiet sh -c \
        'echo $$ >.pid; mv .pid program_pid; while :; do sleep 0.02; done' >"$tmp/out" 2>"$tmp/err"
    ok 'TSTP and CONT sent to the wrapper' [ "$(tr '\n' ' ' <"$tmp/out")" = 'True True True -15 ' ]
}

# The terminal's part: a job in the foreground of a pseudo-terminal, started as a job-control shell does.
check_terminal() {
    python3 -c 'import pty' 2>/dev/null || { echo 'LEFT OUT: terminal: no python3' && return; }
    cat >pty_job.py <<'PY'
"""pty_job.py KEYS COMMAND...: runs COMMAND as a foreground job; types one of KEYS at each line READY."""
import fcntl, os, pty, signal, struct, sys, termios, time

def job_states(group):
    states = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            states.append(fields[0])
    return "".join(sorted(set(states)))

def shell(command):
    mode = termios.tcgetattr(0)
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, mode)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpid())
        if not os.WIFSTOPPED(status):
            how = "signal" if os.WIFSIGNALED(status) else "exit"
            print(f"END {how} {os.waitstatus_to_exitcode(status)}", flush=True)
            os._exit(0)
        patience = 100
        while (left := job_states(job).strip("T")) and patience:
            patience -= 1
            time.sleep(0.02)
        print("STOPPED", left or "all", flush=True)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)

keys, command = sys.argv[1], sys.argv[2:]
signal.alarm(10)
pid, master = pty.fork()
if pid == 0:
    shell(command)
seen = b""
while True:
    try:
        data = os.read(master, 1000)
    except OSError:
        break
    if not data:
        break
    seen += data
    while keys and b"READY" in seen:
        before, _, seen = seen.partition(b"READY")
        sys.stdout.write(before.decode())
        if keys[0] == "W": # the window gets another size
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("4H", 10, len(keys), 0, 0))
        else:
            os.write(master, keys[0].encode())
        keys = keys[1:]
sys.stdout.write(seen.decode())
PY
    # Counts a signal for half a second after the first: what the terminal sends must come through, once.
    cat >count.py <<'PY'
import signal, sys
number, count = int(sys.argv[1]), 1
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
print("READY", flush=True)
signal.sigwait([number])
while signal.sigtimedwait([number], 0.5):
    count += 1
print(f"count={count}")
exit(7)
PY
    ctrl_c=$(printf '\003')
    ctrl_z=$(printf '\032')
    ctrl_backslash=$(printf '\034')
    terminal "$ctrl_c" python3 count.py 2
    prints 'Ctrl-C reaches the program once' 'count=1'
    prints 'Ctrl-C: status' 'END exit 7'
    terminal "$ctrl_c" sh -c 'echo READY; sleep 5'
    prints 'Ctrl-C ends program and wrapper, as a shell expects' 'END signal -2'
    terminal "$ctrl_backslash" sh -c 'ulimit -c 0; echo READY; sleep 5'
    prints 'Ctrl-\ ends the program' 'END signal -3'
    # Not dash, which is not stopped while a child that it has vforked is: nobody is told of that.
    terminal "$ctrl_z" python3 -c 'import time; print("READY", flush=True); time.sleep(1); exit(9)'
    prints 'Ctrl-Z stops program and wrapper alike' 'STOPPED all'
    prints 'fg lets both go on' 'END exit 9'
    # As less and vim do: it tidies up, and then stops itself alone.
    cat >tidy.py <<'PY'
import os, signal, sys, time

def tidy(*_):
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGSTOP)
    sys.exit(3)

signal.signal(signal.SIGTSTP, tidy)
print("READY", flush=True)
while True:
    time.sleep(1)
PY
    terminal "$ctrl_z" python3 tidy.py
    prints 'who stops later stops the wrapper then' 'STOPPED all'
    prints 'who has stopped itself goes on' 'END exit 3'
    script ./unstopped '#!/bin/sh' 'trap "" TSTP; echo READY; sleep 0.3; exit 5'
    terminal "$ctrl_z" ./unstopped
    ok 'who does not stop does not stop the wrapper' [ "$(cat "$tmp/out")" = "$(printf '\nEND exit 5')" ]
    terminal W python3 count.py 28
    prints 'a change of the size reaches the program once' 'count=1'
    script ./reader '#!/bin/sh' 'echo READY; echo READY; read -r line; echo "read=$line"; exit 4'
    terminal "y$newline" ./reader
    prints 'the program reads from the terminal' 'read=y'
    prints 'reading: status' 'END exit 4'
}

terminal() { # KEYS COMMAND...
    keys=$1
    shift
    python3 pty_job.py "$keys" "$run" --quiet "$@" 2>"$tmp/err" | tr -d '\r' >"$tmp/out"
}

# ---- the line afterwards -------------------------------------------------------------------------------------

announces() { # DESCRIPTION FILE
    says "$1" "wallprof: profile in $2 -- look at it with: wallprof top $2"
    ok "$1: one line" [ "$(wc -l <"$tmp/err")" -eq 1 ]
}

# In the library's place the program notes what it would have written.
noting() { # COMMANDS : with `note WORD FILE [PID]`
    echo "note() { echo \"\${3:-\$\$} \$1 \$PWD/\$2\" >>\"\$WALLPROF_WRITTEN\"; }; $1"
}

check_announcement() {
    wrapper sh -c "$(noting 'note written a.pb.gz')"
    announces 'the file that was noted' "$PWD/a.pb.gz"
    wrapper --quiet sh -c "$(noting 'note written a.pb.gz')"
    ok '--quiet' [ ! -s "$tmp/err" ]
    wrapper --store off sh -c "$(noting 'note written a.pb.gz; exit 3')"
    status_is 'status with an announcement' 3
    announces 'without a store' "$PWD/a.pb.gz"
    : >fixed.pb.gz
    wrapper --out fixed.pb.gz true
    says 'a file that nobody noted is not announced' 'wallprof: no profile was written'
    wrapper sh -c "$(noting 'note written a,b.html; note written x.html 1; note also x.json 1; note also d.folded; note written a,b.html')"
    says 'the first' "wallprof: profile in $PWD/a,b.html -- open it in a browser"
    says 'one more file' "wallprof: and in $PWD/d.folded -- load it at https://www.speedscope.app"
    says 'of another process' "wallprof: and of another process in $PWD/x.html"
    ok 'each once' [ "$(wc -l <"$tmp/err")" -eq 3 ]
    wrapper sh -c "$(noting 'note written a.pb.gz; note written b.pb.gz 1; note written c.pb.gz 1')"
    says 'of others' "wallprof: and of 2 other processes in $PWD"
    wrapper sh -c "$(noting 'note written a.pb.gz 1')"
    announces 'only of another' "$PWD/a.pb.gz"
    touch a.000002.pb.gz a.000003.pb.gz
    wrapper --interval-dump 1h sh -c "$(noting 'for n in 1 3 2; do note written a.00000$n.pb.gz; done')"
    says 'intervals of which some are gone' "wallprof: 2 profiles, the last in $PWD/a.000003.pb.gz -- "
    mkdir -p "o [d]*\\d it's"
    wrapper sh -c "$(noting "note written \"o [d]*\\\\d it's/x.pb.gz\"")"
    announces 'special characters' "'$PWD/o [d]*\d it'\\''s/x.pb.gz'"
    { "$run" sh -c 'sleep 0.2; exit 6'; echo $? >code; } 2>&1 >/dev/null | :
    ok 'nobody reads stderr' [ "$(cat code)" = 6 ]
    "$run" sh -c 'exit 6' 2>&-
    status=$?
    status_is 'stderr is closed' 6
}

# In a directory of its own: others have stores of theirs in the usual one.
check_profiler() {
    ln -s "$build/libwallprof.so" "$tmp/bin/libwallprof.so"
    mkdir "$tmp/stores"
    export TMPDIR="$tmp/stores"
    for store in auto off; do
        wrapper --store $store --out real.pb.gz sort /dev/null
        status_is 'with the profiler' 0
        announces 'with the profiler' "$PWD/real.pb.gz"
        rm real.pb.gz
        wrapper --store $store --out real.html --top sleep 0.3
        status_is '--top' 0
        says '--top' "wallprof: profile in $PWD/real.html -- open it in a browser"
        says '--top' 'FUNCTION'
        ok 'nothing is left' [ -z "$(ls -A "$TMPDIR")" ]
    done
    wrapper --store "$PWD/x.store" --out elsewhere.pb.gz sleep 0.1
    announces 'with a store elsewhere' "$PWD/elsewhere.pb.gz"
    ok 'nothing is left' [ -z "$(ls -A "$TMPDIR")" ]
    TMPDIR=$tmp/nowhere wrapper --out elsewhere.pb.gz sleep 0.1
    says 'TMPDIR is not there' 'wallprof: the profile is where --out has it'
    ok 'TMPDIR is not there' [ -s elsewhere.pb.gz ]
    rm elsewhere.pb.gz
    unset TMPDIR
    rm "$tmp/bin/libwallprof.so"
}

set_up
check_version
check_library
check_profiler
check_status
check_streams
check_arguments
check_options
check_not_executable
check_elf
check_privileged
check_forwarding
check_every_signal
check_ignored
check_death
check_replaced
check_stop
check_announcement
check_group_kill
check_terminal
[ "$failures" -eq 0 ] || exit 1
