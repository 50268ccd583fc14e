/*
 * Threads that wait in the kernel where no signal reaches them, or where they made no call at all.
 *
 *     target_kernel_waits [rounds]
 *
 * Each thread is in one function for all rounds, and each round takes half a second:
 *
 *  - wait_vfork: until the child that shares its memory ends
 *  - wait_vfork_exec: until such a child is another program
 *  - wait_spawn: in posix_spawn, which blocks every signal until the child has opened its files, a FIFO
 *  - wait_child: for a child of the ordinary kind
 *  - fault_page: for a page that it touches, and that another thread provides (userfaultfd(2))
 *  - read_into_page: for such a page in a system call
 *
 * On stdout stands what measured.h says, and "without REASON" if there is no userfaultfd here.
 */
#include "measured.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROUND_MS = 500, FAULTERS = 2, ROUNDS_MAX = 64, PAGE_BYTES = 4096 };
static const uint64_t round_ns = ROUND_MS * NS_PER_MS;

static unsigned rounds = 4;
static char fifo[64];
static atomic_int is_spawner_done;
static int fault_descriptor = -1;
static char *faulty_pages; /* FAULTERS * rounds of them */

static void be_vfork_parent(struct measured *self, uint64_t duration_ns);
static void be_exec_parent(struct measured *self, uint64_t duration_ns);
static void be_spawner(struct measured *self, uint64_t duration_ns);
static void be_parent(struct measured *self, uint64_t duration_ns);
static void touch_pages(struct measured *self, uint64_t duration_ns);
static void read_into_pages(struct measured *self, uint64_t duration_ns);
static void open_fifo(struct measured *self, uint64_t duration_ns);
static void provide_pages(struct measured *self, uint64_t duration_ns);

#define FUNCTIONS(F)                                                                                         \
    F(wait_vfork, be_vfork_parent)                                                                           \
    F(wait_vfork_exec, be_exec_parent)                                                                       \
    F(wait_spawn, be_spawner)                                                                                \
    F(wait_child, be_parent)                                                                                 \
    F(fault_page, touch_pages)                                                                               \
    F(read_into_page, read_into_pages)                                                                       \
    F(serve_fifo, open_fifo)                                                                                 \
    F(serve_pages, provide_pages)
MEASURED_FUNCTIONS

/* ---- children ---- */

static void reap(pid_t child)
{
    int status;
    if (child < 0)
        die("a child");
    while (waitpid(child, &status, 0) < 0 && was_interrupted(errno))
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        fprintf(stderr, "a child ended with status %d\n", status);
}

/* To a deadline, as a profiled child is interrupted too. A child of vfork must not touch much: its memory is
 * its parent's. */
static void nap_in_child(uint64_t duration_ns)
{
    struct timespec end = timespec_of(now_ns() + duration_ns);
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL))
        ;
}

static pid_t nap_in_vfork(uint64_t duration_ns, const char *program)
{
    static char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    pid_t child = vfork();
    if (child == 0) {
        nap_in_child(duration_ns);
        if (program)
            execve(program, arguments, environment);
        _exit(program ? 1 : 0);
    }
    return child;
}

static void be_vfork_parent(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    for (unsigned i = 0; i < rounds; i++)
        reap(nap_in_vfork(duration_ns, NULL));
}

static void be_exec_parent(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    for (unsigned i = 0; i < rounds; i++)
        reap(nap_in_vfork(duration_ns, "/bin/true"));
}

static void be_spawner(struct measured *self, uint64_t duration_ns)
{
    static char *const arguments[] = {"true", NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    (void)self, (void)duration_ns;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, fifo, O_RDONLY, 0);
    for (unsigned i = 0; i < rounds; i++) {
        pid_t child;
        errno = posix_spawn(&child, "/bin/true", &actions, NULL, arguments, environment);
        if (errno)
            die("posix_spawn");
        reap(child);
    }
    posix_spawn_file_actions_destroy(&actions);
    is_spawner_done = 1;
}

/* The child waits in open until the FIFO's other end is opened, which fails without a reader. A
 * child that has opened it but not yet ended is a reader too: so not a number of times, but until there is no
 * spawner any more. */
static void open_fifo(struct measured *self, uint64_t duration_ns)
{
    while (!is_spawner_done) {
        sleep_until(self, now_ns() + duration_ns);
        int descriptor;
        while ((descriptor = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && !is_spawner_done)
            sleep_until(self, now_ns() + NS_PER_MS);
        close(descriptor);
    }
}

static void be_parent(struct measured *self, uint64_t duration_ns)
{
    (void)self;
    for (unsigned i = 0; i < rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            nap_in_child(duration_ns);
            _exit(0);
        }
        reap(child);
    }
}

/* ---- pages ---- */

