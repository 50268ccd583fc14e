#include "perl_layout.h"

static const struct {
    uint8_t minor;
    uint16_t statement, stack;
    bool is_name_in_array;
} versions[] = {
    {32, 224, 240, true},  {34, 208, 224, true},  {36, 208, 224, false},
    {38, 208, 224, false}, {40, 208, 224, false},
};

bool perl_layout_of(uint8_t minor, struct sig_perl_layout *ret)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (versions[i].minor != minor)
            continue;
        *ret = (struct sig_perl_layout){.statement = versions[i].statement,
                                        .stack = versions[i].stack,
                                        .bytes = (uint16_t)(versions[i].stack + sizeof(uint64_t)),
                                        .is_name_in_array = versions[i].is_name_in_array};
        return true;
    }
    return false;
}
