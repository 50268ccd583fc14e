/* Filters of system calls for tests, installed by the program's own instruction, past all hooks. */
#ifndef WALLPROF_FILTER_H
#define WALLPROF_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { FILTER_CALLS_MAX = 500 };

struct filter {
    struct sock_filter code[2 * FILTER_CALLS_MAX + 2];
    unsigned short length;
};

static long filter_call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8) : "memory");
    return x0;
#endif
}

static void filter_begin(struct filter *filter)
{
    filter->code[0] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    filter->length = 1;
}

static void filter_add(struct filter *filter, long number, uint32_t action)
{
    if (filter->length >= 2 * FILTER_CALLS_MAX)
        abort();
    filter->code[filter->length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    filter->code[filter->length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* others: what is done with calls that have not been added. 0 or -errno. */
static long filter_install(struct filter *filter, uint32_t others, unsigned flags)
{
    filter->code[filter->length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
    struct sock_fprog program = {filter->length, filter->code};
    filter_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return filter_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, (long)&program, 0, 0);
}

#endif
