#include "lib/fake_perl.h"

#include "sig/interp/sig_walk_frames.h"

#include <string.h>

enum {
    CONTEXTS = 8,
    PREVIOUS = 16,
    INDEX = 32,
    CAPACITY = 36,
    CONTEXT_BYTES = 104,
    CONTEXT_STATEMENT = 16,
    CONTEXT_RETURN = 48,
    CONTEXT_FILE = 64,
    CONTEXT_FUNCTION = 72,
    INTERPRETER_BYTES = 512,
    HAS_NAME = 0x2000000,
    BODY_WORDS = SIG_PERL_BODY_BYTES / 8,
    ANY = 0x5000
};

static uint64_t text(struct fake_perl *perl, const char *bytes)
{
    const uint32_t length = (uint32_t)strlen(bytes);
    uint64_t at = fake_alloc(&perl->block, length / FAKE_WORD_BYTES + 1);
    memcpy(fake_at(&perl->block, at), bytes, length);
    return at;
}

static uint64_t name(struct fake_perl *perl, const char *bytes)
{
    const uint32_t length = (uint32_t)strlen(bytes);
    uint64_t at = fake_alloc(&perl->block, length / FAKE_WORD_BYTES + 2);
    fake_set_half(&perl->block, at + 4, length);
    memcpy(fake_at(&perl->block, at + 8), bytes, length);
    return at;
}

static void set_statement(struct fake_perl *perl, uint64_t statement)
{
    fake_set(&perl->block, perl->interpreter + perl->layout.statement, statement);
}

void fake_perl_init(struct fake_perl *perl, uint8_t minor)
{
    fake_memory_init(&perl->block);
    perl_layout_of(minor, &perl->layout);
    perl->layout.all_bytes = INTERPRETER_BYTES;
    perl->layout.nextstate = 0x1000;
    perl->layout.dbstate = 0x2000;
    perl->layout.entersub = 0x3000;
    perl->layout.sort = 0x4000;
    perl->state = fake_alloc(&perl->block, 1);
    perl->interpreter = fake_alloc(&perl->block, INTERPRETER_BYTES / FAKE_WORD_BYTES);
    fake_set(&perl->block, perl->state, perl->interpreter);
    perl->stack = 0;
    perl->number = 0;
    fake_perl_stack(perl);
    fake_perl_run(perl, ANY, ANY);
    set_statement(perl, fake_perl_statement(perl, "/srv/shop.pl", FAKE_PERL_LINE));
}

uint64_t fake_perl_package(struct fake_perl *perl, const char *of)
{
    uint64_t package = fake_alloc(&perl->block, 3), body = fake_alloc(&perl->block, 9),
             more = body + 32; /* after the body, or after an array of one entry */
    fake_set(&perl->block, package, body);
    fake_set_half(&perl->block, package + 12, of ? HAS_NAME : 0);
    if (perl->layout.is_name_in_array) {
        more = fake_alloc(&perl->block, 5);
        fake_set(&perl->block, package + 16, more - FAKE_WORD_BYTES);
    }
    fake_set(&perl->block, more, of ? name(perl, of) : 0);
    return perl->package = package;
}

uint64_t fake_perl_statement(struct fake_perl *perl, const char *file, uint32_t line)
{
    uint64_t statement = fake_alloc(&perl->block, SIG_PERL_STATEMENT_BYTES / FAKE_WORD_BYTES);
    fake_set(&perl->block, statement + SIG_PERL_OP_FUNCTION, perl->layout.nextstate);
    fake_set_half(&perl->block, statement + SIG_PERL_STATEMENT_LINE, line);
    fake_set(&perl->block, statement + SIG_PERL_STATEMENT_FILE, text(perl, file));
    fake_set_half(&perl->block, statement + SIG_PERL_STATEMENT_NUMBER, ++perl->number);
    return statement;
}

