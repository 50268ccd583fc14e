/* Which of many names a mistyped word may have meant, for messages. */
#ifndef WALLPROF_LIKENESS_H
#define WALLPROF_LIKENESS_H

#include <stdbool.h>

enum { LIKENESS_WORD_BYTES = 64, LIKENESS_TEXT_BYTES = 320 };

/* Zero but for the word. It keeps pointers to the names that it is shown. */
struct likeness {
    const char *word;
    const char *best; /* the nearest name so far; NULL while none is near */
    unsigned best_edits;
};

/* Compares one more name; true if it is the nearest so far. Of equal ones the first counts. */
bool likeness_add(struct likeness *likeness, const char *name);

/* "; did you mean 'NAME'?", or "" where no name is near. Returns ret. */
const char *likeness_text(const struct likeness *likeness, char ret[LIKENESS_TEXT_BYTES]);

#endif
