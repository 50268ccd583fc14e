#include "lib/fake_php.h"

#include "sig/interp/sig_walk_frames.h"

#include <string.h>

enum { IS_TOP = 1 << 17, TYPE_OBJECT = 8, LINE_AT = 24 };

void fake_php_init(struct fake_php *php, uint32_t interface)
{
    uint32_t version;
    fake_memory_init(&php->block);
    php_layout_of(interface, &php->layout, &version);
    php->record = fake_alloc(&php->block, 256);
    php->generator_class = fake_php_class(php, "Generator");
    php->layout.generator.class_at = fake_alloc(&php->block, 1);
    fake_set(&php->block, php->layout.generator.class_at, php->generator_class);
    php->frame = php->instruction = 0;
}

uint64_t fake_php_text(struct fake_php *php, const char *text)
{
    const uint32_t length = (uint32_t)strlen(text);
    uint64_t string = fake_alloc(&php->block, (SIG_PHP_STRING_BYTES + length) / FAKE_WORD_BYTES + 1);
    fake_set(&php->block, string + SIG_PHP_STRING_LENGTH, length);
    memcpy(fake_at(&php->block, string + SIG_PHP_STRING_BYTES), text, length);
    return string;
}

uint64_t fake_php_class(struct fake_php *php, const char *name)
{
    uint64_t class = fake_alloc(&php->block, 4);
    fake_set(&php->block, class + php->layout.class_name, fake_php_text(php, name));
    return class;
}

static uint64_t add_function(struct fake_php *php, uint64_t scope, const char *name, uint8_t type)
{
    uint64_t function = fake_alloc(&php->block, 32);
    *(uint8_t *)fake_at(&php->block, function) = type;
    fake_set(&php->block, function + php->layout.function.scope, scope);
    fake_set(&php->block, function + php->layout.function.name, name ? fake_php_text(php, name) : 0);
    return function;
}

uint64_t fake_php_function(struct fake_php *php, uint64_t scope, const char *name, const char *file)
{
    const uint64_t function = add_function(php, scope, name, SIG_PHP_USER);
    const uint64_t opcodes =
        fake_alloc(&php->block, FAKE_PHP_LINES * SIG_PHP_INSTRUCTION_BYTES / FAKE_WORD_BYTES);
    fake_set(&php->block, function + php->layout.function.opcodes, opcodes);
    fake_set_half(&php->block, function + php->layout.function.last, FAKE_PHP_LINES);
    fake_set(&php->block, function + php->layout.function.filename, fake_php_text(php, file));
    fake_set_half(&php->block, function + php->layout.function.first_line, FAKE_PHP_FIRST_LINE);
    for (uint32_t i = 0; i < FAKE_PHP_LINES; i++)
        fake_set_half(&php->block, opcodes + i * SIG_PHP_INSTRUCTION_BYTES + LINE_AT,
                      FAKE_PHP_FIRST_LINE + 1 + i);
    return function;
}

uint64_t fake_php_internal(struct fake_php *php, const char *name, uint64_t handler)
{
    const uint64_t function = add_function(php, 0, name, SIG_PHP_INTERNAL);
    fake_set(&php->block, function + php->layout.function.handler, handler);
    return function;
}

uint64_t fake_php_instruction(struct fake_php *php, uint64_t function, uint32_t index)
{
    return *fake_at(&php->block, function + php->layout.function.opcodes) +
           (uint64_t)index * SIG_PHP_INSTRUCTION_BYTES;
}

static uint64_t add_frame(struct fake_php *php, uint64_t function, uint64_t instruction, uint32_t call_info)
{
    uint64_t frame = fake_alloc(&php->block, 10);
    fake_set(&php->block, frame + php->layout.frame.function, function);
    fake_set(&php->block, frame + php->layout.frame.instruction, instruction);
    fake_set_half(&php->block, frame + php->layout.frame.call_info, call_info);
    return frame;
}

static uint64_t chain(struct fake_php *php, uint64_t frame)
{
    fake_set(&php->block, frame + php->layout.frame.previous, php->frame);
    fake_set(&php->block, php->record + php->layout.current, frame);
    return php->frame = frame;
}

static uint64_t instruction_of(struct fake_php *php, uint64_t function, uint32_t index)
{
    const bool is_internal = *(uint8_t *)fake_at(&php->block, function) == SIG_PHP_INTERNAL;
    return is_internal ? 0 : fake_php_instruction(php, function, index);
}

uint64_t fake_php_call(struct fake_php *php, uint64_t function, uint32_t index, bool is_top)
{
    return chain(php, add_frame(php, function, instruction_of(php, function, index), is_top ? IS_TOP : 0));
}

uint64_t fake_php_generator(struct fake_php *php, uint64_t function, uint32_t index, uint64_t inner)
{
    uint64_t generator = fake_alloc(&php->block, 24);
    fake_set(&php->block, generator + php->layout.generator.object_class, php->generator_class);
    fake_set(&php->block, generator + php->layout.generator.frame,
             add_frame(php, function, instruction_of(php, function, index), IS_TOP));
    fake_set(&php->block, generator + php->layout.generator.parent, inner);
    return generator;
}

uint64_t fake_php_delegate(struct fake_php *php, uint64_t generator)
{
    const uint64_t frame = add_frame(php, 0, 0, TYPE_OBJECT);
    fake_set(&php->block, frame + php->layout.frame.object, generator);
    return chain(php, frame);
}

bool fake_php_walk(struct fake_php *php, struct sig_interp_stack *stack, uint32_t capacity)
{
    static struct sig_interp_frame frames[FAKE_PHP_FRAMES];
    static struct sig_interp_scratch scratch;
    const struct sig_interp_layout layout = {.language = SIG_INTERP_PHP, .of.php = php->layout};
    const struct sig_interp_thread thread = {.state = php->record, .instruction = php->instruction};
    *stack = (struct sig_interp_stack){.frames = frames, .capacity = capacity};
    return sig_walk_frames(&layout, &thread, &php->block.memory, &scratch, stack);
}
