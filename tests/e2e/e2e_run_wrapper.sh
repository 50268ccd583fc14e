#!/bin/sh
# scripts/wallprof-run: what it passes through, what it refuses, what it says. The library is an empty stub, so that
# nothing here depends on the profiler; check_profiler alone uses the real one, where it has been built.
# shellcheck disable=SC2016,SC2030,SC2031 # programs in single quotes; PATH is changed for one command only
set -u
here=$(cd -P -- "$(dirname -- "$0")" && pwd -P)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failures=0
long=${WALLPROF_LONG-} # not for the profiler
unset WALLPROF_LONG
newline='
'

fail() { # DESCRIPTION
    failures=$((failures + 1))
    echo "FAILED ($shell): $1"
    sed 's/^/    stdout: /' "$tmp/out"
    sed 's/^/    stderr: /' "$tmp/err"
}

ok() { # DESCRIPTION COMMAND...
    what=$1
    shift
    "$@" || fail "$what: $*"
}

# Runs the wrapper (a copy beside the stub) in the current directory; sets $status.
wrapper() { # ARGUMENTS...
    # shellcheck disable=SC2086 # the shell may carry an option
    $shell "$run" "$@" >"$tmp/out" 2>"$tmp/err"
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
    cp "$here/../../scripts/wallprof-run" "$tmp/bin/"
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
        ok "death by SIG$name: one line" [ "$(wc -l <"$tmp/err")" -eq 1 ]
    done
}

signal_number() { # NAME
    case $1 in HUP) echo 1 ;; INT) echo 2 ;; KILL) echo 9 ;; USR1) echo 10 ;; SEGV) echo 11 ;; TERM) echo 15 ;; esac
}

check_streams() {
    echo hi >"$tmp/in"
    # shellcheck disable=SC2086
    $shell "$run" cat <"$tmp/in" >"$tmp/out" 2>"$tmp/err"
    prints 'standard input' hi
    ok 'a pipe as standard input' [ "$(echo hi | $shell "$run" --quiet cat)" = hi ]
    wrapper --quiet sh -c 'echo out; echo err >&2'
    ok 'streams stay apart' [ "$(cat "$tmp/out") $(cat "$tmp/err")" = 'out err' ]
    # shellcheck disable=SC2086
    $shell "$run" --quiet sh -c '[ ! -e /proc/self/fd/0 ] && echo closed' <&- >"$tmp/out" 2>"$tmp/err"
    prints 'closed standard input stays closed' closed
    # Descriptors 3 and 9 are the caller's: the program gets those and no others.
    # shellcheck disable=SC2086
    $shell "$run" --quiet sh -c 'cat <&3; cat <&9; for n in 4 5 6 7 8; do [ ! -e /proc/$$/fd/$n ] || echo $n; done' \
        3<"$tmp/in" 9<"$tmp/in" 4<&- 5<&- 6<&- 7<&- 8<&- >"$tmp/out" 2>"$tmp/err"
    ok 'descriptors 3 and 9' [ "$(cat "$tmp/out")" = "$(printf 'hi\nhi')" ]
    check_closing
}

