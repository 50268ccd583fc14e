#!/bin/bash
# The sampler asks /proc nothing about its own thread (proc_tasks.h says why): neither in a process nor in what that forks.
# Only when it comes very late it has to read its schedstat (gap_watch.h), and that may happen on a busy machine.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need gcc
! is_emulated || skip "the program is built for this machine"

cat >"$TMP/program.c" <<'SOURCE'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    pid_t child = fork();
    if (setgid(getgid()) != 0) /* before it the sampler sets itself up, however late it has its turn */
        return 1;
    usleep(100000);
    if (child > 0)
        waitpid(child, NULL, 0);
    exit(3);
}
SOURCE

# Counts what makes the kernel keep entries for the thread that reads them, and checks that it sees the sampler's calls.
# Says so when the sampler is done.
cat >"$TMP/counts.c" <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int count, seen;
static char last[64];

static void add(const char *what)
{
    count++;
    snprintf(last, sizeof(last), ": %s", what);
}

static void count_own(const char *path)
{
    char own[24];
    seen += gettid() != getpid();
    snprintf(own, sizeof(own), "%d/", gettid());
    if (strcmp(path, "/proc/thread-self/schedstat") == 0)
        return;
    if (gettid() != getpid() && (strncmp(path, own, strlen(own)) == 0 || strstr(path, "/thread-self/")))
        add(path);
}

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    static long (*real)(long, ...);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a, b, c, d, e, f);
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    count_own(path);
    return (int)call(SYS_openat, directory, (long)path, flags, mode, 0, 0);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    return openat(-100, path, flags, mode);
}

ssize_t readlink(const char *path, char *to, size_t bytes)
{
    count_own(path);
    return call(SYS_readlinkat, -100, (long)path, (long)to, (long)bytes, 0, 0);
}

long syscall(long number, ...)
{
    long value[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getdents64)
        add("getdents64");
    return call(number, value[0], value[1], value[2], value[3], value[4], value[5]);
}

__attribute__((destructor)) static void say(void)
{
    char line[128];
    write(2, line, (size_t)snprintf(line, sizeof(line), "%s%d entries%s\n", seen ? "" : "no calls, ", count, last));
}
SOURCE

gcc -O1 -o "$TMP/program" "$TMP/program.c" || fail "the program cannot be built"
gcc -O1 -shared -fPIC -w -o "$TMP/counts.so" "$TMP/counts.c" -ldl || fail "the library cannot be built"

for observe in auto signal; do
    timeout "$HANG_S" env WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe WALLPROF_OUT="$TMP/$observe.%p.pb.gz" \
        LD_PRELOAD="$LIBRARY $TMP/counts.so" "$TMP/program" 2>"$TMP/err"
    assert_equal "$observe: status" $? 3
    assert_equal "$observe: asked about the sampler" "$(cat "$TMP/err")" "0 entries
0 entries"
    assert_equal "$observe: profiles" "$(find "$TMP" -name "$observe.*.pb.gz" | wc -l)" 2
done
