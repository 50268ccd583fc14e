/*
 * A program that looks like CPython 3.12 to whoever reads its memory, and whose memory is hostile: one thread
 * writes wild pointers over the thread states and frames of the others all the time: into these records, to
 * pages that cannot be read, and anywhere. It also gives back the chunks of their frames, as the end of
 * Python does. The others compute and sleep in what is called _PyEval_EvalFrameDefault.
 *
 *     target_hostile_python SECONDS
 */
#include "hostile.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define EXPORTED __attribute__((visibility("default"), used))

enum {
    WORKERS = 4,
    WORDS = 4096,
    HEADS_AT = 5,        /* in _PyRuntime, as of 3.12: interpreters.head */
    THREADS_HEAD_AT = 9, /* in the interpreter's state */
    NATIVE_ID_AT = 18,   /* in a thread's state */
    FRAME_RECORD_AT = 7,
    CHUNK_AT = 29,
    CODE_WORDS = 32,
    FRAME_WORDS = 16
};

EXPORTED const uint32_t Py_Version = 0x030c01f0;
EXPORTED uint64_t PyCode_Type[64];
EXPORTED uint64_t _PyRuntime[256];

static uint64_t interpreter[64];
static uint64_t states[WORKERS][64];
static uint64_t memory[WORDS];    /* records and code */
static uint64_t *chunks[WORKERS]; /* of frames: a page each */
static struct hostile hostile;

/* ---- a Python that is in order ---- */

static uint64_t *code_at(uint32_t i)
{
    uint64_t *code = &memory[CODE_WORDS * (i + 1)];
    code[1] = address_of(PyCode_Type);
    code[2] = 3 + i;
    return code;
}

static void write_sane(void)
{
    _PyRuntime[HEADS_AT] = address_of(interpreter);
    interpreter[THREADS_HEAD_AT] = address_of(states[0]);
    for (int i = 0; i < WORKERS; i++) {
        uint64_t *record = &memory[2048 + 8 * i], *frame = chunks[i];
        states[i][1] = i + 1 < WORKERS ? address_of(states[i + 1]) : 0;
        states[i][FRAME_RECORD_AT] = address_of(record);
        states[i][CHUNK_AT] = address_of(frame);
        states[i][CHUNK_AT + 1] = address_of(frame + FRAME_WORDS * 8);
        record[0] = address_of(frame + FRAME_WORDS * 7);
        for (int k = 0; k < 8; k++) {
            frame[FRAME_WORDS * k] = address_of(code_at((uint32_t)k));
            frame[FRAME_WORDS * k + 1] = k > 0 ? address_of(frame + FRAME_WORDS * (k - 1)) : 0;
            frame[FRAME_WORDS * k + 7] = address_of(code_at((uint32_t)k)) + 200;
        }
    }
}

/* ---- what is done to it ---- */

/* As if it were given back, but nothing else comes to lie there. */
static void lose_chunk(uint64_t *chunk)
{
    mprotect(chunk, HOSTILE_PAGE_WORDS * 8, PROT_NONE);
    mprotect(chunk, HOSTILE_PAGE_WORDS * 8, PROT_READ | PROT_WRITE);
}

/* The ids stay most of the time: else nothing more would be read of a state. */
static void do_harm(void)
{
    hostile_change(&hostile, memory, WORDS);
    hostile_change(&hostile, chunks[random_word() % WORKERS], FRAME_WORDS * 8);
    if (random_word() % 16 == 0)
        lose_chunk(chunks[random_word() % WORKERS]);
    if (random_word() % 64 == 0)
        hostile_change(&hostile, states[random_word() % WORKERS], random_word() % 2 ? 17 : 40);
    if (random_word() % 4096 == 0)
        hostile_change(&hostile, _PyRuntime, 64);
    if (random_word() % 8 == 0)
        write_sane();
}

/* ---- the workers ---- */

EXPORTED KEEP_FRAME uint64_t _PyEval_EvalFrameDefault(uint64_t depth)
{
    const uint64_t sum = depth > 0 ? _PyEval_EvalFrameDefault(depth - 1) : hostile_compute();
    KEEP_CALL();
    return sum + 1;
}

static void *work(void *argument)
{
    const uint64_t i = (uint64_t)(uintptr_t)argument;
    states[i][NATIVE_ID_AT] = (uint64_t)syscall(SYS_gettid);
    _PyEval_EvalFrameDefault(i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    uint64_t *more = hostile_init(&hostile, WORKERS);
    hostile_add(&hostile, memory, WORDS);
    for (int i = 0; i < WORKERS; i++) {
        chunks[i] = more + (size_t)i * HOSTILE_PAGE_WORDS;
        hostile_add(&hostile, states[i], 64);
    }
    write_sane();
    for (uint64_t i = 0; i < WORKERS; i++)
        check(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) == 0, "a thread begins");
    hostile_harm(do_harm, argc > 1 ? atoi(argv[1]) : 2);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return failures != 0;
}
