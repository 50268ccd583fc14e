/*
 * The frames of the thread that runs PHP 8 (without ZTS, where one thread of a process does).
 *
 * The engine's record (executor_globals) leads to the innermost frame (zend_execute_data), and each frame to
 * the one that called it. They lie in chunks of memory one after the other, those of generators in memory of
 * their own. Frames of functions written in C are there too.
 *
 * One native call of the interpreter (execute_ex) runs several frames. The outermost of them is marked.
 *
 * A frame's instruction is written down where it may call something, so it is the right one of all frames
 * that have called. The innermost frame's may be an old one. The interpreter has the current one in a
 * register that functions have to preserve. If that register's value is one of the function's instructions,
 * it counts.
 *
 * Called from: sig_walk_frames.c.
 * Source: PHP's Zend/zend_compile.h, zend_globals.h, zend_generators.h, zend_fibers.c of 8.1 to 8.4.
 */
#ifndef WALLPROF_SIG_PHP_H
#define WALLPROF_SIG_PHP_H

#include "sig_interp.h"

/* By the DWARF: r15, or x28. As Zend/zend_execute.c has it (ZEND_VM_IP_GLOBAL_REG). */
#ifdef __aarch64__
enum { SIG_PHP_INSTRUCTION_REGISTER = 28 };
#else
enum { SIG_PHP_INSTRUCTION_REGISTER = 15 };
#endif

/* Where things are in the records of one version of PHP: offsets in bytes, multiples of 8 but for `last`,
 * `first_line` and `call_info`, of 32 bits. */
struct sig_php_layout {
    uint16_t current; /* in the engine's record: the pointer to the innermost frame */
    struct {
        uint16_t instruction, function, object, call_info, previous;
        uint16_t bytes;
    } frame;
    struct {
        uint16_t name, scope;
        uint16_t handler;                             /* of a function written in C */
        uint16_t last, opcodes, filename, first_line; /* of all others */
        uint16_t bytes;                               /* as far as it is read */
    } function;
    struct {
        uint16_t object_class, frame, parent;
        uint64_t class_at; /* the address of the pointer to their class */
    } generator;
    uint16_t class_name;
};

/* What a function says of itself: zend_function.type. */
enum { SIG_PHP_INTERNAL = 1, SIG_PHP_USER = 2, SIG_PHP_EVAL = 4 };

enum { SIG_PHP_INSTRUCTION_BYTES = 32 };

/* A string: its hash, which may not be known yet (0), its length, and where its bytes begin. */
enum { SIG_PHP_STRING_HASH = 8, SIG_PHP_STRING_LENGTH = 16, SIG_PHP_STRING_BYTES = 24 };

/* See sig_walk_frames.h. The thread's state is the address of the engine's record. */
bool sig_php_walk(const struct sig_php_layout *layout, const struct sig_interp_walk *walk);

/* The hash of a function: of its record, layout->function.bytes at an aligned address, and of its name and
 * its file's. 0 if it is no function. */
uint64_t sig_php_function_check(const struct sig_php_layout *layout, const struct sig_interp_walk *walk,
                                const uint64_t *record, bool is_held);

#endif
