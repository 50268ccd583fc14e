/*
 * A Perl whose memory is hostile: the walk over its frames ends within its result, reads nothing that is not
 * there, and what it finds has names and lines that are text. No frame is lost when it is merged.
 *
 * Input: the version; how much fits; and then words of a sound Perl's memory that are overwritten, each with
 * its new value (fuzz_interp.h).
 */
#include "fuzz_interp.h"
#include "interp/perl_names.h"
#include "lib/fake_perl.h"

/* Of a walk: SIG_INTERP_READS_MAX. */
enum { READS_MAX = 4096 };

static struct fake_perl perl;

/* A script, a method in a loop, a file, evaluated text, a destructor, and a block of sort with a call. */
static void build(uint8_t minor)
{
    fake_perl_init(&perl, minor);
    const uint64_t package = fake_perl_package(&perl, "Shop");
    const uint64_t method = fake_perl_function(&perl, package, "fetch", "/srv/Shop.pm", 20);
    fake_perl_call(&perl, FAKE_PERL_SUB, method, true, "/srv/Shop.pm", 21);
    fake_perl_call(&perl, FAKE_PERL_LOOP, 0, true, "/srv/Shop.pm", 22);
    fake_perl_call(&perl, FAKE_PERL_EVALUATED, method, true, "/srv/Included.pm", 3);
    fake_perl_call(&perl, FAKE_PERL_EVALUATED | FAKE_PERL_IS_TEXT, 0, true, "(eval 7)", 2);
    fake_perl_stack(&perl);
    fake_perl_call(&perl, FAKE_PERL_SUB, fake_perl_function(&perl, package, "DESTROY", "/srv/Shop.pm", 40),
                   false, "/srv/Shop.pm", 41);
    fake_perl_stack(&perl);
    fake_perl_call(&perl, FAKE_PERL_SORT_BLOCK, 0, true, "/srv/Shop.pm", 42);
    fake_perl_call(&perl, FAKE_PERL_SUB, method, false, "/srv/Shop.pm", 23);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t versions[] = {32, 34, 36, 38, 40};
    struct fuzz_input input = {data, data + size};
    struct sig_interp_stack stack;
    struct interp_names names;
    build(versions[take_u8(&input) % sizeof versions]);
    const uint32_t capacity = 1 + take_u8(&input) % CAPACITY;
    change_words(&input, &perl.block);
    fake_perl_walk(&perl, &stack, capacity);
    FUZZ_ASSERT(perl.block.reads <= READS_MAX);
    check_stack(&stack);
    for (uint32_t i = 0; i < stack.count; i++) {
        if (perl_names_read(&perl.layout, &perl.block.memory, &stack.frames[i], &names))
            check_text(&names);
    }
    input = (struct fuzz_input){data, data + size};
    check_merge(&input, &stack);
    return 0;
}
