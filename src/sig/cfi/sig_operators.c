#include "sig_operators.h"

bool sig_operator_is_binary(uint8_t op)
{
    bool is_unary = op == OP_NEG || op == OP_NOT || op == OP_PLUS_UCONST;
    return (op >= OP_AND && op <= OP_XOR && !is_unary) || (op >= OP_EQ && op <= OP_NE);
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

uint64_t sig_operator_combine(uint8_t op, uint64_t below, uint64_t top)
{
    switch (op) {
    case OP_AND:
        return below & top;
    case OP_OR:
        return below | top;
    case OP_XOR:
        return below ^ top;
    case OP_PLUS:
        return below + top;
    case OP_MINUS:
        return below - top;
    case OP_MUL:
        return below * top;
    case OP_DIV: /* signed; the one quotient that does not fit wraps instead of faulting */
        return top == UINT64_MAX ? -below : (uint64_t)((int64_t)below / (int64_t)top);
    case OP_MOD:
        return below % top;
    case OP_SHL:
    case OP_SHR:
    case OP_SHRA:
        return shifted(op, below, top);
    default:
        return compared(op, (int64_t)below, (int64_t)top);
    }
}
