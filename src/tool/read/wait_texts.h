/*
 * What labels say of waits (profile/wait_labels.h), for people: names as the linker has them become those of
 * the source. "mutex _ZN6Server4lockE+8" is "mutex Server::lock+8", and a function is without its parameters.
 *
 * Called from: the readers of stores and pprof files. The tool's only thread.
 */
#ifndef WALLPROF_WAIT_TEXTS_H
#define WALLPROF_WAIT_TEXTS_H

#include "recording.h"
#include "account/labels.h"

/* Too long a text is cut. Returns ret, or the text where there is nothing to spell. */
const char *wait_text_spell(const char *text, char ret[LABELS_VALUE_BYTES]);

/* All labels of a recording's waits. One for which there is no memory stays as it is. */
void wait_texts_spell(struct recording *recording);

#endif
