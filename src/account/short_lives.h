/*
 * Short lives: threads that end before enough samples could see them.
 *
 * The claims. Threads that live for 1 ms are seen by one in ten ticks that are 10 ms apart. Whoever is seen
 * stands for the ten. So a sample claims the whole stretch that it stands for (schedule.h). That may begin
 * before the thread, at the tick before its birth, and may go on after its end. All functions of a life are
 * then claimed with the odds that a tick finds the thread in them: their mean claim is their time, wherever
 * they are in the life, and however short it is (Horvitz, Thompson, "A generalization of sampling without
 * replacement from a finite universe", JASA 47, 1952). To cut the claims to the life would take time from
 * what comes early or late in it. For the first sample after a birth has a short claim then, and what came
 * after the last one is not claimed at all.
 *
 * The sums. One life is claimed too much, and another not at all. So their claims stay as they are when the
 * threads end. Lives of one name are settled together: their claims are scaled to what all their clocks say
 * together. (A ratio estimator: its bias is of the order of 1 / n for n samples of a name.) Then each life
 * gives what it has too much to those that have too little, below the same stacks. So each thread has its own
 * length and CPU time; what it did is in part what samples saw others do that have its name. (Hot-deck
 * imputation: Andridge, Little, "A review of hot deck imputation for survey non-response", Int. Stat. Review
 * 78, 2010.) When memory runs short meanwhile, the rest keep what they claim: the sums of names and functions
 * hold, and those of a thread may not. Only if no sample has seen any life of a name, their time is
 * [unsampled]. So a thread that has a name of its own is never said to have done what another one did.
 *
 * Which lives. A life of 100 periods or more (FOLD_SHORT_PERIODS) is settled alone: at most a hundredth of it
 * is [unsampled] at its end. Its sums are its own. So are those of the threads that are there at the end of
 * the recording. That depends on the length of a life alone, and not on what samples saw of it.
 *
 * Called from: the sampler thread; in the tool, from the reader of stores.
 */
#ifndef WALLPROF_SHORT_LIVES_H
#define WALLPROF_SHORT_LIVES_H

#include "profile/tree.h"

#include <stdbool.h>

/*
 * newest: the newest of the records of threads (struct thread_record). Those that were settled before are
 * settled again with the new ones. Cost: some steps for each node of short lives. Without scratch memory for
 * that, 100 bytes a life, they stay as they are, and the sums are not exact.
 */
void short_lives_settle(struct tree *tree, arena_ref newest, bool knows_delay);

#endif
