/*
 * The memory of a Perl process, made by hand: an interpreter, its stacks of contexts, functions, statements.
 */
#ifndef WALLPROF_FAKE_PERL_H
#define WALLPROF_FAKE_PERL_H

#include "interp/perl_layout.h"
#include "lib/fake_memory.h"

enum { FAKE_PERL_FRAMES = 64, FAKE_PERL_CONTEXTS = 16, FAKE_PERL_LINE = 10 };

/* What a context begins with: its type, with marks. */
enum {
    FAKE_PERL_SORT_BLOCK = 0,
    FAKE_PERL_LOOP = 8,
    FAKE_PERL_SUB = 9,
    FAKE_PERL_EVALUATED = 11,
    FAKE_PERL_DEFER = 13,
    FAKE_PERL_MULTICALL = 0x10, /* these two of a sub */
    FAKE_PERL_REGEX_BLOCK = 0xd0,
    FAKE_PERL_IS_TEXT = 0x20, /* these two of what is evaluated */
    FAKE_PERL_IS_BLOCK = 0x40
};

struct fake_perl {
    struct fake_memory block;
    struct sig_perl_layout layout;
    uint64_t state, interpreter;
    uint64_t stack;         /* the innermost one of contexts */
    uint32_t count;         /* of its contexts */
    uint64_t package, glob; /* the last ones that were made */
    uint32_t number;        /* of the last statement */
};

/* minor: of a known version. The program's own code is at FAKE_PERL_LINE of "/srv/shop.pl". */
void fake_perl_init(struct fake_perl *perl, uint8_t minor);

/* "main", NULL: one without a name. */
uint64_t fake_perl_package(struct fake_perl *perl, const char *name);
uint64_t fake_perl_statement(struct fake_perl *perl, const char *file, uint32_t line);

/* A function of the package that begins at the line. */
uint64_t fake_perl_function(struct fake_perl *perl, uint64_t package, const char *name, const char *file,
                            uint32_t line);

/* A new stack of contexts. */
void fake_perl_stack(struct fake_perl *perl);

/*
 * A context of the innermost stack. called: the function, or what has the name of a file; 0 for none.
 * returns: whether there is an instruction to return to. Then the program goes on at the line of the file.
 * Returns the context.
 */
uint64_t fake_perl_call(struct fake_perl *perl, uint8_t type, uint64_t called, bool returns, const char *file,
                        uint32_t line);

/* The current instruction: what it goes on with, and its function. */
void fake_perl_run(struct fake_perl *perl, uint64_t next, uint64_t function);

/* Walks with room for so many frames. */
bool fake_perl_walk(struct fake_perl *perl, struct sig_interp_stack *stack, uint32_t capacity);

#endif
