/*
 * Reading a stack from copies of its pieces: what comes back is what is there, wherever the pieces end, and
 * nothing is read but by the kernel.
 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "sig/ground/sig_stack.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    PAGES = 64,
    WORDS_OF_PAGE = PAGE / sizeof(uint64_t),
    BUFFER_BYTES = SIG_STACK_COPY_BYTES_MIN,
    HOLE = 40, /* a page that is not there */
};

static uint64_t *region; /* PAGES; each word is its own address */
static uint64_t buffer[BUFFER_BYTES / sizeof(uint64_t) + 1];
static struct sig_stack_copy copy;
static struct sig_stack stack;

static uint64_t at_page(size_t page)
{
    return (uint64_t)(uintptr_t)region + page * PAGE;
}

static int setup(void **state)
{
    region = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        return -1;
    for (size_t i = 0; i < (size_t)PAGES * WORDS_OF_PAGE; i++)
        region[i] = (uint64_t)(uintptr_t)&region[i];
    munmap(region + (size_t)HOLE * WORDS_OF_PAGE, PAGE);
    copy = (struct sig_stack_copy){.words = buffer, .capacity_bytes = BUFFER_BYTES, .mem_descriptor = -1};
    buffer[BUFFER_BYTES / sizeof(uint64_t)] = 4711; /* after it */
    stack = (struct sig_stack){.copy = &copy};
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(buffer[BUFFER_BYTES / sizeof(uint64_t)], 4711);
    munmap(region, (size_t)PAGES * PAGE);
    return 0;
}

static void skip_without_copies(void)
{
    if (!kernel_copies_memory())
        skip();
}

static void assert_reads(uint64_t address)
{
    uint64_t word = 0;
    assert_true(sig_stack_read(&stack, address, &word));
    assert_int_equal(word, address);
    assert_true(stack.window_low <= address && address < stack.window_high);
    assert_true(stack.window_high - stack.window_low <= BUFFER_BYTES);
}

static void assert_not_read(uint64_t address)
{
    uint64_t word;
    assert_false(sig_stack_read(&stack, address, &word));
}

static uint32_t pieces_for(uint64_t from, uint64_t to)
{
    uint32_t before = copy.pieces_left;
    for (uint64_t address = from; address < to; address += 8)
        assert_reads(address);
    return before - copy.pieces_left;
}

static void what_is_expected_is_one_piece(void **state)
{
    skip_without_copies();
    sig_stack_begin(&stack, at_page(3) + 4000);
    assert_int_equal(pieces_for(at_page(3) + 4000, at_page(3) + 4000 + 2048), 1); /* without a hint */
    copy.expected_bytes = 10000;
    sig_stack_begin(&stack, at_page(3) + 4000);
    assert_int_equal(pieces_for(at_page(3) + 4000, at_page(3) + 4000 + 10000), 1);
    copy.expected_bytes = 1000000; /* more than there is room for */
    sig_stack_begin(&stack, at_page(3) + 4000);
    assert_int_equal(pieces_for(at_page(3) + 4000, at_page(3) + 4000 + BUFFER_BYTES), 1);
}

/* Upwards in pieces that double, each after the one before; the first ones stay. */
static void the_window_grows_upwards(void **state)
{
    skip_without_copies();
    sig_stack_begin(&stack, at_page(2));
    assert_int_equal(pieces_for(at_page(2), at_page(2) + BUFFER_BYTES), 3);
    assert_int_equal(stack.window_low, at_page(2));
    assert_int_equal(stack.window_high, at_page(2) + BUFFER_BYTES);
    assert_int_equal(pieces_for(at_page(2), at_page(2) + BUFFER_BYTES), 0);
}

