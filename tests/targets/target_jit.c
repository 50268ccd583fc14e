/*
 * A just-in-time compiler in small: writes machine code into memory, calls it, and lists it the way the real
 * ones do. What the code is, and so what a profile must show, is known exactly.
 *
 *     target_jit WHAT...
 *
 * list       write /tmp/perf-PID.map
 * again      and list what runs once more under other names, as when code is used again
 * unmap      give the memory back at the end
 * thread     run it in a second thread, after the main thread has ended
 * fork       fork, and run it in the child
 *
 * Prints the pid of the process that runs the code. Nearly all of the CPU time is spent in:
 *
 *     run_compiled > compiled_outer > compiled_inner
 *     run_compiled > compiled_caller > called_back
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
    CODE_BYTES = 8192,
    OUTER = 0x100,
    INNER = 0x1100,
    CALLER = 0x200,
    ROUND_TURNS = 1000000,
    RUN_MS = 400
};

static unsigned char *code;

__attribute__((noinline, used)) static void called_back(void)
{
    for (volatile int i = 0; i < ROUND_TURNS; i++)
        ;
}

/* Every function has a frame: there is no unwind information for it. The argument goes through in rdi. */
static void compile(void)
{
    static const unsigned char outer[] = {
        0x55, 0x48, 0x89, 0xe5,    /* push %rbp; mov %rsp,%rbp */
        0xe8, 0,    0,    0,    0, /* call inner */
        0x5d, 0xc3,                /* pop %rbp; ret */
    };
    static const unsigned char inner[] = {
        0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
        0x48, 0xff, 0xcf,       /* dec %rdi */
        0x75, 0xfb,             /* jne to it */
        0x5d, 0xc3,             /* pop %rbp; ret */
    };
    static const unsigned char caller[] = {
        0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp,%rbp */
        0xff, 0xd7,             /* call *%rdi */
        0x5d, 0xc3,             /* pop %rbp; ret */
    };
    int32_t distance = INNER - (OUTER + 9);
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(2);
    memcpy(code + OUTER, outer, sizeof outer);
    memcpy(code + OUTER + 5, &distance, sizeof distance);
    memcpy(code + INNER, inner, sizeof inner);
    memcpy(code + CALLER, caller, sizeof caller);
    if (mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) != 0)
        exit(2);
}

static void list(const char *suffix)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "a");
    if (!file)
        exit(2);
    fprintf(file, "%lx 10 compiled_outer%s\n", (unsigned long)(uintptr_t)(code + OUTER), suffix);
    fprintf(file, "this is no entry\n");
    fprintf(file, "%lx 10 compiled_inner%s\n", (unsigned long)(uintptr_t)(code + INNER), suffix);
    fprintf(file, "%lx 10 compiled_caller%s\n", (unsigned long)(uintptr_t)(code + CALLER), suffix);
    fclose(file);
}

__attribute__((noinline)) static void run_compiled(void)
{
    void (*outer)(uintptr_t) = (void (*)(uintptr_t))(uintptr_t)(code + OUTER);
    void (*caller)(uintptr_t) = (void (*)(uintptr_t))(uintptr_t)(code + CALLER);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < RUN_MS * NS_PER_MS) {
        outer(ROUND_TURNS);
        caller((uintptr_t)called_back);
    }
}

/* In the parent: lists its own code of later, once the child has begun. 0 when all went well. */
static int go_on_as_parent(pid_t child, const int started[2], int is_listing)
{
    char byte;
    close(started[1]);
    if (read(started[0], &byte, 1) != 1)
        return 1;
    if (is_listing)
        list("_of_the_parent_only");
    return waitpid(child, NULL, 0) != child;
}

static void *run_in_thread(void *unused)
{
    usleep(50000); /* the main thread is gone by then */
    run_compiled();
    exit(0);
    return unused;
}

static int has(char **arguments, const char *what)
{
    while (*arguments && strcmp(*arguments, what) != 0)
        arguments++;
    return *arguments != NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int started[2];
    if (count < 1 || pipe(started) != 0)
        return 2;
    compile();
    if (has(arguments, "list"))
        list("");
    if (has(arguments, "again"))
        list("_again");
    pid_t child = has(arguments, "fork") ? fork() : -1;
    if (child > 0)
        return go_on_as_parent(child, started, has(arguments, "list"));
    if (write(started[1], "", 1) != 1)
        return 2;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (has(arguments, "thread")) {
        pthread_create(&thread, NULL, run_in_thread, NULL);
        pthread_exit(NULL);
    }
    run_compiled();
    if (has(arguments, "unmap"))
        munmap(code, CODE_BYTES);
    return 0;
}
