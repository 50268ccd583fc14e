#include "utf8.h"

#include <stdbool.h>

size_t utf8_length(const char *sequence)
{
    const unsigned char *text = (const unsigned char *)sequence;
    unsigned char lead = text[0];
    size_t length = lead < 0x80                    ? 1
                    : lead >= 0xc2 && lead <= 0xdf ? 2
                    : lead >= 0xe0 && lead <= 0xef ? 3
                    : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                   : 0;
    for (size_t i = 1; i < length; i++) {
        if (!utf8_is_inside((char)text[i]))
            return 0;
    }
    bool is_overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    bool is_surrogate = lead == 0xed && text[1] > 0x9f, is_too_high = lead == 0xf4 && text[1] > 0x8f;
    return is_overlong || is_surrogate || is_too_high ? 0 : length;
}

void utf8_repair(char *text)
{
    while (*text) {
        size_t length = utf8_length(text);
        if (length == 0)
            *text = '?';
        text += length ? length : 1;
    }
}
