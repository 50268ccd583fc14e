/*
 * The cache of unwind rules: exact pc -> how to step to the caller, for the whole process, without a lock.
 *
 * Lookups and insertions come from signal handlers of any number of threads at once; sig_rules_clear from the
 * sampler thread, while no handler can be between its lookup and its insertion (sig_handler_publish_modules).
 *
 * Proof that a lookup never returns a rule of another pc: an entry is one 64-bit word, so a relaxed load sees
 * one insertion whole. The pc is multiplied by an odd constant modulo 2^48, a bijection; 13 bits of the
 * product choose the entry and the other 35 stand in it. Equal entry and equal 35 bits hence mean equal pc.
 * An insertion that overwrites another, or is lost, costs a recomputation, never a wrong answer. Rules are a
 * function of the pc as long as the modules stay; when they change the cache is cleared as a whole.
 */
#ifndef WALLPROF_SIG_RULES_H
#define WALLPROF_SIG_RULES_H

#include "sig_cfi.h"

#include <stdbool.h>
#include <stdint.h>

/* True and the rule when it is cached. */
bool sig_rules_lookup(uint64_t lookup_pc, struct sig_rule *ret);

/* Keeps a rule if it is of a form that fits into an entry (nearly all are). */
void sig_rules_insert(uint64_t lookup_pc, const struct sig_rule *rule);

void sig_rules_clear(void);

#endif
