#!/bin/bash
# wallprof run records programs from outside that a preload cannot reach, says so in one line, and they do not notice:
# static ones of C, Rust and Go, one of musl, and one that is set-uid. What they start is recorded too. See docs/design/external.md.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator has no ptrace"

WALLPROF=$BUILD/wallprof
PROGRAM='
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t wanted, is_over;

static void note(int number) { wanted = number; }

__attribute__((noinline)) void spin_here(long until_ms)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until_ms);
    __asm__ volatile("");
}

__attribute__((noinline)) void sleep_here(void)
{
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    __asm__ volatile("");
}

static void *thread(void *argument)
{
    while (!is_over)
        sleep_here();
    return argument;
}

/* Each process says who it is, waits until it may go on, and has a function of its own. */
__attribute__((noinline)) void await(const char *who)
{
    char byte;
    printf("%s %d\n", who, getpid());
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    spin_here(100);
}

__attribute__((noinline)) void be_forked(void)
{
    await("forked");
    __asm__ volatile("");
}

__attribute__((noinline)) void be_executed(void)
{
    await("executed");
    __asm__ volatile("");
}

__attribute__((noinline)) void be_grandchild(void)
{
    await("grandchild");
    __asm__ volatile("");
}

static int family(void)
{
    if (fork() == 0) {
        be_forked();
        _exit(0);
    }
    if (fork() == 0) {
        execl("/proc/self/exe", "again", "executed", NULL);
        _exit(1);
    }
    await("first");
    while (wait(NULL) > 0)
        ;
    return 5;
}

