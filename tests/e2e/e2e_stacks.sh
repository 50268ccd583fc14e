#!/bin/bash
# Stacks of unusual kinds, whole from the innermost function to the root: see target_stacks.c and judge_stacks.py.
# test: quick long aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
export WALLPROF_TOOL=off # frames as they are unwound: the tool adds those of inlined calls
compiler=gcc
! is_emulated || compiler=$CC
need "$compiler"

make_library() {
    cat >"$TMP/library.c" <<'SOURCE'
/* After a function's last call: makes it no tail call, so that its frame stays. */
#define KEEP_CALL() __asm__ volatile("" ::: "memory")

extern void (*stacks_hooks[])(void);

__attribute__((constructor)) static void construct(void)
{
    stacks_hooks[0]();
    KEEP_CALL();
}

__attribute__((destructor)) static void destruct(void)
{
    stacks_hooks[1]();
    KEEP_CALL();
}

static void implementation(void)
{
    KEEP_CALL();
}

static void *resolve(void)
{
    stacks_hooks[2]();
    KEEP_CALL();
    return implementation;
}

void indirect(void) __attribute__((ifunc("resolve")));

void call_indirect(void)
{
    indirect();
    KEEP_CALL();
}
SOURCE
    "$compiler" -O2 -fPIC -shared -Wl,-z,lazy -o "$TMP/library.so" "$TMP/library.c" || fail "the library cannot be built"
}

# The compilers' options are about how frames and calls look.
variant() { # NAME "KIND..." COMPILER OPTIONS...
    local name=$1 kinds status file=$TMP/$1.pb.gz
    read -ra kinds <<<"$2"
    shift 2
    type -P "$1" >/dev/null || { leave_out "$name" "there is no $1" && return; }
    echo "== $name"
    "$@" -std=gnu11 -g -D_GNU_SOURCE -rdynamic -o "$TMP/$name" "$TESTS/targets/target_stacks.c" -pthread || fail "cannot be built"
    WALLPROF_HZ=2000 profile_run "$file" "$TMP/$name" "$TMP/library.so" "${kinds[@]}" 2>"$TMP/stderr"
    status=$?
    [ "$status" -eq 0 ] || complain "$name: exit status $status"
    [ ! -s "$TMP/stderr" ] || complain "$name: on stderr: $(cat "$TMP/stderr")"
    (check_profile "$file") || complain "$name: its profile is not good"
    "$PYTHON" "$TESTS/judges/judge_stacks.py" "$file" "${kinds[@]}" || complain "$name: not the stacks of the program"
}

make_library
if is_emulated; then
    # Not those in a library that was loaded later, whose tables qemu lets nobody read, or in a thread's beginning and
    # end, which it stretches; not swapcontext, which has no table for where it has left its return address.
    some='alloca vla aligned aligned_alloca large s_alloca s_aligned s_both s_registers s_cold s_tail s_plt tail'
    some+=' noreturn longjmp compare coroutine handler sigaltstack nested co_handler key'
    variant plain "$some" "$compiler" -O2 -fomit-frame-pointer
    variant protected "$some" "$compiler" -O2 -mbranch-protection=standard
    exit "$bad"
fi
variant plain "" gcc -O2 -fomit-frame-pointer
variant split "large co_handler handler sigaltstack nested coroutine s_alloca tail" gcc -O2 -fomit-frame-pointer -fsplit-stack
is_long || exit "$bad"
variant cet "s_plt s_tail s_registers noreturn switch" gcc -O2 -fomit-frame-pointer -fcf-protection=full
variant realigned "s_alloca s_both s_registers s_plt aligned_alloca compare" gcc -O2 -mstackrealign
variant clang "s_alloca s_aligned s_both aligned_alloca large tail noreturn" clang -O2 -fomit-frame-pointer
variant size "s_alloca s_both s_registers s_cold noreturn" gcc -Os
exit "$bad"
