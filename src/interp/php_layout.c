#include "php_layout.h"

static const struct {
    uint32_t interface;
    uint8_t minor;
    uint16_t handler, last, opcodes, filename, first_line;
} versions[] = {
    {20210902, 1, 56, 68, 72, 144, 152},
    {20220829, 2, 72, 80, 88, 152, 160},
    {20230831, 3, 72, 76, 80, 144, 152},
    {20240924, 4, 88, 96, 104, 168, 176},
};

/* What is the same in all of them. */
static const struct sig_php_layout common = {
    .current = 488,
    .frame = {.instruction = 0, .function = 24, .object = 32, .call_info = 40, .previous = 48, .bytes = 56},
    .function = {.name = 8, .scope = 16},
    .generator = {.object_class = 16, .frame = 56, .parent = 152},
    .class_name = 8,
};

bool php_layout_of(uint32_t interface, struct sig_php_layout *ret, uint32_t *ret_version)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (versions[i].interface != interface)
            continue;
        *ret = common;
        ret->function.handler = versions[i].handler;
        ret->function.last = versions[i].last;
        ret->function.opcodes = versions[i].opcodes;
        ret->function.filename = versions[i].filename;
        ret->function.first_line = versions[i].first_line;
        ret->function.bytes = (uint16_t)(versions[i].first_line + sizeof(uint64_t));
        *ret_version = 8U << 24 | (uint32_t)versions[i].minor << 16;
        return true;
    }
    return false;
}