static int executed(void)
{
    if (fork() == 0) {
        be_grandchild();
        _exit(0);
    }
    be_executed();
    wait(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t sleeper;
    if (argc > 1 && strcmp(argv[1], "family") == 0)
        return family();
    if (argc > 1 && strcmp(argv[1], "executed") == 0)
        return executed();
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        signal(SIGTERM, note);
        puts("ready");
        fflush(stdout);
        while (!wanted)
            pause();
        printf("signal %d\n", wanted);
        return 7;
    }
    if (argc > 1 && strcmp(argv[1], "again") == 0)
        execl("/proc/self/exe", argv[0], "wait", NULL);
    pthread_create(&sleeper, NULL, thread, NULL);
    spin_here(200);
    is_over = 1;
    pthread_join(sleeper, NULL);
    printf("%d arguments, preload %s\n", argc, getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
    return 3;
}
'

ARGUMENTS=(a b) # of the programs
run='' program='' recorder='' first='' # processes that may be left

# shellcheck disable=SC2317 # called at the end
on_exit() {
    local pid
    for pid in $run $program $recorder $first; do
        kill -KILL "$pid" 2>/dev/null
    done
}

# Waits until COMMAND succeeds.
wait_for() { # WHAT COMMAND...
    local what=$1 begin=$SECONDS
    shift
    until "$@"; do
        [ $((SECONDS - begin)) -lt "$HANG_S" ] || fail "$what: not within $HANG_S s"
        sleep 0.01
    done
}

# shellcheck disable=SC2317 # wait_for calls it
has_store() { # DIRECTORY PID
    [ -n "$(find "$1" -name "wallprof.$2.*.live.store" 2>/dev/null)" ]
}

# Also one that nobody reaps.
# shellcheck disable=SC2317 # wait_for calls it
is_gone() { # PID
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# shellcheck disable=SC2317 # wait_for calls it
has_lines() { # FILE NUMBER
    [ "$(wc -l <"$1")" -eq "$2" ]
}

# Its output and status as bare, a profile with its functions, and one line that says why it is recorded so.
check() { # NAME WHY PROGRAM FUNCTIONS...
    local name=$1 why=$2 program=$3 bare status function
    shift 3
    echo "== $name"
    bare=$("$program" "${ARGUMENTS[@]}")
    status=$?
    WALLPROF_OVERHEAD=off "$WALLPROF" run -o "$TMP/$name.pb.gz" "$program" "${ARGUMENTS[@]}" >"$TMP/stdout" 2>"$TMP/stderr"
    assert_equal "exit status of $name" "$?" "$status"
    assert_equal "output of $name" "$(cat "$TMP/stdout")" "$bare"
    assert_equal "what is said of $name" "$(sed -n 1p "$TMP/stderr")" "wallprof: $program: $why: recorded from outside"
    assert_equal "the second line" "$(sed -n '2s/ -- .*//p' "$TMP/stderr")" "wallprof: profile in $TMP/$name.pb.gz"
    assert_equal "lines on stderr" "$(wc -l <"$TMP/stderr")" 2
    check_profile "$TMP/$name.pb.gz"
    read_pprof comments "$TMP/$name.pb.gz"
    for function in "$@"; do
        assert_function "$TMP/$name.pb.gz" "$function"
    done
    refuse "$name" "$why" "$program"
}

# With the choice taken away it is refused.
refuse() { # NAME WHY PROGRAM
    WALLPROF_EXTERNAL=never "$WALLPROF" run -o "$TMP/never.pb.gz" "$3" >"$TMP/stdout" 2>"$TMP/stderr"
    assert_equal "status of $1 that is refused" "$?" 125
    grep -qF "$3: $2" "$TMP/stderr" || fail "the refusal of $1 says $(cat "$TMP/stderr")"
    [ ! -e "$TMP/never.pb.gz" ] || fail "$1 is refused, and has a profile"
}

# Stacks end where threads begin: 99 % of the samples at one of these functions, as check_roots has it for shared C libraries.
assert_rooted() { # NAME FUNCTIONS (a regular expression)
    read_pprof roots "$TMP/$1.pb.gz" >"$TMP/roots"
    awk -v "root=^($2)\$" '{ all += $3; if ($5 ~ root) good += $3 } END { exit !(all && good >= 0.99 * all) }' "$TMP/roots" && return
    cat "$TMP/roots"
    fail "stacks of $1 do not end where its threads begin"
}

build_c() { # NAME COMPILER FLAGS...
    local name=$1
    shift
    printf '%s' "$PROGRAM" >"$TMP/main.c"
    "$@" -g -O1 -o "$TMP/$name" "$TMP/main.c" -lpthread
}

check_static() {
    build_c static "${CC:-gcc}" -static || skip "nothing can be linked statically"
    check static "statically linked" "$TMP/static" spin_here sleep_here main
    assert_rooted static '_start|clone3?'
}

check_musl() {
    type -P musl-gcc >/dev/null || { leave_out musl 'the package musl-tools is not installed' && return; }
    build_c musl musl-gcc
    check musl "its C library is musl" "$TMP/musl" spin_here
}

# Without symbols, as it is.
check_busybox() {
    local busybox
    busybox=$(type -P busybox || echo none)
    { [ -x "$busybox" ] && ! ldd "$busybox" >/dev/null 2>&1; } || { leave_out busybox 'there is no static busybox' && return; }
    # shellcheck disable=SC2016 # the inner shell's
    local ARGUMENTS=(sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo "$i"; exit 3')
    check busybox "statically linked" "$busybox"
}

check_go() {
    type -P go >/dev/null || { leave_out go 'go is not installed' && return; }
    cat >"$TMP/main.go" <<'SOURCE'
package main

import (
	"fmt"
	"os"
)

//go:noinline
func spinHere(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		sum += i ^ sum
	}
	return sum
}

func main() {
	done := make(chan int)
	go func() { done <- spinHere(500000000) }()
	fmt.Println(len(os.Args), "arguments", <-done)
	os.Exit(3)
}
SOURCE
    (cd "$TMP" && HOME=$TMP GOCACHE=$TMP/cache GO111MODULE=off CGO_ENABLED=0 go build -o go main.go) || fail "go does not build"
    check go "statically linked" "$TMP/go" main.spinHere
    # goroutines begin there; what the runtime does on stacks of its own has no tables
    "$WALLPROF" export -o "$TMP/go.folded" "$TMP/go.pb.gz" 2>/dev/null || fail "the profile of go cannot be exported"
    awk '/;main.spinHere / { all += $NF; if (/;runtime.goexit[^;]*;main.main.func1;main.spinHere /) good += $NF }
        END { exit !(all && good >= 0.99 * all) }' "$TMP/go.folded" || fail "goroutines do not end where they begin: $(cat "$TMP/go.folded")"
}

check_rust() {
    local rustc=${RUSTC:-$(type -P rustc || echo "$HOME/.cargo/bin/rustc")}
    "$rustc" --version >/dev/null 2>&1 || { leave_out rust 'rustc is not installed' && return; }
    cat >"$TMP/main.rs" <<'SOURCE'
use std::hint::black_box;

#[inline(never)]
#[no_mangle]
pub extern "C" fn spin_here() -> u64 {
    let mut sum = 0;
    for i in 0..200000000u64 {
        sum = black_box(sum ^ i);
    }
    sum | 1
}

fn main() {
    let rounds = std::thread::spawn(|| spin_here()).join().unwrap();
    println!("{} arguments", std::env::args().count());
    std::process::exit(if rounds > 0 { 3 } else { 4 });
}
SOURCE
    "$rustc" -g -O -C target-feature=+crt-static -o "$TMP/rust" "$TMP/main.rs" || { leave_out rust 'rustc does not link statically' && return; }
    check rust "statically linked" "$TMP/rust" spin_here
    assert_rooted rust '_start|clone3?'
}

check_private() {
    [ "$(id -u)" -eq 0 ] || { leave_out set-uid 'only root can make such a program, and trace it' && return; }
    { ! grep -q '^NoNewPrivs:.1' /proc/self/status && ! findmnt -no OPTIONS -T "$TMP" 2>/dev/null | grep -qw nosuid; } ||
        { leave_out set-uid 'no program gets privileges here' && return; }
    (((16#$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 19) & 1)) || { leave_out set-uid 'this root lacks CAP_SYS_PTRACE' && return; }
    build_c private "${CC:-gcc}"
    chmod 755 "$TMP" # for that user
    chown 65534 "$TMP/private" && chmod 4755 "$TMP/private"
    check set-uid set-uid "$TMP/private" spin_here sleep_here
    check_roots "$TMP/set-uid.pb.gz"
}

# Where nobody has to choose, the user can; and a script is what its interpreter is.
check_choice() {
    echo "== choice"
    build_c dynamic "${CC:-gcc}"
    "$WALLPROF" run --external -o "$TMP/asked.pb.gz" "$TMP/dynamic" a b >"$TMP/stdout" 2>"$TMP/stderr"
    assert_equal "exit status" "$?" 3
    assert_equal "output" "$(cat "$TMP/stdout")" "3 arguments, preload none"
    assert_equal "lines on stderr" "$(wc -l <"$TMP/stderr")" 1
    check_profile "$TMP/asked.pb.gz"
    check_roots "$TMP/asked.pb.gz"
    assert_function "$TMP/asked.pb.gz" spin_here
    printf '#!%s\n' "$TMP/static" >"$TMP/script"
    chmod +x "$TMP/script"
    "$WALLPROF" run -o "$TMP/script.pb.gz" "$TMP/script" >/dev/null 2>"$TMP/stderr"
    assert_equal "exit status of a script" "$?" 3
    grep -qF "wallprof: $TMP/script: its interpreter $TMP/static: statically linked: recorded" "$TMP/stderr" || fail "of a script it says $(cat "$TMP/stderr")"
    assert_function "$TMP/script.pb.gz" spin_here
    "$WALLPROF" run --external --delay 1s "$TMP/dynamic" >/dev/null 2>"$TMP/stderr"
    assert_equal "status with --delay" "$?" 125
    "$WALLPROF" run --quiet -o "$TMP/quiet.pb.gz" "$TMP/static" >/dev/null 2>"$TMP/stderr"
    assert_equal "what --quiet says" "$(cat "$TMP/stderr")" ""
    assert_function "$TMP/quiet.pb.gz" spin_here
}

# A process that executes another program is that one: its store says so while it is recorded, and its profile.
check_exec() {
    mkdir "$TMP/exec"
    # shellcheck disable=SC2016 # the inner shell's
    execute other "$TMP/dynamic" sh -c 'exec "$0" wait' "$TMP/dynamic"
    execute same "$TMP/static" "$TMP/static" again
}

# shellcheck disable=SC2317 # wait_for calls it
is_executed() { # PROGRAM
    grep -qas "$1 wait" "$TMP"/exec/*/*.live.store && grep -q ready "$TMP/said"
}

execute() { # NAME PROGRAM COMMAND...
    local name=$1 into=$2
    shift 2
    echo "== exec of the $name program"
    TMPDIR=$TMP/exec "$WALLPROF" run --external -o "$TMP/exec-$name.pb.gz" "$@" >"$TMP/said" 2>"$TMP/stderr" &
    run=$!
    wait_for "the exec of the $name program is seen" is_executed "$into"
    kill -TERM "$run"
    wait "$run"
    assert_equal "status after an exec" "$?" 7
    run=
    read_pprof comments "$TMP/exec-$name.pb.gz" | grep -Fx "command: $into wait" >/dev/null || fail "the profile says $(read_pprof comments "$TMP/exec-$name.pb.gz")"
}

# Starts the program that waits for a signal, under wallprof run: $run. Its own pid is in $program.
begin() { # NAME
    rm -f "$TMP/said"
    "$WALLPROF" run -o "$TMP/$1.pb.gz" "$TMP/static" wait >"$TMP/said" 2>"$TMP/$1.err" &
    run=$!
    wait_for "$1: it begins" grep -qs ready "$TMP/said"
    program=$(pgrep -P "$run" -x static)
    recorder=$(pgrep -P "$run" -x wallprof)
    wait_for "$1: it is recorded" has_store "${TMPDIR:-/tmp}" "$program"
}

assert_ending() { # NAME TEXT
    read_pprof comments "$TMP/$1.pb.gz" | grep -F -- "$2" >/dev/null || fail "of $1 the profile says $(read_pprof comments "$TMP/$1.pb.gz")"
}

# Signals reach the program, and whoever is killed, it ends by itself and there is a profile.
check_ends() {
    echo "== ends"
    begin term
    kill -TERM "$run"
    wait "$run"
    assert_equal "status after SIGTERM" "$?" 7
    assert_equal "output after SIGTERM" "$(tail -n 1 "$TMP/said")" "signal 15"
    check_profile "$TMP/term.pb.gz"
    begin killed
    kill -KILL "$program"
    wait "$run" 2>/dev/null
    assert_equal "status of a program that is killed" "$?" 137
    assert_ending killed "killed by signal 9 (KILL)"
    begin recorder
    kill -KILL "$recorder"
    kill -TERM "$program"
    wait "$run"
    assert_equal "status without the recorder" "$?" 7
    check_profile "$TMP/recorder.pb.gz"
    assert_ending recorder "ended with status 7; its recorder was killed before"
    begin run
    kill -KILL "$run"
    wait "$run" 2>/dev/null
    grep -q '^TracerPid:.0' "/proc/$program/status" || fail "it is traced still"
    kill -TERM "$program"
    wait_for "the recorder makes the profile" [ -s "$TMP/run.pb.gz" ]
    check_profile "$TMP/run.pb.gz"
    wait_for "the recorder ends" is_gone "$recorder"
    assert_equal "what the program says without wallprof run" "$(tail -n 1 "$TMP/said")" "signal 15"
    run='' program='' recorder=''
}

# Waits until each process of the family has said its number, and is recorded. Their numbers are in $family, the first one's in
# $first; the family goes on when descriptor 3 is closed.
await_family() {
    local pid
    wait_for "all of the family begin" has_lines "$TMP/said" 4
    family=$(awk '{ print $2 }' "$TMP/said") first=$(awk '$1 == "first" { print $2 }' "$TMP/said")
    for pid in $family; do
        wait_for "process $pid is recorded" has_store "$TMP/runs" "$pid"
    done
}

assert_family() { # NAME
    local who pid file
    while read -r who pid; do
        file=$TMP/$1.$pid.pb.gz
        [ "$who" != first ] || file=$TMP/$1.pb.gz
        check_profile "$file"
        assert_rooted "$(basename "$file" .pb.gz)" '_start|clone3?'
        [ "$who" = first ] || assert_function "$file" "be_$who"
        assert_function "$file" await
    done <"$TMP/said"
    [ -z "$(ls "$TMP/runs")" ] || fail "$(ls "$TMP/runs") is left"
}

# The recorders of children, which end after the first one.
# shellcheck disable=SC2317 # wait_for calls it
has_no_recorder() {
    ! pgrep -f "attach --run $TMP/runs" >/dev/null
}

# Whether processes that are not our children may be recorded; else the reason is in $TMP/refused. The family waits meanwhile.
may_attach() {
    "$WALLPROF" attach -q -d 50ms -o "$TMP/permission.pb.gz" "$first" 2>"$TMP/refused" || ! grep -qE 'ptrace_scope|CAP_SYS_PTRACE|does not allow' "$TMP/refused"
}

# Processes that it starts are recorded too: forked, executed, and theirs.
check_follow() {
    echo "== follow"
    local family round
    mkdir "$TMP/runs" && rm -f "$TMP/said"
    mkfifo "$TMP/in"
    TMPDIR=$TMP/runs "$WALLPROF" run --overhead off -o "$TMP/run-family.pb.gz" "$TMP/static" family <"$TMP/in" >"$TMP/said" 2>"$TMP/stderr" &
    run=$!
    exec 3>"$TMP/in"
    await_family
    exec 3>&-
    wait "$run"
    assert_equal "status of a family" "$?" 5
    grep -q "and of 3 other processes in" "$TMP/stderr" || fail "of a family it says $(cat "$TMP/stderr")"
    assert_family run-family
    for round in attach killed; do
        rm -f "$TMP/said"
        "$TMP/static" family <"$TMP/in" >"$TMP/said" &
        exec 3>"$TMP/in"
        wait_for "all of the family begin" has_lines "$TMP/said" 4
        first=$(awk '$1 == "first" { print $2 }' "$TMP/said")
        may_attach || { exec 3>&- && leave_out follow "$(cat "$TMP/refused")" && return; }
        TMPDIR=$TMP/runs env --ignore-signal=CHLD "$WALLPROF" attach --follow -v --overhead off -o "$TMP/$round.pb.gz" "$first" 2>"$TMP/stderr" 3>&- &
        run=$!
        await_family
        [ "$round" != killed ] || { kill -KILL "$run" && wait_for "recorders end with the first one" has_no_recorder; }
        exec 3>&-
        wait "$first"
        assert_equal "status of a family that is attached to" "$?" 5
        wait "$run" 2>/dev/null
        [ "$round" = killed ] && continue
        assert_family "$round"
        ! grep "could not be recorded" "$TMP/stderr" || fail "with SIGCHLD ignored by its parent"
        grep -q "threads stood still [1-9]" "$TMP/stderr" || fail "with --follow -v it says $(cat "$TMP/stderr")"
    done
    assert_equal "stores that are left" "$(find "$TMP/runs" -name '*.live.store' | wc -l)" 4
    "$WALLPROF" recover "$TMP"/runs/* >/dev/null || fail "what was recorded before the kill cannot be had"
    assert_rooted killed '_start|clone3?'
    assert_ending killed "how it ended is not known: its recorder was killed"
}

check_static
check_choice
check_exec
check_follow
check_ends
check_musl
check_busybox
check_go
check_rust
check_private
exit "$bad"
