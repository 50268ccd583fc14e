/*
 * A PHP whose memory is hostile: the walk over its frames ends within its result, reads nothing that is not
 * there, and what it finds has names and lines that are text. No frame is lost when it is merged.
 *
 * Input: the version; how much fits; the register; and then words of a sound PHP's memory that are
 * overwritten, each with its new value (fuzz_interp.h).
 */
#include "fuzz_interp.h"
#include "interp/php_names.h"
#include "lib/fake_php.h"

/* Of a walk: SIG_INTERP_READS_MAX. */
enum { READS_MAX = 4096 };

static struct fake_php php;

/* A script, a method, a function in C that calls a closure, generators that wait, and a fiber. */
static void build(uint32_t interface)
{
    fake_php_init(&php, interface);
    const uint64_t class = fake_php_class(&php, "Shop");
    const uint64_t method = fake_php_function(&php, class, "fetch", "/srv/app.php");
    const uint64_t numbers = fake_php_function(&php, 0, "numbers", "/srv/numbers.php");
    const uint64_t running = fake_php_generator(&php, numbers, 1, 0);
    const uint64_t middle = fake_php_generator(&php, numbers, 2, running);
    fake_php_call(&php, fake_php_function(&php, 0, NULL, "/srv/app.php"), 0, true);
    fake_php_call(&php, fake_php_internal(&php, NULL, 0), 0, false);
    fake_php_call(&php, method, 1, true);
    fake_php_call(&php, fake_php_internal(&php, "array_map", 0x1000), 0, false);
    fake_php_call(&php, fake_php_function(&php, class, "{closure}", "/srv/app.php"), 3, true);
    fake_php_delegate(&php, fake_php_generator(&php, numbers, 3, middle));
    fake_php_call(&php, numbers, 4, true);
    fake_php_call(&php, fake_php_internal(&php, "sleep", 0x2000), 0, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t interfaces[] = {20210902, 20220829, 20230831, 20240924};
    struct fuzz_input input = {data, data + size};
    struct sig_interp_stack stack;
    struct interp_names names;
    build(interfaces[take_u8(&input) % 4]);
    const uint32_t capacity = 1 + take_u8(&input) % CAPACITY;
    php.instruction = take_number(&input);
    change_words(&input, &php.block);
    fake_php_walk(&php, &stack, capacity);
    FUZZ_ASSERT(php.block.reads <= READS_MAX);
    check_stack(&stack);
    for (uint32_t i = 0; i < stack.count; i++) {
        if (php_names_read(&php.layout, &php.block.memory, &stack.frames[i], &names))
            check_text(&names);
    }
    input = (struct fuzz_input){data, data + size};
    check_merge(&input, &stack);
    return 0;
}
