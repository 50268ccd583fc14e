/* What filters do with a call is what the kernel does: both are asked. */
/* test: not-emulated */
#include "preload/call_filter.h"
#include "lib/unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM(...)                                                                                         \
    ((struct sock_fprog){sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter),           \
                         (struct sock_filter[]){__VA_ARGS__}})
#define LOAD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define REFUSE        RETURN(SECCOMP_RET_ERRNO | ENOTTY)
#define ALLOW         RETURN(SECCOMP_RET_ALLOW)

/* Whether a child under the filter can make the call: getpriority(1, 2, 3), which has no effect. */
static bool kernel_allows(const struct sock_fprog *program)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, 2, program) < 0)
            _exit(2);
        long result = syscall(SYS_getpriority, 1, 2, 3);
        _exit(result < 0 && errno == ENOTTY);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void assert_same_as_the_kernel(const struct sock_fprog *program, bool expected)
{
    struct call calls[] = {{SYS_getpriority, {1, 2, 3}}, {-1, {0}}};
    assert_int_equal(kernel_allows(program), expected);
    assert_int_equal(call_filter_passes(program, calls, false), expected);
}

static void by_number_and_arguments(void **state)
{
    struct sock_fprog number =
        PROGRAM(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1), REFUSE, ALLOW);
    struct sock_fprog argument =
        PROGRAM(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 3), LOAD(args[1]),
                BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 2, 0, 1), REFUSE, ALLOW);
    struct sock_fprog range =
        PROGRAM(LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_getpriority, 0, 2),
                BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_getpriority, 1, 0), REFUSE, ALLOW);
    assert_same_as_the_kernel(&number, false);
    assert_same_as_the_kernel(&argument, true);
    assert_same_as_the_kernel(&range, false);
}

/* By another way each, and refused if the sum, product, ... of the arguments is what it is. */
static void arithmetic(void **state)
{
    struct sock_fprog sum =
        PROGRAM(LOAD(args[1]), BPF_STMT(BPF_ST, 3), LOAD(args[2]), BPF_STMT(BPF_LDX | BPF_W | BPF_MEM, 3),
                BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 4),
                BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xe),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 10, 0, 1), REFUSE, ALLOW);
    assert_same_as_the_kernel(&sum, false);
    struct sock_fprog architecture =
        PROGRAM(LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 0, 1), REFUSE, ALLOW);
    assert_same_as_the_kernel(&architecture, true);
}

static void what_is_no_filter_allows_nothing(void **state)
{
    struct call calls[] = {{SYS_getpriority, {0}}, {-1, {0}}};
    struct sock_fprog endless = PROGRAM(LOAD(nr)),
                      outside = PROGRAM(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), ALLOW),
                      by_zero = PROGRAM(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ALLOW),
                      memory = PROGRAM(BPF_STMT(BPF_ST, 16), ALLOW),
                      far = PROGRAM(BPF_STMT(BPF_JMP | BPF_JA, ~0U), ALLOW);
    assert_false(call_filter_passes(&endless, calls, false));
    assert_false(call_filter_passes(&outside, calls, false));
    assert_false(call_filter_passes(&by_zero, calls, false));
    assert_false(call_filter_passes(&memory, calls, false));
    assert_false(call_filter_passes(&far, calls, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_number_and_arguments),
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(what_is_no_filter_allows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
