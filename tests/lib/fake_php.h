/*
 * The memory of a PHP process, made by hand: the engine's record, frames, functions, and generators.
 */
#ifndef WALLPROF_FAKE_PHP_H
#define WALLPROF_FAKE_PHP_H

#include "interp/php_layout.h"
#include "lib/fake_memory.h"

enum { FAKE_PHP_8_2 = 20220829, FAKE_PHP_FRAMES = 64, FAKE_PHP_FIRST_LINE = 10, FAKE_PHP_LINES = 8 };

struct fake_php {
    struct fake_memory block;
    struct sig_php_layout layout;
    uint64_t record, frame; /* the engine's; the innermost one */
    uint64_t generator_class;
    uint64_t instruction; /* in the register */
};

/* interface: of a known version. */
void fake_php_init(struct fake_php *php, uint32_t interface);

uint64_t fake_php_text(struct fake_php *php, const char *text);
uint64_t fake_php_class(struct fake_php *php, const char *name);

/* A function of the script, with an instruction for each of FAKE_PHP_LINES lines. scope: a class, or 0. name:
 * NULL for none. */
uint64_t fake_php_function(struct fake_php *php, uint64_t scope, const char *name, const char *file);

/* A function in C. */
uint64_t fake_php_internal(struct fake_php *php, const char *name, uint64_t handler);

/* The address of a function's instruction. */
uint64_t fake_php_instruction(struct fake_php *php, uint64_t function, uint32_t index);

/* A frame is called by the innermost one so far. Its address. */
uint64_t fake_php_call(struct fake_php *php, uint64_t function, uint32_t index, bool is_top);

/* A frame that is in no chain, of a generator inside of the other one (0: it runs). The generator. */
uint64_t fake_php_generator(struct fake_php *php, uint64_t function, uint32_t index, uint64_t inner);

/* The innermost frame stands for generators that wait, from the outermost one on. */
uint64_t fake_php_delegate(struct fake_php *php, uint64_t generator);

/* Walks with room for so many frames. */
bool fake_php_walk(struct fake_php *php, struct sig_interp_stack *stack, uint32_t capacity);

#endif