static void a_full_buffer_begins_anew(void **state)
{
    skip_without_copies();
    sig_stack_begin(&stack, at_page(1) + 8);
    assert_in_range(pieces_for(at_page(1) + 8, at_page(HOLE)), HOLE * PAGE / BUFFER_BYTES, 40);
    assert_reads(at_page(1) + 8); /* and back */
    for (size_t page = 30; page > 0; page--)
        assert_reads(at_page(page) - 8);
}

static void a_page_that_is_missing_is_a_gap(void **state)
{
    skip_without_copies();
    sig_stack_begin(&stack, at_page(HOLE - 2));
    copy.expected_bytes = BUFFER_BYTES;
    assert_reads(at_page(HOLE) - 8);
    assert_int_equal(stack.window_high, at_page(HOLE));
    assert_not_read(at_page(HOLE));
    assert_not_read(at_page(HOLE + 1) - 8);
    assert_reads(at_page(HOLE + 1));
    assert_reads(at_page(HOLE) - 16);
    sig_stack_begin(&stack, at_page(HOLE) + 16);
    assert_not_read(at_page(HOLE) + 16);
}

/* What lies above may be another thread's; nothing of it is read along. */
static void the_stacks_end_is_the_windows_end(void **state)
{
    uint64_t word;
    skip_without_copies();
    stack.low = at_page(5);
    stack.high = at_page(6) + 104;
    copy.expected_bytes = BUFFER_BYTES;
    sig_stack_begin(&stack, at_page(5) + 2000);
    assert_reads(stack.high - 8);
    assert_int_equal(stack.window_high, stack.high);
    assert_true(sig_stack_search(&stack, stack.high - 8, &word));
    assert_false(sig_stack_search(&stack, stack.high, &word));
    assert_true(sig_stack_is_one(&stack, stack.low, stack.high - 8));
    assert_not_read(stack.high);
    assert_reads(at_page(7)); /* as any other stack */
    assert_reads(at_page(5) + 8);
    assert_int_equal(stack.window_high, stack.high);
}

static void words_are_read_once_and_by_the_kernel(void **state)
{
    skip_without_copies();
    sig_stack_begin(&stack, at_page(4));
    assert_reads(at_page(4) + 800);
    munmap(region + (size_t)4 * WORDS_OF_PAGE, PAGE);
    assert_reads(at_page(4) + 808);
    assert_reads(at_page(9));
    assert_not_read(at_page(4) + 800);
    assert_not_read(at_page(4) + 808);
}

static void hostile_stack_pointers_read_nothing(void **state)
{
    static const uint64_t hostile[] = {0,
                                       8,
                                       4088,
                                       UINT64_MAX,
                                       UINT64_MAX - 7,
                                       UINT64_MAX - 4095,
                                       INT64_MAX - 7,
                                       (uint64_t)INT64_MAX + 1,
                                       0xffffffffff600000U,
                                       0x7ffffffff000U,
                                       0xffff800000000000U};
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        for (int from_there = 0; from_there < 2; from_there++) {
            copy.expected_bytes = from_there ? SIZE_MAX : 0;
            sig_stack_begin(&stack, from_there ? hostile[i] : at_page(2));
            assert_not_read(hostile[i]);
            assert_not_read(hostile[i] & ~(uint64_t)7);
            assert_not_read((hostile[i] & ~(uint64_t)7) + 8);
            if (!kernel_copies_memory())
                continue;
            assert_not_read(at_page(2) + 4);
            copy.expected_bytes = 0;
            assert_reads(at_page(2) + 8);
        }
    }
}

static void a_walk_to_and_fro_ends(void **state)
{
    uint64_t word;
    int reads = 0;
    skip_without_copies();
    sig_stack_begin(&stack, at_page(0));
    while (sig_stack_read(&stack, at_page(reads % 2 ? 3 : 20), &word))
        assert_true(reads++ < 1000);
    assert_in_range(reads, 100, 200);
    assert_int_equal(copy.pieces_left, 0);
    sig_stack_begin(&stack, at_page(0));
    assert_reads(at_page(0));
}

