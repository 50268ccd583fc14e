#include "likeness.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A third of a word's letters may be wrong, and one of a short word's. */
enum { LETTERS_PER_EDIT = 3, PART_BYTES = 3 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * How many letters are to be added, dropped, changed, or swapped with their neighbour (optimal string
 * alignment). Of both words the first LIKENESS_WORD_BYTES count, whatever their case.
 */
static unsigned count_edits(const char *a, const char *b)
{
    unsigned rows[3][LIKENESS_WORD_BYTES + 1];
    const size_t a_bytes = strnlen(a, LIKENESS_WORD_BYTES), b_bytes = strnlen(b, LIKENESS_WORD_BYTES);
    for (size_t j = 0; j <= b_bytes; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_bytes; i++) {
        unsigned *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_bytes; j++) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = smaller(smaller(before[j], row[j - 1]) + 1, before[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = smaller(row[j], earlier[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

bool likeness_add(struct likeness *likeness, const char *name)
{
    const size_t bytes = strnlen(likeness->word, LIKENESS_WORD_BYTES);
    unsigned most = (unsigned)(bytes / LETTERS_PER_EDIT), edits = count_edits(likeness->word, name);
    most = most ? most : 1;
    if (edits > most && bytes >= PART_BYTES && strcasestr(name, likeness->word))
        edits = most; /* a part of a name is as near as it must be */
    if (edits > most || (likeness->best && edits >= likeness->best_edits))
        return false;
    likeness->best = name;
    likeness->best_edits = edits;
    return true;
}

const char *likeness_text(const struct likeness *likeness, char ret[LIKENESS_TEXT_BYTES])
{
    *ret = '\0';
    if (likeness->best)
        snprintf(ret, LIKENESS_TEXT_BYTES, "; did you mean '%.256s'?", likeness->best);
    return ret;
}
