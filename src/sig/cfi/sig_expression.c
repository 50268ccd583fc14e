/* A stack machine of symbols: what registers hold is not known here, only what is done with it. */
#include "sig_expression.h"
#include "sig/sys/sig_arch.h"
#include "sig_operators.h"

enum { MAX_EXPRESSION_OPS = 32, MAX_EXPRESSION_STACK = 8 };

struct symbol_stack {
    struct sig_symbol values[MAX_EXPRESSION_STACK];
    unsigned depth;
    bool failed;
};

static void push(struct symbol_stack *stack, struct sig_symbol value)
{
    if (stack->depth == MAX_EXPRESSION_STACK)
        stack->failed = true;
    else
        stack->values[stack->depth++] = value;
}

static struct sig_symbol pop(struct symbol_stack *stack)
{
    if (stack->depth == 0) {
        stack->failed = true;
        return (struct sig_symbol){.kind = SIG_SYMBOL_CONSTANT};
    }
    return stack->values[--stack->depth];
}

static struct sig_symbol constant(int64_t value)
{
    return (struct sig_symbol){.kind = SIG_SYMBOL_CONSTANT, .offset = value};
}

/* A symbol that is no constant can only be moved by one. */
static void apply_binary(struct symbol_stack *stack, uint8_t op)
{
    struct sig_symbol b = pop(stack), a = pop(stack);
    if (op == OP_PLUS && a.kind == SIG_SYMBOL_CONSTANT) {
        struct sig_symbol swap = a;
        a = b;
        b = swap;
    }
    bool may_be_symbol = op == OP_PLUS || op == OP_MINUS;
    if (b.kind != SIG_SYMBOL_CONSTANT || (a.kind != SIG_SYMBOL_CONSTANT && !may_be_symbol) ||
        sig_operator_divides_by_zero(op, (uint64_t)b.offset)) {
        stack->failed = true;
        return;
    }
    int64_t below = a.kind == SIG_SYMBOL_DEREF ? a.offset_after : a.offset;
    int64_t result = (int64_t)sig_operator_combine(op, (uint64_t)below, (uint64_t)b.offset);
    if (a.kind == SIG_SYMBOL_DEREF)
        a.offset_after = result;
    else
        a.offset = result;
    push(stack, a);
}

static void push_register(struct symbol_stack *stack, unsigned dwarf_register, int64_t offset, uint64_t pc)
{
    if (dwarf_register == SIG_DWARF_PC)
        push(stack, constant((int64_t)(pc + (uint64_t)offset))); /* as the PLT does */
    else
        push(stack, (struct sig_symbol){.kind = SIG_SYMBOL_REGISTER,
                                        .dwarf_register = (uint8_t)dwarf_register,
                                        .offset = offset});
}

static void apply_operator(struct symbol_stack *stack, struct sig_reader *reader, uint8_t op, uint64_t pc)
{
    if (op == OP_PLUS_UCONST) {
        push(stack, constant((int64_t)sig_read_uleb128(reader)));
        op = OP_PLUS;
    }
    if (sig_operator_is_literal(op))
        push(stack, constant((int64_t)sig_operator_read_literal(reader, op)));
    else if (op >= OP_BREG0 && op <= OP_BREG31)
        push_register(stack, op - OP_BREG0, sig_read_sleb128(reader), pc);
    else if (sig_operator_is_binary(op))
        apply_binary(stack, op);
    else if (op == OP_DEREF) {
        struct sig_symbol address = pop(stack);
        if (address.kind != SIG_SYMBOL_REGISTER)
            stack->failed = true; /* two levels deep: not seen anywhere */
        address.kind = SIG_SYMBOL_DEREF;
        push(stack, address);
    } else {
        stack->failed = true;
    }
}

/* As sig_expression_evaluate, but leaves the reader anywhere. */
static bool evaluate(struct sig_reader *reader, uint64_t pc, struct sig_symbol *ret)
{
    struct symbol_stack stack;
    stack.depth = 0; /* not cleared: values are written before they are read */
    stack.failed = false;
    uint64_t bytes = sig_read_uleb128(reader);
    if (reader->failed || bytes > reader->end - reader->at)
        return false;
    reader->end = reader->at + bytes;
    for (int ops = 0; reader->at < reader->end; ops++) {
        if (ops == MAX_EXPRESSION_OPS || reader->failed || stack.failed)
            return false;
        apply_operator(&stack, reader, sig_read_u8(reader), pc);
    }
    *ret = pop(&stack);
    return !reader->failed && !stack.failed && ret->offset >= INT32_MIN && ret->offset <= INT32_MAX &&
           ret->offset_after >= INT32_MIN && ret->offset_after <= INT32_MAX;
}

/* Uses the caller's reader: a copy, with its window, would take a hundred bytes of stack. */
bool sig_expression_evaluate(struct sig_reader *reader, uint64_t at, uint64_t pc, struct sig_symbol *ret)
{
    uint64_t at_before = reader->at, end_before = reader->end;
    bool failed_before = reader->failed;
    reader->at = at;
    bool is_known = evaluate(reader, pc, ret);
    reader->at = at_before;
    reader->end = end_before;
    reader->failed = failed_before;
    return is_known;
}
