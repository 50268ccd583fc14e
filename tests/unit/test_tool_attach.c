/*
 * The pieces of wallprof attach, of a forked child: it has our modules at our addresses, so that what is seen
 * of it from outside must be what we know of ourselves.
 */
#include "lib/unit.h"
#include "base/clock.h"
#include "sig/sys/sig_memory.h"
#include "tool/attach/attach.h"
#include "tool/attach/attach_modules.h"
#include "tool/attach/attach_store.h"
#include "tool/attach/attach_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int its_directory;
static int ends[2];  /* a pipe from the child */
static int go_on[2]; /* one to it */

static uint64_t secret = 1;

static void spin_for_ever(void)
{
    for (volatile unsigned i = 0;; i++)
        ;
}

/* Waits again and again, and says so if a wait ends early. */
static void wait_for_ever(void)
{
    struct epoll_event event;
    int epoll = epoll_create1(0);
    for (;;) {
        if (epoll_wait(epoll, &event, 1, 1) < 0)
            _exit(write(ends[1], "!", 1) == 1);
    }
}

static void begin(void routine(void))
{
    char path[64];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    child = fork();
    if (child == 0) {
        secret = 4711;
        routine();
    }
    snprintf(path, sizeof path, "/proc/%d", (int)child);
    its_directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(its_directory >= 0);
    if (trace_try(child) == -EPERM)
        skip();
}

/* Returns what its pid was. */
static pid_t end_child(void)
{
    pid_t pid = child;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, __WALL);
    child = 0;
    return pid;
}

static int end(void **state)
{
    sig_memory_be_of(0);
    if (child > 0)
        end_child();
    close(its_directory);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static int block_reports(void **state)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return sigprocmask(SIG_BLOCK, &set, NULL);
}

/* ---- memory ---- */

static void memory_is_that_of_the_subject(void **state)
{
    uint64_t copy = 0;
    begin(spin_for_ever);
    sig_memory_be_of(child);
    assert_int_equal(sig_memory_subject(), child);
    for (int i = 0; copy != 4711; i++) { /* it may not have begun */
        assert_true(sig_memory_copy(&copy, (uint64_t)(uintptr_t)&secret, sizeof copy));
        usleep(1000);
    }
    assert_true(sig_memory_peek((uint8_t *)&copy, (uint64_t)(uintptr_t)&secret, sizeof copy));
    assert_int_equal(copy, 4711);
    sig_memory_be_of(0);
    assert_true(sig_memory_copy(&copy, (uint64_t)(uintptr_t)&secret, sizeof copy));
    assert_int_equal(copy, 1);
}

/* A process that is gone is not taken for a kernel that refuses. */
static void a_subject_that_is_gone_gives_nothing(void **state)
{
    uint64_t copy = 0;
    begin(spin_for_ever);
    sig_memory_be_of(end_child());
    assert_false(sig_memory_copy(&copy, (uint64_t)(uintptr_t)&secret, sizeof copy));
    assert_false(sig_memory_peek((uint8_t *)&copy, (uint64_t)(uintptr_t)&secret, sizeof copy));
    assert_true(sig_memory_has_copies());
}

/* ---- modules ---- */

static struct attach_modules mapped;

static bool refresh(void *context, struct modules *modules)
{
    return attach_modules_refresh(context, modules);
}

static void assert_same_module(const struct modules *ours, const struct modules *its, uint64_t address)
{
    arena_ref our_ref = modules_find(ours, address), its_ref = modules_find(its, address);
    assert_true(our_ref && its_ref);
    const struct module *our = arena_at(ours->list.arena, our_ref), *it = arena_at(its->list.arena, its_ref);
    assert_int_equal(it->start_pc, our->start_pc);
    assert_int_equal(it->end_pc, our->end_pc);
    assert_int_equal(it->file_offset, our->file_offset);
    assert_int_equal(it->load_bias, our->load_bias);
    assert_int_equal(it->eh_frame_hdr, our->eh_frame_hdr);
    assert_int_equal(it->cfi_low, our->cfi_low);
    assert_int_equal(it->cfi_high, our->cfi_high);
    assert_int_equal(it->build_id_bytes, our->build_id_bytes);
    assert_memory_equal(it->build_id, our->build_id, sizeof our->build_id);
    assert_int_equal(it->is_main, our->is_main);
    assert_false(it->is_permanent);
    assert_false(it->is_own);
}

