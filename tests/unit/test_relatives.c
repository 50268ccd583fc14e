/* Which processes are looked at for the other end of a pipe, and what the kernel says of a unix socket's
 * peer. */
#include "lib/unit.h"
#include "waits/relatives.h"
#include "waits/unix_diag.h"
#include "waits/unix_peers.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_tasks(void)
{
    const int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    assert_true(tasks >= 0);
    return tasks;
}

/* ---- relatives ---- */

static const struct relative *find(const struct relatives *relatives, pid_t pid)
{
    for (uint32_t i = 0; i < relatives->count; i++) {
        if (relatives->all[i].pid == pid)
            return &relatives->all[i];
    }
    return NULL;
}

static bool has_name(const struct relatives *relatives, const char *name)
{
    for (uint32_t i = 0; i < relatives->count; i++) {
        if (strcmp(relatives->all[i].name, name) == 0)
            return true;
    }
    return false;
}

static pid_t begin_child(const int ready[2], int report, const char *name);

/* What a child of this process finds of its family, with a child of its own. This process may have a parent
 * with any number of children. */
static void look_from_a_child(const int ready[2], int report, const char *name)
{
    int of_child[2];
    struct relatives relatives;
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (report >= 0 && pipe(of_child) == 0)
        begin_child(of_child, -1, "a (grand) child");
    (void)!write(ready[1], "", 1);
    if (report >= 0) {
        relatives_read(&relatives, open("/proc/self/task", O_RDONLY | O_DIRECTORY), getpid(), UINT64_MAX);
        (void)!write(report, &relatives, sizeof relatives);
    }
    for (;;)
        pause();
}

static pid_t begin_child(const int ready[2], int report, const char *name)
{
    char byte;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        look_from_a_child(ready, report, name);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    return child;
}

static void children_parents_and_their_children_are_relatives(void **state)
{
    int ready[2], report[2];
    struct relatives own, of_child;
    const int tasks = open_tasks();
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(report), 0);
    const pid_t first = begin_child(ready, -1, "a (child) 1"),
                second = begin_child(ready, report[1], "other");
    assert_int_equal(read(report[0], &of_child, sizeof of_child), sizeof of_child);
    assert_true(of_child.is_complete);
    assert_int_equal(of_child.count, 3);
    assert_non_null(find(&of_child, getpid()));
    assert_string_equal(find(&of_child, first)->name, "a (child) 1");
    assert_true(has_name(&of_child, "a (grand) child"));
    assert_null(find(&of_child, second));
    relatives_read(&own, tasks, getpid(), 0); /* no time */
    assert_false(own.is_complete);
    relatives_read(&own, tasks, 1 << 30, UINT64_MAX); /* no thread of it */
    assert_int_equal(own.count, 0);
    assert_false(own.is_complete);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    close(tasks);
}

struct orphan {
    pid_t parent;
    struct relatives relatives;
};

/* What a process finds whose parent has ended. */
static void look_as_an_orphan(int report)
{
    struct orphan orphan;
    const pid_t middle = getpid(), child = fork();
    if (child != 0)
        _exit(child < 0);
    while (getppid() == middle)
        usleep(1000);
    orphan.parent = getppid();
    relatives_read(&orphan.relatives, open("/proc/self/task", O_RDONLY | O_DIRECTORY), getpid(), UINT64_MAX);
    (void)!write(report, &orphan, sizeof orphan);
    _exit(0);
}

/* In a container it may be the program's master. */
static void the_first_process_is_a_parent_as_others_are(void **state)
{
    int report[2];
    struct orphan orphan;
    assert_int_equal(pipe(report), 0);
    const pid_t middle = fork();
    assert_true(middle >= 0);
    if (middle == 0)
        look_as_an_orphan(report[1]);
    waitpid(middle, NULL, 0);
    assert_int_equal(read(report[0], &orphan, sizeof orphan), sizeof orphan);
    close(report[0]);
    close(report[1]);
    assert_non_null(find(&orphan.relatives, orphan.parent));
    if (orphan.parent == 1) { /* no other one has adopted it */
        assert_int_equal(orphan.relatives.count, 1);
        assert_false(orphan.relatives.is_complete);
    }
}

/* ---- unix sockets ---- */

static uint64_t inode_of(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return status.st_ino;
}

