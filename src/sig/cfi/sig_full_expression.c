#include "sig_full_expression.h"
#include "sig_operators.h"

struct expression_machine {
    struct sig_evaluation *evaluation;
    const struct sig_registers *registers;
    struct sig_reader reader;
    uint64_t start; /* of the operators; they end where the reader does */
    unsigned depth;
    bool failed;
};

static void push(struct expression_machine *machine, uint64_t value)
{
    if (machine->depth == SIG_EVALUATION_VALUES)
        machine->failed = true;
    else
        machine->evaluation->values[machine->depth++] = value;
}

static uint64_t pop(struct expression_machine *machine)
{
    if (machine->depth == 0) {
        machine->failed = true;
        return 0;
    }
    return machine->evaluation->values[--machine->depth];
}

/* A copy of the value `index` below the top. */
static void pick(struct expression_machine *machine, unsigned index)
{
    if (index >= machine->depth)
        machine->failed = true;
    else
        push(machine, machine->evaluation->values[machine->depth - 1 - index]);
}

static uint64_t read_memory(struct expression_machine *machine, uint64_t address, unsigned bytes)
{
    uint64_t value = 0;
    if (!sig_stack_read_bytes(machine->evaluation->stack, address, bytes, &value))
        machine->failed = true;
    return value;
}

static void push_register(struct expression_machine *machine, uint64_t dwarf_register)
{
    uint64_t offset = (uint64_t)sig_read_sleb128(&machine->reader), value;
    if (sig_registers_get(machine->registers, dwarf_register, &value))
        push(machine, value + offset);
    else
        machine->failed = true;
}

/* DWARF 5 2.5.1.3: operators that move values. */
static bool apply_stack(struct expression_machine *machine, uint8_t op)
{
    uint64_t top, second, third;
    switch (op) {
    case OP_DUP:
        pick(machine, 0);
        return true;
    case OP_OVER:
        pick(machine, 1);
        return true;
    case OP_PICK:
        pick(machine, sig_read_u8(&machine->reader));
        return true;
    case OP_DROP:
        pop(machine);
        return true;
    case OP_SWAP:
        top = pop(machine), second = pop(machine);
        push(machine, top), push(machine, second);
        return true;
    case OP_ROT: /* the top becomes the third, the second the top */
        top = pop(machine), second = pop(machine), third = pop(machine);
        push(machine, top), push(machine, third), push(machine, second);
        return true;
    default:
        return false;
    }
}

static bool apply_unary(struct expression_machine *machine, uint8_t op)
{
    uint64_t value;
    switch (op) {
    case OP_DEREF:
        push(machine, read_memory(machine, pop(machine), sizeof(uint64_t)));
        return true;
    case OP_DEREF_SIZE:
        value = sig_read_u8(&machine->reader);
        push(machine, read_memory(machine, pop(machine), (unsigned)value));
        return true;
    case OP_ABS:
        value = pop(machine);
        push(machine, (int64_t)value < 0 ? -value : value);
        return true;
    case OP_NEG:
        push(machine, -pop(machine));
        return true;
    case OP_NOT:
        push(machine, ~pop(machine));
        return true;
    case OP_PLUS_UCONST:
        value = sig_read_uleb128(&machine->reader);
        push(machine, pop(machine) + value);
        return true;
    default:
        return false;
    }
}

static void apply_binary(struct expression_machine *machine, uint8_t op)
{
    uint64_t top = pop(machine), below = pop(machine);
    if (sig_operator_divides_by_zero(op, top))
        machine->failed = true;
    else
        push(machine, sig_operator_combine(op, below, top));
}

/* 2.5.1.5: by a signed distance from the operator's end. operators_left bounds a loop. */
static void branch(struct expression_machine *machine, bool is_taken)
{
    int64_t distance = (int16_t)sig_read_fixed(&machine->reader, 2);
    uint64_t target = machine->reader.at + (uint64_t)distance;
    if (!is_taken)
        return;
    if (target < machine->start || target > machine->reader.end)
        machine->failed = true;
    else
        machine->reader.at = target;
}

static void apply_operator(struct expression_machine *machine, uint8_t op)
{
    if (op >= OP_BREG0 && op <= OP_BREG31)
        push_register(machine, op - OP_BREG0);
    else if (op == OP_BREGX)
        push_register(machine, sig_read_uleb128(&machine->reader));
    else if (op == OP_SKIP)
        branch(machine, true);
    else if (op == OP_BRA)
        branch(machine, pop(machine) != 0);
    else if (sig_operator_is_literal(op))
        push(machine, sig_operator_read_literal(&machine->reader, op));
    else if (sig_operator_is_binary(op))
        apply_binary(machine, op);
    else if (op != OP_NOP && !apply_stack(machine, op) && !apply_unary(machine, op))
        machine->failed = true;
}

bool sig_full_expression(struct sig_evaluation *evaluation, const struct sig_registers *registers,
                         const struct sig_reader *from, uint64_t at, const uint64_t *cfa, uint64_t *ret)
{
    struct expression_machine machine;
    machine.evaluation = evaluation;
    machine.registers = registers;
    machine.reader = *from;
    machine.reader.at = at;
    machine.depth = 0;
    machine.failed = at < from->at;
    uint64_t bytes = sig_read_uleb128(&machine.reader);
    if (machine.failed || machine.reader.failed || bytes > machine.reader.end - machine.reader.at)
        return false;
    machine.start = machine.reader.at;
    machine.reader.end = machine.start + bytes;
    if (cfa)
        push(&machine, *cfa);
    while (machine.reader.at < machine.reader.end) {
        if (evaluation->operators_left == 0)
            return false;
        evaluation->operators_left--;
        apply_operator(&machine, sig_read_u8(&machine.reader));
        if (machine.failed || machine.reader.failed)
            return false;
    }
    *ret = pop(&machine);
    return !machine.failed;
}
