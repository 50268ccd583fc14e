/*
 * A finished profile made by hand: stacks as in fake_stacks.h, and the functions that their letters stand
 * for.
 *
 * A letter is a function of its own with a name, a file and a first line; its call site N is N lines further
 * on. Small letters are in the program /bin/app, capital ones in /lib/lib.so.
 */
#ifndef WALLPROF_FAKE_LETTERS_H
#define WALLPROF_FAKE_LETTERS_H

#include "fake_files.h"
#include "fake_stacks.h"
#include "account/fold.h"
#include "tool/formats/formats.h"
#include "narrow_memory.h"
#include "base/random.h"

enum { FAKE_LETTERS = 128, FAKE_LOCATIONS_MAX = 128, FAKE_THREADS_MAX = 8 };

struct fake_letters {
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct symbols symbols;
    struct profile profile;
    arena_ref thread_of_number[FAKE_THREADS_MAX + 1];
    arena_ref program, library;
    struct symbol_function functions[FAKE_LETTERS + PSEUDO_COUNT]; /* by letter, then pseudo-frames */
    const char *inlined[FAKE_LETTERS]; /* by letter: the stack that is inlined at its call site 9 */
    struct symbol_frame frames[FAKE_LOCATIONS_MAX * 4];
    uint32_t first_frame[FAKE_LOCATIONS_MAX + 1], region_of[FAKE_LOCATIONS_MAX];
    struct fake_directory directory;
};

/* A test with a struct fake_letters as its state. Every letter is called by itself, in file a.c,
 * from line 0 on. */
#define FAKE_LETTERS_TEST(test)                                                                              \
    cmocka_unit_test_setup_teardown(test, fake_letters_setup, fake_letters_teardown)
int fake_letters_setup(void **state);
int fake_letters_teardown(void **state);

/* One sample that waited. */
struct values fake_wall(uint64_t wall_ns);
void fake_name(struct fake_letters *fake, char letter, const char *name, const char *file,
               uint32_t start_line);

/* The thread's root. */
arena_ref fake_thread(struct fake_letters *fake, int32_t tid, const char *name);

/* What was measured with a stack below a root; each of its frames was called once more for it. */
void fake_weigh(struct fake_letters *fake, arena_ref root, const char *stack, struct values values);

/* The profile in a format; fake_bytes_free. */
struct fake_bytes fake_letters_written(struct fake_letters *fake, enum file_format format);

/* Many stacks, and memory for none of them, some and all: nothing but an error comes of it. */
void assert_error_without_memory(struct fake_letters *fake, enum file_format format);
void assert_written(struct fake_letters *fake, enum file_format format, const char *expected);

#endif