static void its_modules_are_as_the_loader_has_ours(void **state)
{
    struct arena our_arena, its_arena;
    struct modules ours = {.target = NULL}, its = {.target = NULL};
    begin(spin_for_ever);
    const struct target target = {.pid = child,
                                  .directory = its_directory,
                                  .program = mapped.program,
                                  .context = &mapped,
                                  .refresh_modules = refresh};
    assert_int_equal(arena_init(&our_arena, 1 << 22), 0);
    assert_int_equal(arena_init(&its_arena, 1 << 22), 0);
    assert_int_equal(modules_init(&ours, &our_arena), 0);
    sig_memory_be_of(child);
    attach_modules_init(&mapped, its_directory, "");
    its.target = &target;
    assert_int_equal(modules_init(&its, &its_arena), 0);
    assert_int_equal(its.now.count, ours.now.count);
    for (uint32_t i = 0; i < ours.now.count; i++)
        assert_same_module(&ours, &its, ours.now.entries[i].start_pc);
    assert_string_equal(its.main_path, ours.main_path);
    mapped.is_due = true;
    assert_false(modules_refresh(&its)); /* before its time */
    mapped.due_ns = 0;
    assert_false(modules_refresh(&its)); /* nothing has changed */
    sig_memory_be_of(0);
    modules_deinit(&its);
    modules_deinit(&ours);
    arena_deinit(&its_arena);
    arena_deinit(&our_arena);
}

/* ---- stops ---- */

static enum trace_result stop(struct trace_stop *ret)
{
    enum trace_result result = trace_begin(child, ret);
    while (result == TRACE_COMES) {
        usleep(1000);
        result = trace_take(child, ret);
    }
    return result;
}

static char state_of_child(void)
{
    char text[256] = "";
    int fd = openat(its_directory, "stat", O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strrchr(text, ')')[2];
}

static void a_thread_that_runs_stands_still_and_goes_on(void **state)
{
    struct trace_stop stopped;
    begin(spin_for_ever);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(stop(&stopped), TRACE_STOPPED);
        assert_int_equal(state_of_child(), 't');
        assert_int_equal(stopped.signal, 0);
        assert_true(trace_let_go(child, &stopped));
        assert_int_not_equal(state_of_child(), 't');
    }
    assert_int_equal(trace_try(child), 0); /* nobody traces it */
}

/* Also of a thread that waits: the stop itself says so, and the wait goes on. */
static void a_wait_is_made_again(void **state)
{
    struct trace_stop stopped;
    char byte;
    unsigned waiting = 0;
    begin(wait_for_ever);
    for (int i = 0; i < 300 || waiting == 0; i++) {
        enum trace_result result = stop(&stopped);
        assert_int_equal(result, TRACE_STOPPED);
        waiting += stopped.was_waiting;
        assert_true(trace_let_go(child, &stopped));
    }
    assert_true(read(ends[0], &byte, 1) < 0); /* no wait has ended early */
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
}

static void a_thread_that_is_gone_is_told(void **state)
{
    struct trace_stop stopped;
    begin(spin_for_ever);
    assert_int_equal(trace_begin(end_child(), &stopped), TRACE_GONE);
}

/* ---- a process that is held ---- */

static void execute(void)
{
    char byte;
    while (read(go_on[0], &byte, 1) < 0)
        ;
    execl("/bin/true", "true", NULL);
    _exit(1);
}

static bool hold(void)
{
    int status = 0;
    while (ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACEEXEC) < 0 && errno == EPERM)
        usleep(1000); /* the thread of trace_try may not have ended yet */
    bool is_held = write(go_on[1], "g", 1) == 1;
    while (is_held && status >> 16 != PTRACE_EVENT_EXEC)
        is_held = waitpid(child, &status, __WALL) == child && WIFSTOPPED(status) &&
                  (status >> 16 == PTRACE_EVENT_EXEC || ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
    return is_held;
}

