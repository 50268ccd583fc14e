/*
 * The frames of a thread that runs Perl 5.32 to 5.40, built with threads (USE_ITHREADS), as Debian's is.
 *
 * A thread's interpreter has its innermost stack of contexts (PERL_SI), and each of these leads to the one
 * outside of it. A stack of contexts is an array, with one for each call of a function, evaluated text,
 * block and loop. A context has the statement that was there when it began (a COP: file and line), which is
 * the line of what called. The innermost line is the interpreter's own.
 *
 * One native call of Perl_runops_standard runs several frames, because a call from Perl to Perl makes no
 * native call. The outermost of them is one to which nothing is to return: its context has no next
 * instruction. Blocks that are called natively have no function of their own: sort {...}, defer {...}.
 *
 * A frame is a function (CV), or a statement where there is none. Its line is its `at`. A native caller
 * pushes the context before the call. So the innermost context may be of a call that has not begun, or, with
 * sort, of one that is between two calls.
 *
 * Called from: sig_walk_frames.c.
 * Source: Perl's cop.h, intrpvar.h, cv.h, op.h of Debian's 5.32.1, 5.36.0 and 5.40.1.
 */
#ifndef WALLPROF_SIG_PERL_H
#define WALLPROF_SIG_PERL_H

#include "sig_interp.h"

/* Where things are in one version of Perl: offsets in bytes. */
struct sig_perl_layout {
    uint16_t statement, stack; /* in the interpreter: PL_curcop and PL_curstackinfo */
    uint16_t bytes;            /* of the interpreter, as far as it is read */
    uint16_t all_bytes;        /* of all of it: a statement in there is that of the compiler */
    bool is_name_in_array;     /* a package's name comes after its entries: before 5.36 */
    uint64_t nextstate, dbstate, entersub, sort; /* where these instructions' functions start */
};

/* What is the same in all of them. */
enum {
    SIG_PERL_OP = 8, /* in the interpreter */
    SIG_PERL_OP_NEXT = 0,
    SIG_PERL_OP_FUNCTION = 16,
    SIG_PERL_STATEMENT_LINE = 36, /* of 32 bits */
    SIG_PERL_STATEMENT_FILE = 48,
    SIG_PERL_STATEMENT_NUMBER = 60, /* of 32 bits */
    SIG_PERL_STATEMENT_BYTES = 64,
    SIG_PERL_CV_BODY = 0,
    SIG_PERL_CV_FLAGS = 12, /* of 32 bits */
    SIG_PERL_CV_BYTES = 16,
    SIG_PERL_BODY_PACKAGE = 32,
    SIG_PERL_BODY_START = 40,
    SIG_PERL_BODY_NAME = 56,
    SIG_PERL_BODY_FILE = 64,
    SIG_PERL_BODY_FLAGS = 92, /* of 32 bits */
    SIG_PERL_BODY_BYTES = 96
};

/* What a frame is: the low bits of its check. */
enum sig_perl_kind {
    SIG_PERL_FUNCTION = 1,
    SIG_PERL_MAIN,  /* a file's own code */
    SIG_PERL_TEXT,  /* that of evaluated text */
    SIG_PERL_SORT,  /* a block that is called natively: of sort, */
    SIG_PERL_DEFER, /* of defer and finally, */
    SIG_PERL_REGEX, /* of a pattern, (?{...}) */
    SIG_PERL_BEGIN, /* a function that is given up as soon as it has run, or END and its like */
    SIG_PERL_KIND_MASK = 7,
    SIG_PERL_COMPILED = 8, /* the statement is the compiler's, and changes with each line */
    SIG_PERL_CHECK_SHIFT = 4
};

/* See sig_walk_frames.h. The thread's state is the address of the pointer to its interpreter, which may be 0
 * for a while. */
bool sig_perl_walk(const struct sig_perl_layout *layout, const struct sig_interp_walk *walk);

/* The check of a frame that was found at `code`, by what it is there now; 0 if it is none. flags: of
 * enum sig_perl_kind, without the hash. */
uint64_t sig_perl_check(const struct sig_perl_layout *layout, const struct sig_interp_walk *walk,
                        uint64_t code, unsigned flags, bool is_held);

#endif