/* The kernel may have no such code, or not want to be asked. */
static void need_diagnosis(int tasks)
{
    int pair[2];
    struct unix_peers peers = {0};
    struct unix_peer peer;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const bool is_found = unix_peer_find(&peers, tasks, getpid(), inode_of(pair[0]), &peer);
    close(pair[0]);
    close(pair[1]);
    if (!is_found && peers.state != UNIX_PEERS_THERE) {
        close(tasks);
        skip();
    }
}

static void the_kernel_tells_a_sockets_peer(void **state)
{
    int pair[2];
    struct unix_peers peers = {0};
    struct unix_peer peer;
    const int tasks = open_tasks();
    need_diagnosis(tasks);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(unix_peer_find(&peers, tasks, getpid(), inode_of(pair[0]), &peer));
    assert_int_equal(peer.inode, inode_of(pair[1]));
    assert_string_equal(peer.path, "");
    close(pair[1]);
    assert_false(unix_peer_find(&peers, tasks, getpid(), inode_of(pair[0]), &peer));
    close(pair[0]);
    assert_false(unix_peer_find(&peers, tasks, getpid(), inode_of(tasks), &peer)); /* no socket */
    assert_int_equal(peers.state, UNIX_PEERS_THERE);
    close(tasks);
}

/* Under a name of the sockets of this kind that have no file, so that nothing is left. */
static void a_peer_is_called_by_the_path_that_it_was_reached_by(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct unix_peers peers = {0};
    struct unix_peer peer;
    char path[64];
    const int tasks = open_tasks(), server = socket(AF_UNIX, SOCK_STREAM, 0),
              client = socket(AF_UNIX, SOCK_STREAM, 0);
    need_diagnosis(tasks);
    const int length = snprintf(path, sizeof path, "@wallprof/test_relatives/%d", (int)getpid());
    memcpy(address.sun_path, path, (size_t)length);
    address.sun_path[0] = '\0';
    const socklen_t bytes = (socklen_t)offsetof(struct sockaddr_un, sun_path) + (socklen_t)length;
    assert_int_equal(bind(server, (const struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, bytes), 0);
    const int accepted = accept(server, NULL, NULL);
    assert_true(unix_peer_find(&peers, tasks, getpid(), inode_of(client), &peer));
    assert_string_equal(peer.path, path);
    assert_int_equal(peer.inode, inode_of(accepted));
    assert_true(unix_peer_find(&peers, tasks, getpid(), inode_of(accepted), &peer));
    assert_string_equal(peer.path, "");
    assert_int_equal(peer.inode, inode_of(client));
    close(accepted);
    close(client);
    close(server);
    close(tasks);
}

static void make_file(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void make_directories(const char *root)
{
    static const char *const names[] = {"1",   "1/task",     "sys",         "sys/kernel",
                                        "lib", "sys/module", "lib/modules", "lib/modules/6.1-x"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
}

/* The directory is /proc, /sys and / of a machine. */
static void no_module_is_to_be_loaded_for_it(void **state)
{
    char root[] = "/tmp/test_relatives.XXXXXX", path[64];
    assert_non_null(mkdtemp(root));
    make_directories(root);
    snprintf(path, sizeof path, "%s/1/task", root);
    const int tasks = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(unix_diag_is_built_in(tasks, root)); /* it can load none */
    make_file(root, "modules", "loop 1 0 - Live 0x0\n");
    assert_false(unix_diag_is_built_in(tasks, root));
    make_file(root, "sys/kernel/osrelease", "6.1-x\n");
    assert_false(unix_diag_is_built_in(tasks, root));
    make_file(root, "lib/modules/6.1-x/modules.builtin", "kernel/net/unix/unix.ko\nkernel/unix_diag.kok\n");
    assert_false(unix_diag_is_built_in(tasks, root));
    make_file(root, "lib/modules/6.1-x/modules.builtin",
              "kernel/net/unix/unix_diag.ko\nkernel/fs/ext4/ext4.ko\n");
    assert_true(unix_diag_is_built_in(tasks, root));
    assert_false(unix_diag_is_loaded(root));
    make_file(root, "sys/module/unix_diag", "");
    assert_true(unix_diag_is_loaded(root));
    close(tasks);
    snprintf(path, sizeof path, "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_parents_and_their_children_are_relatives),
        cmocka_unit_test(the_first_process_is_a_parent_as_others_are),
        cmocka_unit_test(the_kernel_tells_a_sockets_peer),
        cmocka_unit_test(a_peer_is_called_by_the_path_that_it_was_reached_by),
        cmocka_unit_test(no_module_is_to_be_loaded_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