/* Holds the child at its exec, kills it there, and records it. Says so, and goes on. */
static void record_killed(void)
{
    static struct config config;
    static struct log log;
    static struct attach attach;
    config_read(&config, &log, (char *[]){NULL});
    attach = (struct attach){.pid = child,
                             .config = &config,
                             .log = &log,
                             .directory = its_directory,
                             .is_held = true,
                             .is_deaf = true,
                             .leash = -1};
    bool is_recorded = hold() && attach_init(&attach) == 0 && kill(child, SIGKILL) == 0;
    if (is_recorded && attach_record_held(&attach) < 0) /* its memory may have gone already */
        attach_let_go(child);
    (void)!write(ends[1], is_recorded ? "r" : "e", 1);
    for (;;)
        pause();
}

/* Its parent is told of its end, though its tracer goes on. */
static void one_that_is_killed_while_held_ends(void **state)
{
    int status;
    char byte;
    assert_int_equal(pipe2(go_on, O_CLOEXEC), 0);
    begin(execute);
    const pid_t recorder = fork();
    if (recorder == 0)
        record_killed();
    while (read(ends[0], &byte, 1) < 0)
        usleep(1000);
    const pid_t ended = waitpid(child, &status, WNOHANG);
    kill(recorder, SIGKILL);
    waitpid(recorder, NULL, 0);
    assert_int_equal(byte, 'r');
    assert_int_equal(ended, child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    child = 0;
    close(go_on[0]);
    close(go_on[1]);
}

/* ---- a file that could not be kept ---- */

/* Nobody waits for what a recorder has given up: the lock of a store that is open would say that it is still
 * recorded into. */
static void a_store_that_was_given_up_is_let_go(void **state)
{
    static struct sampler sampler;
    static struct store_header header = {.live = {.state = STORE_GIVEN_UP, .error = -ENOSPC}};
    struct attach attach = {.sampler = &sampler};
    sampler.mapped_store.header = &header;
    sampler.mapped_store.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int fd = sampler.mapped_store.fd;
    assert_true(fd > 0);
    assert_int_equal(attach_store_end(&attach), -ENOSPC);
    assert_int_equal(sampler.mapped_store.fd, 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* ---- who records it ---- */

/* A process that another one records into the run's directory is not recorded a second time. */
static void a_recorder_is_told_by_its_lock(void **state)
{
    char run[] = "/tmp/wallprof-test.XXXXXX", path[64], byte;
    assert_non_null(mkdtemp(run));
    snprintf(path, sizeof path, "%s/wallprof.4711.abcdef.live.store", run);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t recorder = fork();
    if (recorder == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        (void)!write(ends[1], fcntl(fd, F_SETLK, &lock) == 0 ? "l" : "e", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    const bool is_its = attach_store_has_recorder(run, 4711),
               is_anothers = attach_store_has_recorder(run, 471);
    kill(recorder, SIGKILL);
    waitpid(recorder, NULL, 0);
    const bool is_left = attach_store_has_recorder(run, 4711);
    unlink(path);
    rmdir(run);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(byte, 'l');
    assert_true(is_its);
    assert_false(is_anothers);
    assert_false(is_left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(memory_is_that_of_the_subject, end),
        cmocka_unit_test_teardown(a_subject_that_is_gone_gives_nothing, end),
        cmocka_unit_test_teardown(its_modules_are_as_the_loader_has_ours, end),
        cmocka_unit_test_teardown(a_thread_that_runs_stands_still_and_goes_on, end),
        cmocka_unit_test_teardown(a_wait_is_made_again, end),
        cmocka_unit_test_teardown(a_thread_that_is_gone_is_told, end),
        cmocka_unit_test_teardown(one_that_is_killed_while_held_ends, end),
        cmocka_unit_test(a_recorder_is_told_by_its_lock),
        cmocka_unit_test(a_store_that_was_given_up_is_let_go),
    };
    return cmocka_run_group_tests(tests, block_reports, NULL);
}
