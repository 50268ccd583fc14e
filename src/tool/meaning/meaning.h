/*
 * What the stacks of a profile mean to its reader: whose function the time is in, and what is waited for.
 *
 * The user's function of a stack is the nearest one outwards that is the user's (code_owner.h). Where there
 * is none, it is the nearest one of a library, and then the innermost with a name. What a lock of a runtime
 * is made of counts for the function that takes the lock (wait_machine in wait_kind.h).
 *
 * A wait is idle if a thread waits for work, not for its work to go on:
 * - a machine may say so, such as a pool's queue, or what WALLPROF_IDLE names (idle.h);
 * - epoll, accept and sigwait wait for work, unless a machine says what they are for;
 * - so do poll, select, a condition and a semaphore that a thread is in right below where it began: at most
 *   MEANING_IDLE_DEPTH functions of the user's around it.
 *
 * A node of a wait label (profile/wait_labels.h) means what its leaf does.
 *
 * Called from: reports and formats. One pass over all trees. Memory: 8 bytes for each node.
 */
#ifndef WALLPROF_MEANING_H
#define WALLPROF_MEANING_H

#include "profile/profile.h"
#include "wait_kind.h"

enum { MEANING_IDLE_DEPTH = 2 };

/* What is known of a profile's functions and locations, whatever stack they are on. */
struct meaning_names {
    const struct profile *profile;
    struct meaning_of_function *functions; /* owned; by index */
    uint8_t *owners;                       /* owned; enum code_owner, by location index */
};

/* 0 or -ENOMEM; deinit in any case. The profile has symbols. */
int meaning_names_init(struct meaning_names *names, const struct profile *profile);
void meaning_names_deinit(struct meaning_names *names);

/* What is waited for at a node: of the profile's tree, or of one that was merged from its threads. Takes time
 * in proportion to the node's depth. */
enum wait_kind meaning_wait_at(const struct meaning_names *names, const struct tree *tree, arena_ref node);

struct meaning_of_node {
    uint32_t frame;  /* 1 + index into symbols->frames of the user's function; 0 for none, as at a label */
    uint8_t wait;    /* enum wait_kind: of the time that is waited at the node itself */
    uint8_t owner;   /* enum code_owner of that function */
    uint8_t depth;   /* functions of the user's around it, itself included; at most 255 */
    uint8_t machine; /* as of a function inside a machine (meaning.c); else 0 */
};

struct meaning {
    struct meaning_of_node *nodes; /* owned; by tree_node_index */
};

/* 0 or -ENOMEM; deinit in any case. The profile has symbols. */
int meaning_init(struct meaning *meaning, const struct profile *profile);
void meaning_deinit(struct meaning *meaning);

/* A node's own values without the time in which it waits for work. */
struct values meaning_shown(const struct meaning *meaning, const struct tree *tree, arena_ref node);

/* The user's function of a node; NULL where there is none, as at a root. */
const char *meaning_function(const struct meaning *meaning, const struct profile *profile, arena_ref node);

#endif
