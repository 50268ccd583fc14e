/*
 * Job control: a process for each wait is stopped in the midst of it and continued. Prints how each wait
 * ended, and what is wrong: a process that did not stop, or did not stay so.
 *
 *     target_stopped
 *
 * signal(7), "Interruption of system calls and library functions by stop signals": some end with EINTR though
 * no handler has run, the others go on.
 */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_SECONDS = 2, BEFORE_MS = 100, STOPPED_MS = 100, PATIENCE_MS = 10000 };

static struct timespec span = {.tv_sec = WAIT_SECONDS};

static int with_limit(int fd)
{
    struct timeval limit = {.tv_sec = WAIT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static int one_end(void)
{
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ? -1 : with_limit(ends[0]);
}

static long wait_poll(void)
{
    return poll(NULL, 0, WAIT_SECONDS * 1000);
}

static long wait_select(void)
{
    struct timeval time = {.tv_sec = WAIT_SECONDS};
    return select(0, NULL, NULL, NULL, &time);
}

static long wait_pselect(void)
{
    return pselect(0, NULL, NULL, NULL, &span, NULL);
}

static long wait_nanosleep(void)
{
    return nanosleep(&span, NULL);
}

static long wait_semaphore(void)
{
    sem_t semaphore;
    struct timespec moment;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &moment);
    moment.tv_sec += WAIT_SECONDS;
    return sem_timedwait(&semaphore, &moment);
}

static long wait_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, WAIT_SECONDS * 1000);
}

static long wait_epoll_masked(void)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(epoll_create1(0), &event, 1, WAIT_SECONDS * 1000, &none);
}

static long wait_signal(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    return sigtimedwait(&one, NULL, &span);
}

static long wait_semop(void)
{
    struct sembuf take = {.sem_op = -1};
    int set = semget(IPC_PRIVATE, 1, 0600);
    long result = semtimedop(set, &take, 1, &span);
    int error = errno;
    semctl(set, 0, IPC_RMID);
    errno = error;
    return result;
}

static long wait_recv(void)
{
    char byte;
    return recv(one_end(), &byte, 1, 0);
}

static long wait_read(void)
{
    char byte;
    return read(one_end(), &byte, 1);
}

static const struct {
    const char *name;
    long (*call)(void);
} waits[] = {
    {"poll", wait_poll},
    {"select", wait_select},
    {"pselect", wait_pselect},
    {"nanosleep", wait_nanosleep},
    {"sem_timedwait", wait_semaphore},
    {"epoll_wait", wait_epoll},
    {"epoll_pwait", wait_epoll_masked},
    {"sigtimedwait", wait_signal},
    {"semtimedop", wait_semop},
    {"recv", wait_recv},
    {"read", wait_read},
};

enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

static void let_pass(int ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000L};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static char state_of(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    const char *end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    return end ? end[2] : '?';
}

/* Shared by all: who stands at the gate, and who has gone on to its wait. */
struct shared {
    int waiting[WAITS], goes_on[WAITS]; /* atomic */
};

static struct shared *shared;

static pid_t begin(int i, const int gate[2])
{
    char byte;
    pid_t child = fork();
    if (child != 0)
        return child;
    close(gate[1]);
    __atomic_store_n(&shared->waiting[i], 1, __ATOMIC_SEQ_CST);
    if (read(gate[0], &byte, 1) != 0)
        _exit(1);
    __atomic_store_n(&shared->goes_on[i], 1, __ATOMIC_SEQ_CST);
    errno = 0;
    long result = waits[i].call();
    printf("%s %ld %s\n", waits[i].name, result, result < 0 ? strerrorname_np(errno) : "");
    fflush(stdout);
    _exit(0);
}

/* Until each has come by there, and sleeps. */
static void await_sleepers(const pid_t *children, const int *come_by)
{
    int ms = 0;
    for (int i = 0; i < WAITS; i++) {
        while (!__atomic_load_n(&come_by[i], __ATOMIC_SEQ_CST) || state_of(children[i]) != 'S') {
            if (ms++ == PATIENCE_MS) {
                printf("%s is %c and does not wait\n", waits[i].name, state_of(children[i]));
                return;
            }
            let_pass(1);
        }
    }
}

/* All at once, however long it takes to have them all: none is to be over before it is stopped. */
static void begin_all(pid_t *children)
{
    int gate[2];
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe(gate) < 0)
        exit(1);
    for (int i = 0; i < WAITS; i++)
        children[i] = begin(i, gate);
    await_sleepers(children, shared->waiting);
    close(gate[0]);
    close(gate[1]);
    await_sleepers(children, shared->goes_on);
}

int main(void)
{
    pid_t children[WAITS];
    int status;
    begin_all(children);
    let_pass(BEFORE_MS);
    for (int i = 0; i < WAITS; i++)
        kill(children[i], SIGSTOP);
    for (int i = 0; i < WAITS; i++) {
        if (waitpid(children[i], &status, WUNTRACED) != children[i] || !WIFSTOPPED(status))
            printf("%s did not stop\n", waits[i].name);
    }
    let_pass(STOPPED_MS);
    for (int i = 0; i < WAITS; i++) {
        if (state_of(children[i]) != 'T')
            printf("%s is %c\n", waits[i].name, state_of(children[i]));
        kill(children[i], SIGCONT);
    }
    for (int i = 0; i < WAITS; i++) {
        if (waitpid(children[i], &status, 0) != children[i] || status != 0)
            printf("%s ended with %x\n", waits[i].name, (unsigned)status);
    }
    return 0;
}
