/*
 * A program that looks like Perl 5.36 to whoever reads its memory, and whose memory is hostile: one thread
 * writes wild pointers over the interpreter, contexts, functions and statements all the time. The first
 * thread computes and sleeps in what is called Perl_runops_standard.
 *
 *     target_hostile_perl SECONDS
 */
#include "hostile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default"), used))

enum {
    WORDS = 4096,
    INTERPRETER_WORDS = 64,
    CONTEXT_WORDS = 13,
    CONTEXTS = 16,
    FUNCTION_WORDS = 64,
    /* as of 5.36, in words */
    OP_AT = 1,
    STATEMENT_AT = 26,
    STACK_AT = 28,
    IS_FUNCTION = 9
};

EXPORTED const uint8_t PL_revision = 5, PL_version = 36;
EXPORTED const uint16_t PL_interp_size = INTERPRETER_WORDS * 8;
EXPORTED uint64_t *PL_curinterp;
EXPORTED pthread_key_t PL_thr_key;
EXPORTED const char *const PL_op_name[] = {"nextstate", "dbstate", "entersub", "sort", "entertry", NULL};
EXPORTED const uint64_t PL_ppaddr[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0};

static uint64_t interpreter[INTERPRETER_WORDS];
static uint64_t memory[WORDS]; /* functions, names, statements, an instruction */
static uint64_t stacks[2][6];
static uint64_t *contexts; /* a page of them: two stacks */
static struct hostile hostile;

/* ---- a Perl that is in order ---- */

static uint64_t *name_at(uint32_t i)
{
    uint64_t *name = &memory[3072 + 4 * i];
    name[0] = (uint64_t)4 << 32;
    name[1] = 0x636e7566; /* "func" */
    return name;
}

static uint64_t *statement_at(uint32_t i)
{
    uint64_t *statement = &memory[2048 + 16 * i];
    statement[2] = PL_ppaddr[0];
    statement[4] = (uint64_t)(10 + i) << 32;
    statement[6] = address_of(&name_at(i)[1]);
    statement[7] = (uint64_t)i << 32;
    return statement;
}

static uint64_t *package_at(uint64_t *words)
{
    words[0] = address_of(words + 4);
    words[1] = (uint64_t)0x2000000 << 32;
    words[8] = address_of(name_at(30));
    return words;
}

/* A value, its body, a glob with a body, a package. */
static uint64_t *function_at(uint32_t i)
{
    uint64_t *value = &memory[FUNCTION_WORDS * i], *body = value + 4, *glob = value + 20;
    value[0] = address_of(body);
    value[1] = (uint64_t)13 << 32;
    body[5] = address_of(statement_at(i));
    body[7] = address_of(glob);
    body[8] = address_of(&name_at(i)[1]);
    glob[0] = address_of(glob + 2);
    glob[6] = address_of(name_at(i));
    glob[7] = address_of(package_at(value + 40));
    return value;
}

/* The outermost ones are called natively, and one in the middle. */
static void write_contexts(uint32_t stack)
{
    static const uint8_t types[] = {IS_FUNCTION, 8, 11 + 0x20, IS_FUNCTION, 11, 11 + 0x40};
    uint64_t *at = contexts + (size_t)stack * CONTEXT_WORDS * CONTEXTS;
    for (uint32_t k = 0; k < CONTEXTS; k++, at += CONTEXT_WORDS) {
        at[0] = types[k % sizeof types];
        at[2] = address_of(statement_at(k));
        at[6] = k == 0 || (k == CONTEXTS / 2 + 1 && stack == 0) ? 0 : address_of(memory);
        at[8] = address_of(name_at(k));
        at[9] = address_of(function_at(k));
    }
    stacks[stack][1] = address_of(contexts + (size_t)stack * CONTEXT_WORDS * CONTEXTS);
    stacks[stack][2] = stack ? address_of(stacks[0]) : 0;
    stacks[stack][4] = (uint64_t)CONTEXTS << 32 | (CONTEXTS - 1);
}

static void write_sane(void)
{
    write_contexts(0);
    write_contexts(1);
    interpreter[OP_AT] = address_of(&memory[4000]);
    interpreter[STATEMENT_AT] = address_of(statement_at(20));
    interpreter[STACK_AT] = address_of(stacks[1]);
}

/* ---- what is done to it ---- */

static void do_harm(void)
{
    hostile_change(&hostile, memory, WORDS);
    hostile_change(&hostile, contexts, 2 * CONTEXTS * CONTEXT_WORDS);
    if (random_word() % 16 == 0)
        hostile_change(&hostile, stacks[random_word() % 2], 6);
    if (random_word() % 64 == 0)
        hostile_change(&hostile, interpreter, STACK_AT + 1);
    if (random_word() % 32 == 0) /* the compiler's statement */
        __atomic_store_n(&interpreter[STATEMENT_AT], address_of(&interpreter[40]), __ATOMIC_RELAXED);
    if (random_word() % 8 == 0)
        write_sane();
}

static void *harm(void *argument)
{
    hostile_harm(do_harm, *(int *)argument);
    return NULL;
}

/* ---- the first thread ---- */

EXPORTED KEEP_FRAME uint64_t Perl_runops_standard(uint64_t depth)
{
    const uint64_t sum = depth > 0 ? Perl_runops_standard(depth - 1) : hostile_compute();
    KEEP_CALL();
    return sum + 1;
}

EXPORTED KEEP_FRAME uint64_t perl_run(void)
{
    const uint64_t sum = Perl_runops_standard(3);
    KEEP_CALL();
    return sum;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread;
    contexts = hostile_init(&hostile, 1);
    hostile_add(&hostile, memory, WORDS);
    hostile_add(&hostile, contexts, 2 * CONTEXTS * CONTEXT_WORDS);
    hostile_add(&hostile, stacks[0], 2 * 6);
    write_sane();
    PL_curinterp = interpreter;
    check(pthread_key_create(&PL_thr_key, NULL) == 0 && pthread_setspecific(PL_thr_key, interpreter) == 0,
          "the interpreter is the thread's");
    check(pthread_create(&thread, NULL, harm, &seconds) == 0, "a thread begins");
    perl_run();
    pthread_join(thread, NULL);
    return failures != 0;
}
