#!/bin/bash
# Where a process cannot be looked at from outside, wallprof says why, in words: of another user, private, a thread of the kernel,
# without CAP_SYS_PTRACE, under a filter of system calls, and where Yama is in the way.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator has no ptrace"
[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
need setpriv

NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$TMP" # for that user
cp "$BUILD/wallprof" "$TARGETS/target_attached" "$TMP"
WALLPROF=$TMP/wallprof
subject=
SCOPE=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo none)

# shellcheck disable=SC2317 # called at the end
on_exit() {
    [ -z "$subject" ] || kill -KILL "$subject" 2>/dev/null
}

# Starts target_attached, and waits until it is ready. Its pid is in $subject.
begin() { # HOW PREFIX...
    local how=$1
    shift
    rm -f "$TMP/in" "$TMP/out"
    mkfifo "$TMP/in"
    "$@" "$TMP/target_attached" "$how" <"$TMP/in" >"$TMP/out" &
    subject=$!
    exec 3>"$TMP/in"
    until grep -q ready "$TMP/out"; do
        kill -0 "$subject" 2>/dev/null || fail "the target has not begun"
        sleep 0.01
    done
}

end() {
    exec 3>&-
    wait "$subject"
    subject=
}

refuses() { # PATTERN STATUS COMMAND...
    local pattern=$1 status=$2 found
    shift 2
    "$@" >"$TMP/said" 2>&1
    found=$?
    { grep -q -- "$pattern" "$TMP/said" && [ "$found" -eq "$status" ] && [ "$(wc -l <"$TMP/said")" -eq 1 ]; } ||
        complain "$*: status $found, says $(cat "$TMP/said")"
}

# A process of another user, and of one's own that is not dumpable.
check_owners() {
    begin work
    refuses "process $subject belongs to user 0: only that user and root may look at it" 1 "${NOBODY[@]}" "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$subject"
    end
    [ "$SCOPE" != 3 ] || { leave_out private 'Yama allows nobody to look at a process' && return; }
    begin private "${NOBODY[@]}"
    refuses "process $subject has made itself private" 1 "${NOBODY[@]}" "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$subject"
    end
}

check_kernel_thread() {
    local pid
    for pid in 2 3; do
        if [ -e "/proc/$pid/stat" ] && [ -z "$(tr -d '\0' <"/proc/$pid/cmdline")" ] && [ "$(ps -o stat= -p "$pid" | cut -c1)" != Z ]; then
            refuses "process $pid is a thread of the kernel: it runs no program" 1 "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$pid"
            return
        fi
    done
    leave_out kernel-thread 'none is seen from here, as in a container'
}

# As in a container: root, but without the right. Where the target has been started without it too, nothing is refused.
check_capability() {
    local bounds
    bounds=$(awk '$1 == "CapBnd:" { print $2 }' /proc/self/status)
    (((16#$bounds >> 19) & 1)) || { leave_out capability 'nobody here has CAP_SYS_PTRACE' && return; }
    [ "$SCOPE" != 3 ] || { leave_out capability 'Yama allows nobody to look at a process' && return; }
    begin work
    refuses "this root lacks CAP_SYS_PTRACE" 1 setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$subject"
    end
}

check_filter() {
    cat >"$TMP/filter.c" <<'SOURCE'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Executes its arguments with ptrace forbidden. */
int main(int argc, char **argv)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    (void)argc;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        execv(argv[1], argv + 1);
    return 99;
}
SOURCE
    "${CC:-gcc}" -o "$TMP/filter" "$TMP/filter.c" || fail "the filter is not built"
    "$TMP/filter" /bin/true || { leave_out filter 'nobody may set one here' && return; }
    begin work
    refuses "a filter of system calls (seccomp) forbids ptrace here" 1 "$TMP/filter" "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$subject"
    end
    refuses "/true cannot be recorded from outside: a filter of system calls (seccomp) forbids ptrace" 125 "$TMP/filter" "$WALLPROF" run --external /bin/true
}

# A debugger of the tool itself sees its children first.
check_tracer() {
    type -P strace >/dev/null || { leave_out tracer 'strace is not installed' && return; }
    refuses "cannot be recorded from outside: process [0-9]* (strace) traces it already" 125 strace -f -o /dev/null "$WALLPROF" run --external /bin/true
}

check_yama() {
    [ "$SCOPE" != none ] || { leave_out yama 'this kernel does not have it' && return; }
    [ "$SCOPE" -gt 0 ] || { leave_out yama 'it is off' && return; }
    begin work "${NOBODY[@]}"
    refuses "kernel.yama.ptrace_scope is $SCOPE" 1 "${NOBODY[@]}" "$WALLPROF" attach -d 1s -o "$TMP/unwanted.pb.gz" "$subject"
    end
}

check_owners
check_kernel_thread
check_capability
check_filter
check_tracer
check_yama
exit "$bad"