# The program closes its output and goes on: a reader sees the end at once, not when the program ends, which waits for
# that. From then on it takes its time, so that a wrapper that has not waited is found to have ended first.
check_closing() {
    rm -f seen late
    # shellcheck disable=SC2086
    $shell "$run" --quiet sh -c 'exec >&-
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
    wrapper --out 'x.y/%n.json.gz' --format callgrind --format folded,firefox,store env
    prints 'formats of a name' "WALLPROF_OUT=$PWD/x.y/%n.callgrind,$PWD/x.y/%n.folded,$PWD/x.y/%n.json.gz,$PWD/x.y/%n.store"
    refuses 125 'there is no format svg' --format pprof,svg true
    wrapper --out 'x,y/z' --format html,folded env
    prints 'a directory with a comma' "WALLPROF_OUT=$PWD/x,y/z.html,$PWD/x,y/z.folded"
    refuses 125 '--format is for one --out' --format pprof --out a.pb.gz,b true
    refuses 125 'each but the last must say its format' --out a --out b.html true
    refuses 125 '--top needs the program wallprof' --top true
    refuses 125 'have no such stream' --out /dev/stdout true
    wrapper env
    # But where the profile goes: programs of the run may be in other directories.
    ok 'nothing is set unasked' [ "$(grep '^WALLPROF_' "$tmp/out")" = "WALLPROF_OUT=$PWD/" ]
    prints 'LD_PRELOAD' "LD_PRELOAD=$tmp/lib/libwallprof.so"
    LD_PRELOAD=libc.so.6 wrapper env
    prints 'inherited LD_PRELOAD' "LD_PRELOAD=$tmp/lib/libwallprof.so:libc.so.6"
    env 'not.a-name=a
b' "$run" env >"$tmp/out" 2>"$tmp/err"
    prints 'variables no shell knows' 'not.a-name=a'
    prints 'variables no shell knows, second line' b
    for help in --help --help-all; do
        wrapper "$help"
        status_is "$help" 0
        ok "$help" grep -q 'Usage: wallprof-run' "$tmp/out"
        ok "$help is 80 columns wide" [ "$(awk 'length($0) > 80' "$tmp/out" | wc -l)" -eq 0 ]
        [ "$help" = --help-all ] || ok "$help fits a screen" [ "$(wc -l <"$tmp/out")" -le 24 ]
    done
    ok '--help-all has all options' [ "$(grep -o '^  --[a-z-]*' "$tmp/out" | wc -l)" -eq 30 ]
    refuses 125 'unknown option --frequency' --frequency 5 true
    refuses 125 'unknown option -x' -x true
    refuses 125 'option --hz needs a value' --hz
    refuses 125 'option --hz needs a value' --hz= true
    refuses 125 'no program given'
    refuses 125 'no program given' --
}

check_version() {
    version=$(sed -n 's/^VERSION *:= *//p' "$here/../../Makefile")
    ok '--version in the source tree' [ "$("$here/../../scripts/wallprof-run" --version)" = "wallprof-run $version" ]
}

# ---- finding the library -------------------------------------------------------------------------------------