/* Its registers are used when the walk has gone on to another stack. */
static void a_context_outlives_its_piece(void **state)
{
    uint64_t at = at_page(7) - 64;
    skip_without_copies();
    sig_stack_begin(&stack, at - 8);
    const ucontext_t *context = sig_stack_context(&stack, at);
    assert_non_null(context);
    sig_stack_enter(&stack, at_page(30));
    for (size_t i = 0; i < BUFFER_BYTES; i += 8)
        assert_reads(at_page(20) + i);
    assert_memory_equal(context, (const void *)(uintptr_t)at, SIG_UCONTEXT_BYTES);
    assert_null(sig_stack_context(&stack, at_page(HOLE) - 64));
    assert_null(sig_stack_context(&stack, at + 4));
}

static void bytes_are_read_across_pieces(void **state)
{
    uint64_t found, expected;
    skip_without_copies();
    sig_stack_begin(&stack, at_page(8));
    memcpy(&expected, (const char *)region + 9 * PAGE - 3, sizeof(expected));
    assert_true(sig_stack_read_bytes(&stack, at_page(9) - 3, 8, &found));
    assert_int_equal(found, expected);
    assert_false(sig_stack_read_bytes(&stack, at_page(HOLE) - 3, 8, &found));
}

/* As under a container's filter of system calls. */
static void refuse_process_vm_readv(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(2);
}

static bool reads_by_descriptor(void)
{
    uint64_t word;
    sig_stack_begin(&stack, at_page(HOLE - 1));
    if (sig_stack_read(&stack, at_page(HOLE) - 8, &word))
        return false; /* refused, and no descriptor */
    copy.mem_descriptor = open("/proc/self/mem", O_RDONLY);
    copy.expected_bytes = BUFFER_BYTES;
    sig_stack_begin(&stack, at_page(HOLE - 1));
    return sig_stack_read(&stack, at_page(HOLE) - 8, &word) && word == at_page(HOLE) - 8 &&
           stack.window_high == at_page(HOLE) && !sig_stack_read(&stack, at_page(HOLE), &word);
}

static void where_the_kernel_refuses_a_descriptor_serves(void **state)
{
    int status = 0;
    skip_without_copies();
    pid_t child = fork();
    if (child == 0) {
        refuse_process_vm_readv();
        _exit(reads_by_descriptor() ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(status, 0);
}

/* What is held is read, at its first and its last word; beyond it nothing is copied, and it stays. */
static void what_is_held_is_all_there_is(void **state)
{
    uint64_t word = 0;
    copy.held_low = at_page(2);
    copy.held_bytes = PAGE + sizeof(uint64_t);
    memcpy(buffer, region + 2 * WORDS_OF_PAGE, copy.held_bytes);
    region[2 * WORDS_OF_PAGE] = 0; /* since then */
    sig_stack_begin(&stack, at_page(2) + 16);
    assert_true(sig_stack_read(&stack, at_page(2), &word));
    assert_int_equal(word, at_page(2));
    assert_true(sig_stack_read(&stack, at_page(3), &word));
    assert_int_equal(word, at_page(3));
    assert_false(sig_stack_read(&stack, at_page(3) + 8, &word));
    assert_false(sig_stack_read(&stack, at_page(1), &word));
    assert_true(sig_stack_read(&stack, at_page(2) + 8, &word));
    assert_int_equal(word, at_page(2) + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_held_is_all_there_is, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_expected_is_one_piece, setup, teardown),
        cmocka_unit_test_setup_teardown(the_window_grows_upwards, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_buffer_begins_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_that_is_missing_is_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stacks_end_is_the_windows_end, setup, teardown),
        cmocka_unit_test_setup_teardown(words_are_read_once_and_by_the_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_stack_pointers_read_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_walk_to_and_fro_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_context_outlives_its_piece, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_read_across_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(where_the_kernel_refuses_a_descriptor_serves, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
