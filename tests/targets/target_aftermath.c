/*
 * What one call leaves behind for a later one, for e2e_aftermath.sh:
 *
 * exec CALL COMMAND...  executes a command under a filter of the program's own that traps one system call
 * fork CALL             forks under such a filter
 * look vfork|failed     executes what cannot load the library, after a child of vfork has installed a filter,
 *                       or after a filter that was refused
 * fault                 a fork handler that was registered before ours causes a fault, which the program
 * handles waits BYTE            a thread ends within waits that are left by a jump, and have been overwritten
 * since threads               memory that 12,000 short threads have left, in MiB
 */
#include "target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- filters ---- */

static int install_filter(long trapped)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static long number_of(const char *name)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"openat", SYS_openat},
                 {"newfstatat", SYS_newfstatat},
                 {"rt_sigprocmask", SYS_rt_sigprocmask},
                 {"getpid", SYS_getpid}};
    for (size_t i = 0; i < sizeof(calls) / sizeof *calls; i++) {
        if (!strcmp(name, calls[i].name))
            return calls[i].number;
    }
    die(name);
    return -1;
}

static int fork_once(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return failures != 0;
}

/* The loader complains of a library that is not there; but we see that it is not, and take it out. */
static int execute_what_cannot_load(const char *how)
{
    char *arguments[] = {(char *)"true", NULL},
         *environment[] = {(char *)"LD_PRELOAD=/nonexistent/libwallprof.so", NULL};
    int status;
    if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0)
            _exit(install_filter(SYS_openat) != 0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    } else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT);
    if (failures == 0)
        execve("/bin/true", arguments, environment);
    return 1;
}

/* ---- faults in fork handlers ---- */

enum { PAGE_BYTES = 4096 };
static char *page;

static void on_fault(int number)
{
    (void)number;
    mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

static void touch_page(void)
{
    page[0]++;
}

/* Before any constructor, so before ours. */
static void register_early(int count, char **arguments)
{
    if (count < 2 || strcmp(arguments[1], "fault") != 0)
        return;
    page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    pthread_atfork(touch_page, NULL, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **) = register_early;

/* ---- waits that were left by a jump ---- */

static sigjmp_buf before_wait;
static volatile int level, fill;
static pthread_t waiting;

static void wait_long(void)
{
    poll(NULL, 0, 100000);
}

KEEP_FRAME static void wait_deep_in_the_stack(void)
{
    volatile char room[32768];
    room[0] = 1;
    wait_long();
    (void)room[0];
}

KEEP_FRAME static void overwrite_the_stack(void)
{
    char room[65536];
    memset(room, fill, sizeof(room));
    __asm__ volatile("" ::"r"(room) : "memory");
}

static void leave_wait(int number)
{
    (void)number;
    siglongjmp(before_wait, 1);
}

/* One within another; the innermost is left by a jump. */
static void wait_in_handler(int number)
{
    (void)number;
    if (++level < 3) {
        wait_long();
        return;
    }
    if (!sigsetjmp(before_wait, 1)) {
        level++;
        wait_deep_in_the_stack();
    }
    overwrite_the_stack();
    pthread_exit(NULL);
}

static void say_what_is_blocked(void *unused)
{
    sigset_t mask;
    (void)unused;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    printf("blocked: SIGTERM %d, SIGINT %d\n", sigismember(&mask, SIGTERM), sigismember(&mask, SIGINT));
}

static void *wait_in_thread(void *unused)
{
    pthread_cleanup_push(say_what_is_blocked, NULL);
    wait_long();
    pthread_cleanup_pop(0);
    return unused;
}

/* Another signal each time the thread has gone one level deeper. */
static int end_within_waits(int byte)
{
    struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = (int)SA_NODEFER};
    fill = byte;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = leave_wait;
    sigaction(SIGUSR2, &action, NULL);
    if (pthread_create(&waiting, NULL, wait_in_thread, NULL) != 0)
        die("pthread_create");
    for (int i = 0; i < 3; i++) {
        usleep(50000); /* it may wait by then, which is harder; the result is the same if it does not */
        pthread_kill(waiting, SIGUSR1);
        while (level <= i)
            usleep(1000);
    }
    while (level < 4)
        usleep(1000);
    usleep(50000);
    pthread_kill(waiting, SIGUSR2);
    pthread_join(waiting, NULL);
    return 0;
}

/* ---- threads ---- */

static long resident_pages(void)
{
    long pages = -1;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        die("/proc/self/statm");
    fclose(file);
    return pages;
}

static void *return_at_once(void *argument)
{
    return argument;
}

static int make_threads(void)
{
    long before = 0;
    usleep(100000); /* the sampler sets itself up after 2 to 10 ms */
    for (int i = 0; i < 12100; i++) {
        pthread_t thread;
        if (i == 100)
            before = resident_pages();
        if (pthread_create(&thread, NULL, return_at_once, NULL) != 0)
            die("pthread_create");
        pthread_join(thread, NULL);
    }
    printf("%ld\n", (resident_pages() - before) * sysconf(_SC_PAGESIZE) >> 20);
    return 0;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (!strcmp(mode, "fault"))
        return fork_once();
    if (!strcmp(mode, "threads"))
        return make_threads();
    if (count < 3)
        die("which?");
    if (!strcmp(mode, "look"))
        return execute_what_cannot_load(arguments[2]);
    if (!strcmp(mode, "waits"))
        return end_within_waits((int)strtol(arguments[2], NULL, 0));
    CHECK(install_filter(number_of(arguments[2])) == 0);
    if (!strcmp(mode, "fork"))
        return fork_once();
    execv(arguments[3], arguments + 3);
    return 1;
}
