/*
 * A program that looks like PHP 8.2 to whoever reads its memory, and whose memory is hostile: one thread
 * writes wild pointers over the frames, functions and strings all the time. The first thread computes and
 * sleeps in what is called execute_ex.
 *
 *     target_hostile_php SECONDS
 */
#include "hostile.h"

#include <pthread.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default"), used))

enum {
    WORDS = 4096,
    FRAMES = 8,
    FRAME_WORDS = 16,
    FUNCTION_WORDS = 32,
    INTERFACE = 20220829,
    CURRENT_AT = 61, /* in the engine's record, as of 8.2 */
    NAME_AT = 1,     /* in a function */
    SCOPE_AT,
    LAST_AT = 10,
    OPCODES_AT,
    FILENAME_AT = 19,
    IS_TOP = 1 << 17
};

EXPORTED uint64_t executor_globals[225];
EXPORTED uint64_t module_registry[7];
EXPORTED uint64_t *zend_ce_generator;

static uint64_t module[4] = {(uint64_t)INTERFACE << 32};
static uint64_t *first_module = module;
static uint64_t memory[WORDS]; /* functions, strings, instructions */
static uint64_t *frames;       /* a page of them */
static struct hostile hostile;

/* ---- a PHP that is in order ---- */

static uint64_t *function_at(uint32_t i)
{
    uint64_t *function = &memory[FUNCTION_WORDS * (i + 1)], *string = &memory[2048 + 8 * i];
    string[2] = 6;
    string[3] = 0x636e7566; /* "func" */
    function[0] = i % 3 == 2 ? 1 : 2;
    function[NAME_AT] = address_of(string);
    function[SCOPE_AT] = i % 2 ? address_of(memory) : 0;
    function[LAST_AT] = 8;
    function[OPCODES_AT] = address_of(&memory[3072]);
    function[FILENAME_AT] = address_of(string);
    return function;
}

static void write_sane(void)
{
    memory[1] = address_of(&memory[2048]);
    for (uint32_t k = 0; k < FRAMES; k++) {
        uint64_t *frame = frames + (size_t)FRAME_WORDS * k;
        frame[0] = address_of(&memory[3072 + 4 * k]);
        frame[3] = address_of(function_at(k));
        frame[5] = k % 2 ? 0 : IS_TOP;
        frame[6] = k > 0 ? address_of(frame - FRAME_WORDS) : 0;
    }
    executor_globals[CURRENT_AT] = address_of(frames + (size_t)FRAME_WORDS * (FRAMES - 1));
}

/* ---- what is done to it ---- */

/* A frame without a function leads to generators. */
static void delegate(void)
{
    uint64_t *frame = frames + random_word() % FRAMES * FRAME_WORDS,
             *generator = &memory[random_word() % 2000];
    generator[2] = address_of(zend_ce_generator);
    frame[3] = 0;
    frame[4] = address_of(generator);
    frame[5] = 8;
}

static void do_harm(void)
{
    hostile_change(&hostile, memory, WORDS);
    hostile_change(&hostile, frames, FRAMES * FRAME_WORDS);
    if (random_word() % 4 == 0)
        delegate();
    if (random_word() % 64 == 0)
        hostile_change(&hostile, executor_globals, CURRENT_AT + 1);
    if (random_word() % 8 == 0)
        write_sane();
}

static void *harm(void *argument)
{
    hostile_harm(do_harm, *(int *)argument);
    return NULL;
}

/* ---- the first thread ---- */

EXPORTED KEEP_FRAME uint64_t execute_ex(uint64_t depth)
{
    const uint64_t sum = depth > 0 ? execute_ex(depth - 1) : hostile_compute();
    KEEP_CALL();
    return sum + 1;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread;
    frames = hostile_init(&hostile, 1);
    hostile_add(&hostile, memory, WORDS);
    hostile_add(&hostile, frames, FRAMES * FRAME_WORDS);
    zend_ce_generator = memory;
    module_registry[2] = address_of(&first_module);
    module_registry[3] = 1;
    write_sane();
    check(pthread_create(&thread, NULL, harm, &seconds) == 0, "a thread begins");
    execute_ex(3);
    pthread_join(thread, NULL);
    return failures != 0;
}