check_library() {
    ln -sf "$run" "$tmp/work/linked"
    ok 'through a symbolic link' [ "$(./linked --quiet env | grep LD_PRELOAD)" = "LD_PRELOAD=$tmp/lib/libwallprof.so" ]
    ok 'through PATH' [ "$(PATH=$tmp/bin:$PATH && wallprof-run --quiet echo 1)" = 1 ]
    mkdir -p tree/scripts tree/build/release beside alone "with space"
    cp "$run" tree/scripts/ && cp "$run" beside/ && cp "$run" alone/ && cp "$run" "with space/"
    cp "$tmp/lib/libwallprof.so" tree/build/release/
    cp "$tmp/lib/libwallprof.so" beside/
    cp "$tmp/lib/libwallprof.so" "with space/"
    ok 'the build tree' [ "$(tree/scripts/wallprof-run --quiet env | grep LD_PRELOAD)" = \
        "LD_PRELOAD=$PWD/tree/build/release/libwallprof.so" ]
    ok 'beside itself' \
        [ "$(beside/wallprof-run --quiet env | grep LD_PRELOAD)" = "LD_PRELOAD=$PWD/beside/libwallprof.so" ]
    sed "s|@LIBDIR@|$tmp/lib|" alone/wallprof-run >alone/installed && chmod +x alone/installed
    ok 'installed' [ "$(alone/installed --quiet env | grep LD_PRELOAD)" = "LD_PRELOAD=$tmp/lib/libwallprof.so" ]
    alone/wallprof-run true >"$tmp/out" 2>"$tmp/err"
    status=$?
    status_is 'no library' 125
    says 'no library' "libwallprof.so not found; looked in: $PWD/alone $PWD/alone/../lib $PWD/alone/../build/release"
    "with space/wallprof-run" true >"$tmp/out" 2>"$tmp/err"
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
    refuses 125 "$1" "$2"
    script ./s1 "#!$2 -x"
    refuses 125 "./s1: its interpreter $2: $1" ./s1
    script ./s2 "#!$PWD/s1"
    refuses 125 "$1" ./s2
    script ./s3 "#!/usr/bin/env ${2##*/}"
    PATH=${2%/*}:$PATH refuses 125 "$1" ./s3
    script ./s4 "#!/usr/bin/env -S -u X A=1 ${2##*/} -v"
    PATH=${2%/*}:$PATH refuses 125 "$1" ./s4
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
    refuses_with_scripts 'linked with musl' "$PWD/musl"
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
    # shellcheck disable=SC2086
    setsid env --default-signal=INT --default-signal=QUIT $shell "$run" sh -c \
        "trap '$2' $1; : >ready; while :; do sleep 0.02; done" >"$tmp/out" 2>"$tmp/err" &
    started=$!
    while [ ! -e ready ] && kill -0 $started; do sleep 0.01; done
}

check_forwarding() {
    for signal in TERM HUP INT QUIT USR1 USR2 ALRM; do
        start_handler $signal 'exit 42'
        kill -$signal $started
        wait $started
        status=$?
        status_is "$signal sent to the wrapper" 42
    done
    for number in 127 143 0; do # 127 is also what `wait` says of a child it does not know
        start_handler TERM "exit $number"
        kill -TERM $started
        wait $started
        status=$?
        status_is "TERM handled by exit $number" $number
    done
    start_handler USR1 :
    kill -TERM $started
    wait $started
    status=$?
    status_is 'TERM not handled' 143
    start_handler TERM 'exit 5'
    kill -ALRM $started
    kill -TERM $started
    wait $started
    status=$?
    case "$shell $status" in
    *' 5' | *' 142') ;;
    bash*' 255') ;; # its wait, rarely: see await_program
    *) fail "ALRM and TERM at once: $status" ;;
    esac
}

# KILL and STOP cannot be caught, and CHLD is the shell's own.
check_every_signal() {
    rm -f ready
    # shellcheck disable=SC2086
    setsid env --default-signal=INT --default-signal=QUIT $shell "$run" --quiet sh -c '
        for number in $(seq 1 31) $(seq 34 64); do
            case $number in 9 | 15 | 17 | 19) ;; *) trap "echo $number >>got" $number ;; esac
        done
        trap "exit 42" TERM
        : >ready
        while :; do sleep 0.02; done' >"$tmp/out" 2>"$tmp/err" &
    started=$!
    while [ ! -e ready ] && kill -0 $started; do sleep 0.01; done
    for number in $(seq 1 31) $(seq 34 64); do
        case $number in 9 | 15 | 17 | 19) continue ;; esac
        : >got
        kill -"$number" $started
        for turn in $(seq 500); do
            ! grep -qx "$number" got || break
            kill -0 $started 2>/dev/null || break
            sleep 0.02
        done
        grep -qx "$number" got || fail "signal $number sent to the wrapper did not reach the program (turn $turn)"
    done
    kill -TERM $started
    wait $started
    status=$?
    status_is 'after every signal' 42
}

# A signal to the whole group ends program and wrapper's `wait` at the same moment.
check_group_kill() {
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        for signal in TERM HUP INT; do
            start_handler USR1 :
            kill -s $signal -- -$started
            wait $started
            status=$?
            status_is "$signal to the group, turn $turn" $((128 + $(signal_number $signal)))
        done
    done
}

check_ignored() {
    # shellcheck disable=SC2016
    for signal in INT QUIT HUP; do
        (
            trap '' $signal
            # shellcheck disable=SC2086
            exec $shell "$run" --quiet sh -c "kill -$signal \$\$; echo survived"
        ) >"$tmp/out" 2>"$tmp/err"
        prints "$signal ignored by the caller stays ignored" survived
    done
    wrapper grep SigIgn: /proc/self/status
    ours=$(grep SigIgn: /proc/self/status)
    prints 'ignored signals are as the caller left them' "$ours"
    wrapper grep SigBlk: /proc/self/status
    prints 'no signal is blocked' "$(grep SigBlk: /proc/self/status)"
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
    # shellcheck disable=SC2086
    setsid python3 stop_job.py ${shell:-/bin/sh} "$run" --quiet sh -c \
        'echo $$ >.pid; mv .pid program_pid; while :; do sleep 0.02; done' >"$tmp/out" 2>"$tmp/err"
    ok 'TSTP and CONT sent to the wrapper' [ "$(tr '\n' ' ' <"$tmp/out")" = 'True True True 143 ' ]
}

# The terminal's part: a job in the foreground of a pseudo-terminal, started as a job-control shell does.
check_terminal() {
    python3 -c 'import pty' 2>/dev/null || { echo 'LEFT OUT: terminal: no python3' && return; }
    cat >pty_job.py <<'PY'
"""pty_job.py KEYS COMMAND...: runs COMMAND as a foreground job; types one of KEYS at each line READY."""
import os, pty, signal, sys, termios, time

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
        # D is a shell whose vforked child was stopped before its exec.
        while (left := job_states(job).strip("DT")) and patience:
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
        os.write(master, keys[0].encode())
        keys = keys[1:]
sys.stdout.write(seen.decode())
PY
    # Counts its interrupts for half a second after the first: Ctrl-C must come through, once.
    script ./count_int '#!/bin/sh' 'trap "n=\$((n + 1))" INT; n=0; echo READY
        while [ $n -eq 0 ]; do sleep 0.05; done
        sleep 0.5; echo "count=$n"; exit 7'
    ctrl_c=$(printf '\003')
    ctrl_z=$(printf '\032')
    ctrl_backslash=$(printf '\034')
    terminal "$ctrl_c" ./count_int
    prints 'Ctrl-C reaches the program once' 'count=1'
    prints 'Ctrl-C: status' 'END exit 7'
    terminal "$ctrl_c" sh -c 'echo READY; sleep 5'
    prints 'Ctrl-C ends program and wrapper, as a shell expects' 'END signal -2'
    terminal "$ctrl_backslash" sh -c 'ulimit -c 0; echo READY; sleep 5'
    prints 'Ctrl-\ ends the program' 'END exit 131'
    script ./stopping '#!/bin/sh' 'echo READY; i=0; while [ $i -lt 10 ]; do sleep 0.1; i=$((i + 1)); done; exit 9'
    terminal "$ctrl_z" ./stopping
    prints 'Ctrl-Z stops program and wrapper alike' 'STOPPED all'
    prints 'fg lets both go on' 'END exit 9'
    script ./reader '#!/bin/sh' 'echo READY; echo READY; read -r line; echo "read=$line"; exit 4'
    terminal "y$newline" ./reader
    prints 'the program reads from the terminal' 'read=y'
    prints 'reading: status' 'END exit 4'
}

terminal() { # KEYS COMMAND...
    keys=$1
    shift
    # shellcheck disable=SC2086
    python3 pty_job.py "$keys" $shell "$run" --quiet "$@" 2>"$tmp/err" | tr -d '\r' >"$tmp/out"
}

# ---- the line afterwards -------------------------------------------------------------------------------------

announces() { # DESCRIPTION FILE
    says "$1" "wallprof: profile in $2 -- look at it with: go tool pprof -top $2"
    ok "$1: one line" [ "$(wc -l <"$tmp/err")" -eq 1 ]
}

# The program writes the file itself, in the library's place.
check_announcement() {
    wrapper sh -c 'echo $$ >pid; : >wallprof.$$.pb.gz'
    announces 'default name' "$PWD/wallprof.$(cat pid).pb.gz"
    wrapper --quiet sh -c ': >wallprof.$$.pb.gz'
    ok '--quiet' [ ! -s "$tmp/err" ]
    wrapper --out fixed.pb.gz sh -c ': >fixed.pb.gz.new; mv fixed.pb.gz.new fixed.pb.gz; exit 3'
    status_is 'status with an announcement' 3
    announces 'fixed name' "$PWD/fixed.pb.gz"
    wrapper --out fixed.pb.gz true
    says 'an old file is not announced' 'wallprof: no profile was written'
    wrapper --out fixed.pb.gz sh -c ': >fixed.pb.gz.new; mv fixed.pb.gz.new fixed.pb.gz'
    announces 'a file that is replaced' "$PWD/fixed.pb.gz"
    WALLPROF_OUT=$tmp/from_env.pb.gz wrapper sh -c ": >$tmp/from_env.pb.gz"
    announces 'name from the environment' "$tmp/from_env.pb.gz"
    wrapper --out '%h-%t-%%-%p.pb.gz' sh -c 'echo $$ >pid; : >"$(uname -n)-20200102T030405Z-%-$$.pb.gz"'
    announces 'pattern' "$PWD/$(uname -n)-20200102T030405Z-%-$(cat pid).pb.gz"
    sh_name=$(basename "$(readlink -f "$(command -v sh)")")
    wrapper --out '%n.pb.gz' sh -c ": >$sh_name.pb.gz; sleep 0.01; : >child.pb.gz"
    announces 'program name' "$PWD/$sh_name.pb.gz"
    wrapper --out '%n.pb.gz' sh -c ': >exec.pb.gz; exec true'
    announces 'program name after exec' "$PWD/exec.pb.gz"
    wrapper --out 'a%,b.html,c.callgrind' --out d.pb.gz sh -c ': >a,b.html; : >d.pb.gz'
    says 'a comma' "wallprof: profile in $PWD/a,b.html -- open it in a browser"
    says 'another' "wallprof: and in $PWD/d.pb.gz -- look at it with: go tool pprof -top $PWD/d.pb.gz"
    ok 'those that are there' [ "$(wc -l <"$tmp/err")" -eq 2 ]
    mkdir -p 'o [d]*\d'
    wrapper --out 'o [d]*\d/%p.pb.gz' sh -c 'echo $$ >pid; : >"o [d]*\d/$$.pb.gz"'
    announces 'special characters' "'$PWD/o [d]*\d/$(cat pid).pb.gz'"
    # shellcheck disable=SC2086
    { $shell "$run" sh -c 'sleep 0.2; exit 6'; echo $? >code; } 2>&1 >/dev/null | :
    ok 'nobody reads stderr' [ "$(cat code)" = 6 ]
    $shell "$run" sh -c 'exit 6' 2>&-
    status=$?
    status_is 'stderr is closed' 6
}

check_profiler() {
    [ -n "${WALLPROF_BUILD-}" ] && [ -e "$WALLPROF_BUILD/libwallprof.so" ] || return 0
    ln -sf "$WALLPROF_BUILD/libwallprof.so" "$tmp/bin/libwallprof.so"
    tool=$WALLPROF_BUILD/wallprof
    unset WALLPROF_BUILD WALLPROF_PPROF WALLPROF_RUN # not for the profiler
    wrapper --out real.pb.gz sort /dev/null
    status_is 'with the profiler' 0
    announces 'with the profiler' "$PWD/real.pb.gz"
    if [ -x "$tool" ]; then
        ln -sf "$tool" "$tmp/bin/wallprof"
        # In a directory of its own: others have stores of theirs in the usual one.
        mkdir "$tmp/stores"
        (TMPDIR=$tmp/stores && export TMPDIR && wrapper --out real.html --top sleep 0.3 && exit "$status")
        status=$?
        status_is '--top' 0
        says '--top' "wallprof: profile in $PWD/real.html -- open it in a browser"
        says '--top' 'FUNCTION'
        ok '--top leaves nothing' [ -z "$(ls -A "$tmp/stores")" ]
        rm "$tmp/bin/wallprof"
    fi
    rm "$tmp/bin/libwallprof.so"
}

every_shell() {
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
    check_stop
    check_announcement
    rm -rf "${tmp:?}/work/"*
}

shell=
set_up
check_version
check_library
check_profiler
every_shell
check_group_kill
check_terminal
# bash is not asked for the two above: its `wait` can lose a child that ends at the moment of a signal.
if [ "$long" = 1 ] && command -v bash >/dev/null; then
    shell='bash --posix'
    every_shell
fi
[ "$failures" -eq 0 ] || exit 1
