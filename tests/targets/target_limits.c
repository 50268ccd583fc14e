/*
 * Programs that set themselves limits, and count what is theirs: one per run. Each works for a while under
 * the limit and ends with status 3; any other status names a thing that was not as it should be.
 *
 *     target_limits descriptors        every free number is ours, and nothing else is open, at every moment
 *     target_limits limit NAME N       setrlimit: nofile, sigpending, as (N more than now), fsize, nproc, cpu
 *     target_limits stopped            stops itself between two spans of work, until somebody lets it go on
 */
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { WORKED = 3, FAILED = 4 };

__attribute__((noinline)) void work(void)
{
    work_ms(300);
    __asm__ volatile("# work" ::: "memory");
}

/* ---- descriptors ---- */

static int own_descriptors = 3; /* 0, 1 and 2 */

static int count_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

static void list_descriptors(void)
{
    int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
    CHECK(first == own_descriptors);
    CHECK(second == own_descriptors + 1);
    close(second);
    close(first);
    CHECK(count_descriptors() == own_descriptors);
    for (int fd = own_descriptors; fd < 64; fd++)
        CHECK(fcntl(fd, F_GETFD) == -1);
}

static void *list_all_the_time(void *unused)
{
    for (uint64_t end = now_ns() + 200 * NS_PER_MS; now_ns() < end;)
        list_descriptors();
    return unused;
}

static bool is_looking; /* before main and after it too: it is started with nothing but 0, 1 and 2 open */

__attribute__((constructor)) static void before_main(int argc, char **argv)
{
    is_looking = argc > 1 && !strcmp(argv[1], "descriptors");
    if (is_looking)
        list_descriptors();
}

static void at_exit(void)
{
    if (is_looking)
        list_descriptors();
    if (failures)
        _exit(FAILED);
}

__attribute__((destructor)) static void after_main(void)
{
    at_exit();
}

static void list_in_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        list_all_the_time(NULL);
        exit(failures ? FAILED : WORKED);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == WORKED);
}

/* Everything is closed, in every way there is, and low numbers are used again: they must not be ours. */
static void take_all_numbers(void)
{
    for (int fd = 3; fd <= 20; fd++)
        CHECK(dup2(0, fd) == fd);
    work();
    closefrom(3);
    CHECK(close_range(3, ~0U, 0) == 0);
    for (int fd = getdtablesize(); fd > 2; fd--)
        close(fd);
    work();
}

static int run_descriptors(void)
{
    pthread_t thread;
    atexit(at_exit);
    pthread_create(&thread, NULL, list_all_the_time, NULL);
    pthread_join(thread, NULL);
    list_in_child();
    take_all_numbers();
    list_descriptors();
    return WORKED;
}

/* ---- limits ---- */

static uint64_t address_space_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (uint64_t)pages * 4096;
}

static int run_limit(const char *name, const char *number)
{
    static const struct {
        const char *name;
        int resource;
    } resources[] = {{"none", RLIMIT_CORE}, {"nofile", RLIMIT_NOFILE}, {"sigpending", RLIMIT_SIGPENDING},
                     {"as", RLIMIT_AS},     {"fsize", RLIMIT_FSIZE},   {"nproc", RLIMIT_NPROC},
                     {"cpu", RLIMIT_CPU}};
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        if (strcmp(name, resources[i].name) != 0)
            continue;
        uint64_t value = strtoull(number, NULL, 10);
        value += resources[i].resource == RLIMIT_AS ? address_space_bytes() : 0;
        struct rlimit limit = {value, value};
        CHECK(setrlimit(resources[i].resource, &limit) == 0);
        work();
        return WORKED;
    }
    return FAILED;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    int status = FAILED;
    if (!strcmp(mode, "descriptors"))
        status = run_descriptors();
    if (!strcmp(mode, "stopped")) {
        work();
        raise(SIGSTOP);
        work();
        status = WORKED;
    }
    if (!strcmp(mode, "limit") && argc > 3)
        status = run_limit(argument, argv[3]);
    return failures ? FAILED : status;
}
