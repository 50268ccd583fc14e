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

/* DWARF 5 2.5.1.1: literals. False for any other operator. */
static bool apply_literal(struct expression_machine *machine, uint8_t op)
{
    struct sig_reader *reader = &machine->reader;
    switch (op) {
    case OP_CONST1U:
        push(machine, sig_read_u8(reader));
        return true;
    case OP_CONST1S:
        push(machine, (uint64_t)(int8_t)sig_read_u8(reader));
        return true;
    case OP_CONST2U:
        push(machine, sig_read_fixed(reader, 2));
        return true;
    case OP_CONST2S:
        push(machine, (uint64_t)(int16_t)sig_read_fixed(reader, 2));
        return true;
    case OP_CONST4U:
        push(machine, sig_read_fixed(reader, 4));
        return true;
    case OP_CONST4S:
        push(machine, (uint64_t)(int32_t)sig_read_fixed(reader, 4));
        return true;
    case OP_ADDR:
    case OP_CONST8U:
    case OP_CONST8S:
        push(machine, sig_read_fixed(reader, 8));
        return true;
    case OP_CONSTU:
        push(machine, sig_read_uleb128(reader));
        return true;
    case OP_CONSTS:
        push(machine, (uint64_t)sig_read_sleb128(reader));
        return true;
    default:
        if (op >= OP_LIT0 && op <= OP_LIT31)
            push(machine, op - OP_LIT0);
        return op >= OP_LIT0 && op <= OP_LIT31;
    }
}

/* 2.5.1.3: what only moves values; of the top three, the lowest last. */
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

/* Signed, as 2.5.1.4 has it; the one quotient that does not fit wraps instead of faulting. */
static uint64_t quotient(struct expression_machine *machine, uint64_t a, uint64_t b)
{
    if (b == 0) {
        machine->failed = true;
        return 0;
    }
    return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t remainder_of(struct expression_machine *machine, uint64_t a, uint64_t b)
{
    if (b == 0) {
        machine->failed = true;
        return 0;
    }
    return a % b;
}

/* Shifts by 64 and more, which the standard leaves open and the machine would take modulo 64. */
static uint64_t shifted(uint8_t op, uint64_t a, uint64_t by)
{
    uint64_t sign = (int64_t)a < 0 ? UINT64_MAX : 0;
    if (by >= 64)
        return op == OP_SHRA ? sign : 0;
    if (op == OP_SHL)
        return a << by;
    return op == OP_SHR || by == 0 ? a >> by : a >> by | sign << (64 - by);
}

static bool compared(uint8_t op, int64_t a, int64_t b)
{
    switch (op) {
    case OP_EQ:
        return a == b;
    case OP_GE:
        return a >= b;
    case OP_GT:
        return a > b;
    case OP_LE:
        return a <= b;
    case OP_LT:
        return a < b;
    default: /* OP_NE */
        return a != b;
    }
}

/* 2.5.1.4: a is the second value from the top, b the top. */
static bool apply_binary(struct expression_machine *machine, uint8_t op)
{
    bool is_comparison = op >= OP_EQ && op <= OP_NE;
    if (!is_comparison && (op < OP_AND || op > OP_XOR))
        return false;
    uint64_t b = pop(machine), a = pop(machine);
    switch (op) {
    case OP_AND:
        push(machine, a & b);
        return true;
    case OP_OR:
        push(machine, a | b);
        return true;
    case OP_XOR:
        push(machine, a ^ b);
        return true;
    case OP_PLUS:
        push(machine, a + b);
        return true;
    case OP_MINUS:
        push(machine, a - b);
        return true;
    case OP_MUL:
        push(machine, a * b);
        return true;
    case OP_DIV:
        push(machine, quotient(machine, a, b));
        return true;
    case OP_MOD:
        push(machine, remainder_of(machine, a, b));
        return true;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
        push(machine, shifted(op, a, b));
        return true;
    default:
        push(machine, compared(op, (int64_t)a, (int64_t)b));
        return true;
    }
}

/* 2.5.1.5: by a signed distance from the operator's end. Also back; the operators left bound a loop. */
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

static void apply(struct expression_machine *machine, uint8_t op)
{
    if (op >= OP_BREG0 && op <= OP_BREG31)
        push_register(machine, op - OP_BREG0);
    else if (op == OP_BREGX)
        push_register(machine, sig_read_uleb128(&machine->reader));
    else if (op == OP_SKIP)
        branch(machine, true);
    else if (op == OP_BRA)
        branch(machine, pop(machine) != 0);
    else if (op != OP_NOP && !apply_literal(machine, op) && !apply_stack(machine, op) &&
             !apply_unary(machine, op) && !apply_binary(machine, op))
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
        apply(&machine, sig_read_u8(&machine.reader));
        if (machine.failed || machine.reader.failed)
            return false;
    }
    *ret = pop(&machine);
    return !machine.failed;
}