static uint64_t glob(struct fake_perl *perl, uint64_t package, const char *of)
{
    uint64_t at = fake_alloc(&perl->block, 3), body = fake_alloc(&perl->block, 6);
    fake_set(&perl->block, at, body);
    fake_set(&perl->block, body + 32, name(perl, of));
    fake_set(&perl->block, body + 40, package);
    return perl->glob = at;
}

uint64_t fake_perl_function(struct fake_perl *perl, uint64_t package, const char *of, const char *file,
                            uint32_t line)
{
    uint64_t function = fake_alloc(&perl->block, 3), body = fake_alloc(&perl->block, BODY_WORDS);
    fake_set(&perl->block, function, body);
    fake_set_half(&perl->block, function + SIG_PERL_CV_FLAGS, 13);
    fake_set(&perl->block, body + SIG_PERL_BODY_PACKAGE, package);
    fake_set(&perl->block, body + SIG_PERL_BODY_START, fake_perl_statement(perl, file, line));
    fake_set(&perl->block, body + SIG_PERL_BODY_NAME, glob(perl, package, of));
    fake_set(&perl->block, body + SIG_PERL_BODY_FILE, text(perl, file));
    return function;
}

void fake_perl_stack(struct fake_perl *perl)
{
    uint64_t stack = fake_alloc(&perl->block, 6);
    fake_set(&perl->block, stack + CONTEXTS,
             fake_alloc(&perl->block, FAKE_PERL_CONTEXTS * CONTEXT_BYTES / FAKE_WORD_BYTES));
    fake_set(&perl->block, stack + PREVIOUS, perl->stack);
    fake_set_half(&perl->block, stack + INDEX, UINT32_MAX);
    fake_set_half(&perl->block, stack + CAPACITY, FAKE_PERL_CONTEXTS);
    fake_set(&perl->block, perl->interpreter + perl->layout.stack, stack);
    perl->stack = stack;
    perl->count = 0;
}

uint64_t fake_perl_call(struct fake_perl *perl, uint8_t type, uint64_t called, bool returns, const char *file,
                        uint32_t line)
{
    const bool is_evaluated = (type & 0xf) == FAKE_PERL_EVALUATED;
    const uint64_t context =
        *fake_at(&perl->block, perl->stack + CONTEXTS) + (uint64_t)perl->count * CONTEXT_BYTES;
    *(uint8_t *)fake_at(&perl->block, context) = type;
    fake_set(&perl->block, context + CONTEXT_STATEMENT,
             *fake_at(&perl->block, perl->interpreter + perl->layout.statement));
    fake_set(&perl->block, context + CONTEXT_RETURN, returns ? ANY : 0);
    fake_set(&perl->block, context + (is_evaluated ? CONTEXT_FILE : CONTEXT_FUNCTION), called);
    fake_set_half(&perl->block, perl->stack + INDEX, perl->count++);
    if (file)
        set_statement(perl, fake_perl_statement(perl, file, line));
    return context;
}

void fake_perl_run(struct fake_perl *perl, uint64_t next, uint64_t function)
{
    const uint64_t op = fake_alloc(&perl->block, 3);
    fake_set(&perl->block, op + SIG_PERL_OP_NEXT, next);
    fake_set(&perl->block, op + SIG_PERL_OP_FUNCTION, function);
    fake_set(&perl->block, perl->interpreter + SIG_PERL_OP, op);
}

bool fake_perl_walk(struct fake_perl *perl, struct sig_interp_stack *stack, uint32_t capacity)
{
    static struct sig_interp_frame frames[FAKE_PERL_FRAMES];
    static struct sig_interp_scratch scratch;
    const struct sig_interp_layout layout = {.language = SIG_INTERP_PERL, .of.perl = perl->layout};
    const struct sig_interp_thread thread = {.state = perl->state};
    *stack = (struct sig_interp_stack){.frames = frames, .capacity = capacity};
    return sig_walk_frames(&layout, &thread, &perl->block.memory, &scratch, stack);
}
