#include "mcp_text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

void mcp_text_init(struct mcp_text *text, size_t most, bool keeps_end)
{
    *text = (struct mcp_text){.bytes = calloc(1, most + 1), .most = most, .keeps_end = keeps_end};
}

void mcp_text_deinit(struct mcp_text *text)
{
    free(text->bytes);
    *text = (struct mcp_text){0};
}

/* Makes room for so many bytes at the end. */
static void forget_beginning(struct mcp_text *text, size_t count)
{
    size_t left = text->most - text->used, over = count > left ? count - left : 0;
    memmove(text->bytes, text->bytes + over, text->used - over);
    text->used -= over;
    text->lost += over;
}

void mcp_text_add(struct mcp_text *text, const char *bytes, size_t count)
{
    size_t skipped = count > text->most ? count - text->most : 0;
    if (!text->bytes)
        return;
    if (text->keeps_end) {
        text->lost += skipped;
        bytes += skipped;
        count -= skipped;
        forget_beginning(text, count);
    }
    size_t left = text->most - text->used, kept = count < left ? count : left;
    memcpy(text->bytes + text->used, bytes, kept);
    text->used += kept;
    text->lost += count - kept;
}

void mcp_text_finish(struct mcp_text *text)
{
    if (!text->bytes)
        return;
    for (char *nul; (nul = memchr(text->bytes, '\0', text->used));)
        *nul = '?';
    text->bytes[text->used] = '\0';
    char *end = text->lost > 0 && !text->keeps_end ? strrchr(text->bytes, '\n') : NULL;
    char *begin = text->lost > 0 && text->keeps_end ? strchr(text->bytes, '\n') : NULL;
    if (end)
        end[1] = '\0';
    if (begin)
        memmove(text->bytes, begin + 1, strlen(begin));
    text->lost += text->used - strlen(text->bytes);
    text->used = strlen(text->bytes);
    utf8_repair(text->bytes);
}
