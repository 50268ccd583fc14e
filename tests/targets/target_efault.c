/*
 * Calls every interposed function with each of its pointers bad in each way, and prints what became of it:
 * the result, or the signal. The output is compared with that of the bare program.
 *
 *     target_efault             a line for each case, then "covers NAME" for each function that is called
 *
 * A fault ends a case by siglongjmp, as in programs that go on after a fault. A call that may leave the C
 * library with a lock held, or starts a program, is made in a forked child.
 */
#include "target.h"
#include "efault_calls.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { PAGE_BYTES = 4096, REPEATS = 3, ALL = ARGUMENTS_MAX };

enum kind { NONE_BAD, NULL_POINTER, UNMAPPED, OF_KERNEL, PROTECTED, READ_ONLY, HALF, FIT, KINDS };

static const char *const kind_names[KINDS] = {"good",      "null",      "unmapped", "kernel",
                                              "protected", "read-only", "half",     "fit"};

/* For each argument: a page to write, one that is not to be touched, one to read. */
static char *pages[ARGUMENTS_MAX];

static void *place(enum kind kind, int at, const struct argument *argument)
{
    static char good[ARGUMENTS_MAX][512] __attribute__((aligned(16)));
    char *page = pages[at], *place = good[at];
    size_t bytes = argument->bytes, fitting = kind == HALF ? bytes / 2 : bytes;
    switch (kind) {
    case NULL_POINTER:
        return NULL;
    case UNMAPPED:
        return (void *)(uintptr_t)PAGE_BYTES; /* below what may be mapped */
    case OF_KERNEL:
        return (void *)(uintptr_t)(0 - (uintptr_t)PAGE_BYTES);
    case PROTECTED:
        return page + PAGE_BYTES + 64;
    case READ_ONLY:
        place = page + 2 * PAGE_BYTES + 64;
        if (mprotect(page + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
            die("mprotect");
        break;
    case HALF:
    case FIT:
        place = page + PAGE_BYTES - fitting;
        break;
    default:
        break;
    }
    memcpy(place, argument->good, fitting);
    if (kind == READ_ONLY && mprotect(page + 2 * PAGE_BYTES, PAGE_BYTES, PROT_READ) != 0)
        die("mprotect");
    return place;
}

static int count_arguments(const struct call *call)
{
    int count = 0;
    while (count < ARGUMENTS_MAX && call->arguments[count].good)
        count++;
    return count;
}

/* ---- one case ---- */

static struct outcome {
    long result;
    int error, signal;
    bool is_known;
} * outcome; /* shared with a child */

static sigjmp_buf after_fault;

static void on_fault(int number)
{
    siglongjmp(after_fault, number);
}

static void make_call(const struct call *call, void *function, void *const *pointers)
{
    errno = 0;
    long result = call->make(function, pointers);
    *outcome = (struct outcome){.result = result, .error = result == -1 ? errno : 0, .is_known = true};
}

static void make_in_child(const struct call *call, void *function, void *const *pointers)
{
    *outcome = (struct outcome){0};
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        make_call(call, function, pointers);
        _exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        die("fork");
    if (WIFSIGNALED(status))
        *outcome = (struct outcome){.signal = WTERMSIG(status), .is_known = true};
    else if (!outcome->is_known)
        *outcome =
            (struct outcome){.result = 1000 + WEXITSTATUS(status), .is_known = true}; /* of the program */
}

static void make_here(const struct call *call, void *function, void *const *pointers)
{
    int number = sigsetjmp(after_fault, 1);
    if (number == 0) {
        if (call->flags & INTERRUPTED)
            interrupt_after_ms(5);
        make_call(call, function, pointers);
    } else
        *outcome = (struct outcome){.signal = number, .is_known = true};
    if (call->flags & INTERRUPTED)
        interrupt_after_ms(0);
}

static bool is_mask_changed(void)
{
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGALRM) || sigismember(&now, SIGTERM) || !sigismember(&now, SIGUSR1);
}

/* bad: which argument, ALL, or -1 for none. */
static void try_case(const struct call *call, void *function, int bad, enum kind kind)
{
    int repeats = call->flags & (IN_CHILD | INTERRUPTED) ? 1 : REPEATS;
    struct outcome first = {0};
    for (int i = 0; i < repeats; i++) {
        void *pointers[ARGUMENTS_MAX] = {0};
        for (int at = 0; at < count_arguments(call); at++)
            pointers[at] = place(at == bad || bad == ALL ? kind : NONE_BAD, at, &call->arguments[at]);
        if (call->flags & IN_CHILD)
            make_in_child(call, function, pointers);
        else
            make_here(call, function, pointers);
        if (is_mask_changed())
            printf("%s%s: signals are blocked\n", call->name, call->variant);
        if (i > 0 && memcmp(&first, outcome, sizeof(first)) != 0)
            printf("%s%s: the %dth time not as before\n", call->name, call->variant, i + 1);
        memcpy(&first, outcome, sizeof(first));
    }
    printf("%s%s %d %s: ", call->name, call->variant, bad, kind_names[kind]);
    if (outcome->signal)
        printf("signal %d\n", outcome->signal);
    else
        printf("%ld %s\n", outcome->result, outcome->error ? strerrorname_np(outcome->error) : "");
    fflush(stdout);
}

static void try_call(const struct call *call)
{
    void *function = dlsym(RTLD_DEFAULT, call->name);
    try_case(call, function, -1, NONE_BAD);
    int count = count_arguments(call);
    for (int at = 0; at < count; at++) {
        for (int kind = NULL_POINTER; kind < KINDS; kind++) {
            if (kind != NULL_POINTER || !call->arguments[at].is_endless)
                try_case(call, function, at, (enum kind)kind);
        }
    }
    for (int kind = UNMAPPED; count > 1 && kind <= HALF; kind++)
        try_case(call, function, ALL, (enum kind)kind);
}

static void nothing(int number)
{
    (void)number;
}

static void prepare(void)
{
    struct sigaction on_alarm = {.sa_handler = nothing},
                     fault = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    for (int at = 0; at < ARGUMENTS_MAX; at++) {
        pages[at] = mmap(NULL, 3 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages[at] == MAP_FAILED || mprotect(pages[at] + PAGE_BYTES, PAGE_BYTES, PROT_NONE) != 0)
            die("mmap");
    }
    outcome = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        die("mmap");
    sigaction(SIGALRM, &on_alarm, NULL);
    sigaction(SIGUSR1, &on_alarm, NULL);
    sigaction(SIGUSR2, &on_alarm, NULL);
    sigaction(SIGSEGV, &fault, NULL);
    prepare_calls();
}

int main(int count, char **arguments)
{
    prepare();
    for (size_t i = 0; i < CALLS; i++) {
        if (count < 2 || strcmp(arguments[1], calls[i].name) == 0)
            try_call(&calls[i]);
    }
    for (size_t i = 0; i < CALLS; i++)
        printf("covers %s\n", calls[i].name);
    for (size_t i = 0; i < sizeof(without_pointers) / sizeof(*without_pointers); i++)
        printf("covers %s\n", without_pointers[i]);
    remove_queues();
    return 0;
}
