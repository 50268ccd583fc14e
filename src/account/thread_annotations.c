/* The name is read as under a sequence lock: it counts if nobody has changed it meanwhile. */
#include "thread_annotations.h"
#include "sig/sys/sig_atomic.h"

#include <string.h>

void marks_set_name(struct wp_marks *marks, const char *name)
{
    uint64_t words[MARKS_NAME_WORDS] = {0};
    memcpy(words, name, strnlen(name, THREAD_NAME_BYTES - 1));
    uint32_t odd = sig_load_relaxed(&marks->name_changes) | 1;
    sig_store_seq_cst(&marks->name_changes, odd);
    for (int i = 0; i < MARKS_NAME_WORDS; i++)
        sig_store_release(&marks->name[i], words[i]); /* partner: the acquire in marks_name */
    sig_store_release(&marks->name_changes, odd + 1); /* partner: the first acquire there */
}

bool marks_name(const struct wp_marks *marks, char ret[THREAD_NAME_BYTES])
{
    uint64_t words[MARKS_NAME_WORDS];
    uint32_t before = sig_load_acquire(&marks->name_changes);
    for (int i = 0; i < MARKS_NAME_WORDS; i++)
        words[i] = sig_load_acquire(&marks->name[i]);
    bool is_whole = before % 2 == 0 && sig_load_relaxed(&marks->name_changes) == before;
    if (!is_whole || words[0] == 0)
        return false;
    memcpy(ret, words, THREAD_NAME_BYTES);
    return true;
}