static char *page_of(unsigned faulter, unsigned round)
{
    return faulty_pages + (size_t)(faulter * rounds + round) * PAGE_BYTES;
}

static void touch_pages(struct measured *self, uint64_t duration_ns)
{
    (void)self, (void)duration_ns;
    for (unsigned i = 0; i < rounds; i++)
        if (*(volatile char *)page_of(0, i))
            die("a page that is not empty");
}

static void read_into_pages(struct measured *self, uint64_t duration_ns)
{
    (void)self, (void)duration_ns;
    int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < rounds; i++)
        while (read(zeros, page_of(1, i), 1) < 0)
            if (!was_interrupted(errno))
                die("read");
    close(zeros);
}

static void provide(uint64_t page)
{
    struct uffdio_zeropage zeros = {.range = {page, PAGE_BYTES}};
    if (ioctl(fault_descriptor, UFFDIO_ZEROPAGE, &zeros))
        die("UFFDIO_ZEROPAGE");
}

/* The pages that have become due; how many. */
static unsigned provide_due(uint64_t *due_ns, unsigned count)
{
    unsigned provided = 0;
    for (unsigned i = 0; i < count; i++)
        if (due_ns[i] && due_ns[i] <= now_ns()) {
            provide((uint64_t)faulty_pages + i * PAGE_BYTES);
            due_ns[i] = 0;
            provided++;
        }
    return provided;
}

/* A thread that a signal took out of its fault, for its handler, faults again:
 * the page is due when it was. */
static void provide_pages(struct measured *self, uint64_t duration_ns)
{
    static uint64_t due_ns[FAULTERS * ROUNDS_MAX];
    static char is_known[FAULTERS * ROUNDS_MAX];
    struct pollfd faults = {.fd = fault_descriptor, .events = POLLIN};
    unsigned count = FAULTERS * rounds, provided = 0;
    struct uffd_msg message;
    (void)self;
    while (provided < count) {
        if (poll(&faults, 1, 1) > 0 && read(fault_descriptor, &message, sizeof message) == sizeof message) {
            unsigned page = (unsigned)((message.arg.pagefault.address - (uint64_t)faulty_pages) / PAGE_BYTES);
            if (!is_known[page])
                due_ns[page] = now_ns() + duration_ns;
            is_known[page] = 1;
        }
        provided += provide_due(due_ns, count);
    }
}

/* NULL, or why there cannot be such pages. */
static const char *make_pages(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    size_t bytes = (size_t)FAULTERS * rounds * PAGE_BYTES;
    fault_descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fault_descriptor < 0)
        return strerror(errno);
    faulty_pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register pages = {.range = {(uint64_t)faulty_pages, bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faulty_pages == MAP_FAILED || ioctl(fault_descriptor, UFFDIO_API, &api) ||
        ioctl(fault_descriptor, UFFDIO_REGISTER, &pages))
        die("userfaultfd");
    return NULL;
}

/* ---- the threads ---- */

static const struct kind {
    const char *name;
    work_fn *work;
    int wants_pages;
} kinds[] = {
    {"vforker", wait_vfork, 0},    {"execer", wait_vfork_exec, 0}, {"spawner", wait_spawn, 0},
    {"parent", wait_child, 0},     {"fifo", serve_fifo, 0},        {"faulter", fault_page, 1},
    {"reader", read_into_page, 1}, {"pager", serve_pages, 1},
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };
static struct measured threads[KIND_COUNT];

KEEP_FRAME void *worker_main(void *argument)
{
    struct measured *self = argument;
    measured_begin(self);
    level_01(self, kinds[self - threads].work, round_ns);
    measured_end(self);
    return NULL;
}

static void make_fifo(void)
{
    const char *directory = getenv("TMPDIR");
    snprintf(fifo, sizeof fifo, "%s/kernel_waits.%d", directory ? directory : "/tmp", getpid());
    if (mkfifo(fifo, 0600))
        die(fifo);
}

int main(int argc, char **argv)
{
    struct report sums;
    process_start_ns = now_ns();
    if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) <= ROUNDS_MAX)
        rounds = (unsigned)atoi(argv[1]);
    make_fifo();
    const char *reason = make_pages();
    if (reason)
        printf("without userfaultfd: %s\n", reason);
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        snprintf(threads[i].name, sizeof threads[i].name, "%s", kinds[i].name);
        if (!reason || !kinds[i].wants_pages)
            measured_create(&threads[i], worker_main);
    }
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (!reason || !kinds[i].wants_pages)
            pthread_join(threads[i].thread, NULL);
    unlink(fifo);
    report_begin(&sums);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (threads[i].tid)
            report_thread(&sums, &threads[i], function_names, FUNCTION_COUNT);
    report_end(&sums, function_names, FUNCTION_COUNT);
    return 0;
}
