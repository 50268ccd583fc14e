/*
 * Of the live oracle: walks of blocked threads from outside, held to what their own handler sees right after.
 *
 * The helper walks the thread it is about to signal (oracle_remote_walk); its handler compares
 * (oracle_other_compare). A pair counts if the thread was put on a CPU just once in between, and stands where
 * it stood: as good as always for the signal only.
 */
#ifndef WALLPROF_ORACLE_LIVE_OTHER_H
#define WALLPROF_ORACLE_LIVE_OTHER_H

#include "sig/walk/sig_unwind.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ORACLE_OTHER_CAPACITY = 1024, ORACLE_OTHER_COPY_BYTES = 65536 };

static struct {
    bool is_there; /* a walk to compare with */
    bool is_to_learn;
    uint64_t runs; /* of the thread, before the walk and after it */
    uint64_t pc, sp;
    struct sig_unwind_course course;
    size_t count;
    uint64_t addresses[ORACLE_OTHER_CAPACITY];
    uint64_t pairs, moved, whole, by_distance, different;
} oracle_other;

static inline void oracle_other_read(pid_t tid, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, bytes - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
}

/* How often it has been put on a CPU; 0 when that is not known. */
static inline uint64_t oracle_other_runs(pid_t tid)
{
    char text[128];
    uint64_t runs;
    oracle_other_read(tid, "schedstat", text, sizeof(text));
    return sscanf(text, "%*u %*u %" SCNu64, &runs) == 1 ? runs : 0;
}

static inline bool oracle_other_place(pid_t tid, uint64_t *arguments, struct sig_blocked_regs *ret)
{
    char text[256];
    long number;
    oracle_other_read(tid, "syscall", text, sizeof(text));
    *ret = (struct sig_blocked_regs){.arguments = arguments};
    int got = sscanf(text,
                     "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                     " %" SCNx64,
                     &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3], &arguments[4],
                     &arguments[5], &ret->sp, &ret->pc);
    return got == 9 && ret->sp != 0 && number != SYS_exit && number != SYS_exit_group;
}

/* The helper, before it signals the thread. The request says what is known of the modules and its stack. */
static inline void oracle_remote_walk(pid_t tid, struct sig_unwind_request request)
{
    static uint64_t words[ORACLE_OTHER_COPY_BYTES / sizeof(uint64_t)];
    static struct sig_stack_copy copy = {
        .words = words, .capacity_bytes = sizeof(words), .mem_descriptor = -1};
    uint64_t arguments[6];
    struct sig_blocked_regs place;
    oracle_other.is_there = oracle_other.is_to_learn = false;
    oracle_other.runs = oracle_other_runs(tid);
    if (oracle_other.runs == 0 || !oracle_other_place(tid, arguments, &place))
        return;
    request.copy = &copy;
    request.addresses = oracle_other.addresses;
    request.capacity = ORACLE_OTHER_CAPACITY;
    oracle_other.pc = place.pc;
    oracle_other.sp = place.sp;
    oracle_other.count = sig_unwind_remote(&request, &place, &oracle_other.course);
    copy.expected_bytes = oracle_other.course.bytes;
    oracle_other.is_there = oracle_other_runs(tid) == oracle_other.runs;
    oracle_other.is_to_learn = oracle_other.is_there && oracle_other.course.end == SIG_UNWIND_INEXPRESSIBLE;
}

/* The handler: what it has found itself. False when the walk from outside has found anything else. */
static inline bool oracle_other_compare(const ucontext_t *context, const uint64_t *addresses, size_t count,
                                        enum sig_unwind_end end)
{
    bool is_whole = oracle_other.course.end == SIG_UNWIND_ROOT;
    struct sig_regs regs;
    if (!oracle_other.is_there)
        return true;
    oracle_other.is_there = false;
    sig_regs_from_context(&regs, context);
    if (oracle_other_runs((pid_t)syscall(SYS_gettid)) != oracle_other.runs + 1 ||
        sig_after_system_call(context) != oracle_other.pc || regs.sp != oracle_other.sp) {
        oracle_other.moved++;
        return true;
    }
    bool is_same = oracle_other.count <= count &&
                   memcmp(oracle_other.addresses + 1, addresses + 1,
                          (oracle_other.count - 1) * sizeof(*addresses)) == 0 &&
                   (!is_whole || (end == SIG_UNWIND_ROOT && oracle_other.count == count));
    oracle_other.pairs++;
    oracle_other.whole += is_whole;
    oracle_other.by_distance += oracle_other.course.by_distance;
    oracle_other.different += !is_same;
    return is_same;
}

static inline void oracle_other_write(FILE *out)
{
    fprintf(out,
            "count outside %lu\ncount outside_moved %lu\ncount outside_whole %lu\n"
            "count outside_by_distance %lu\ncount outside_different %lu\n",
            oracle_other.pairs, oracle_other.moved, oracle_other.whole, oracle_other.by_distance,
            oracle_other.different);
}

#endif
