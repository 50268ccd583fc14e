#!/bin/bash
# Programs that are started under a filter of system calls. WALLPROF_SECCOMP=strict does with what common sandboxes allow;
# and a call that is answered with an error, as containers do, neither changes the program nor leaves an empty profile
# without a word.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

judge() { # COMMAND ARGUMENTS...
    "$PYTHON" "$TESTS/judges/judge_calls.py" "$ROOT" "$@" || fail "judge_calls.py $*"
}

echo '#include <asm/unistd.h>' | "${CC:-gcc}" -E -dM - | awk '$2 ~ /^__NR_/ { print substr($2, 6), $3 }' >"$TMP/table"

numbers() { # NAME...
    awk -v names="$*" 'BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
        $1 in wanted { print $2 }' "$TMP/table" | tr '\n' ' '
}

# What programs of the C library call that do nothing special.
everyday="access arch_prctl clock_nanosleep dup dup2 dup3 execve exit_group fadvise64 getegid getgid getpgrp getppid
    getrusage getuid ioctl lstat nanosleep pipe pipe2 poll rename restart_syscall rt_sigsuspend select set_tid_address
    sigaltstack stat statx sysinfo umask unlink wait4 epoll_create1 fstatfs vfork"

# ---- strict ----

# Under a filter that ends the process at every call that is not everyday, and that strict mode is not to make.
inside() { # VARIABLE=VALUE... PROGRAM ARGUMENTS...
    # shellcheck disable=SC2046,SC2086 # numbers, names
    timeout "$HANG_S" "$TARGETS/target_filter" allow kill $(numbers $everyday $(judge names strict)) -- env "$@"
}

strict() { # NAME FUNCTION COMMAND...
    local name=$1 function=$2
    shift 2
    inside A=1 "$@" >"$TMP/bare.out" 2>"$TMP/bare.err"
    local bare=$?
    rm -f "$TMP/out.pb.gz"
    inside WALLPROF_SECCOMP=strict WALLPROF_HZ=500 WALLPROF_OUT="$TMP/out.pb.gz" LD_PRELOAD="$LIBRARY" "$@" \
        >"$TMP/out" 2>"$TMP/err"
    assert_equal "$name in a sandbox: status" "$?" "$bare"
    cmp "$TMP/bare.out" "$TMP/out" || fail "$name in a sandbox prints something else"
    cmp "$TMP/bare.err" "$TMP/err" || fail "$name in a sandbox says $(cat "$TMP/err")"
    check_profile "$TMP/out.pb.gz"
    assert_function "$TMP/out.pb.gz" "$function"
    inside WALLPROF_OUT="$TMP/out.pb.gz" LD_PRELOAD="$LIBRARY" "$@" >/dev/null 2>&1
    assert_equal "$name in a sandbox, not strict" "$?" 159
}

seq 200000 | tac >"$TMP/numbers"
strict target work "$TARGETS/target_calls" brief
strict python3 __libc_start_main "$PYTHON" -S "$TESTS/targets/threads_and_child.py"
strict sort __libc_start_main sort --parallel=2 -S 2M "$TMP/numbers"

# ---- answered with an error ----

# A program that needs the call itself ends as without us. What is lost is at least said.
refused() { # OBSERVE ERROR NAME
    local observe=$1 error=$2 name=$3 what="without $3 ($2, $1)" bare
    local under=(timeout "$HANG_S" "$TARGETS/target_filter" deny "$error" "$(numbers "$name" | tr -d ' ')" --)
    [ -n "${under[4]}" ] || return 0
    ("${under[@]}" "$TARGETS/target_calls" brief) >"$TMP/bare" 2>&1
    bare=$?
    rm -f "$TMP/out.pb.gz"
    ("${under[@]}" env WALLPROF_HZ=1000 WALLPROF_OBSERVE="$observe" WALLPROF_OUT="$TMP/out.pb.gz" LD_PRELOAD="$LIBRARY" \
        "$TARGETS/target_calls" brief) >"$TMP/out" 2>"$TMP/err"
    assert_equal "$what: status" "$?" "$bare"
    [ "$bare" = 3 ] || return 0
    assert_equal "$what: stdout" "$(cat "$TMP/out")" "$(cat "$TMP/bare")"
    grep -v '^wallprof: ' "$TMP/err" && fail "$what: stderr"
    if [ -s "$TMP/out.pb.gz" ] && has_function "$TMP/out.pb.gz" work; then
        complete="$complete$name "
    else
        grep -q '^wallprof: ' "$TMP/err" || fail "$what the profile is empty, and nothing is said"
        said="$said$name "
    fi
}

# No handler can return without the first, no thread can wait without the second; and what goes on with a wait must be
# allowed, as documented.
is_left_out() { # NAME
    case $1 in
    rt_sigreturn | futex | ppoll | pselect6 | epoll_pwait) ;;
    mmap | munmap | mprotect | openat | read | close | write | exit | clone) ;; # every program needs them
    *) return 1 ;;
    esac
}

complete='' said=''
read -ra every <<<"$(tr ' ' '\n' <<<"$(judge names threads) $(judge names all)" | sort -u | tr '\n' ' ')"
for name in "${every[@]}"; do
    is_left_out "$name" || refused auto 1 "$name"
done
for name in process_vm_readv rt_tgsigqueueinfo rt_sigqueueinfo unshare close_range sched_setattr clone3 rseq; do
    refused signal 38 "$name"
done
echo "a profile without: $complete"
echo "said that there is none, without: $said"
# Containers without privileges, and older ones.
for name in unshare close_range process_vm_readv rt_tgsigqueueinfo sched_setattr rseq; do
    grep -qw "$name" <<<"$complete" || fail "without $name there is no profile"
done

# ---- the sandboxes of others ----

boxed() { # NAME COMMAND...
    local name=$1 bare status
    shift
    bare=$("$@" 2>&1) || { leave_out "$name" "it does not work here" && return; }
    for mode in auto strict; do
        rm -f "$TMP"/boxed.*
        env WALLPROF_SECCOMP="$mode" WALLPROF_LOG=off WALLPROF_HZ=500 WALLPROF_OUT="$TMP/boxed.%n.pb.gz" LD_PRELOAD="$LIBRARY" \
            "$@" >"$TMP/out" 2>&1
        status=$?
        assert_equal "$name, $mode: status" "$status" 0
        assert_equal "$name, $mode: output" "$(cat "$TMP/out")" "$bare"
        check_profile "$TMP/boxed.$name.pb.gz"
    done
    echo "$name: same as bare"
}

# bwrap itself is left by _exit in the sandbox; what it runs has a profile where it may write.
# shellcheck disable=SC2016 # for the shell inside
if type -P bwrap >/dev/null; then
    boxed bash bwrap --ro-bind / / --bind "$TMP" "$TMP" --dev /dev --proc /proc --unshare-all --die-with-parent \
        bash -c 'echo $$; ls / | head -n 3; for i in {1..20000}; do :; done'
fi
if type -P man >/dev/null; then
    printf '.TH X 1\n.SH NAME\nx - y\n' >"$TMP/page.1"
    boxed man env MANPAGER=cat man -l "$TMP/page.1"
fi
