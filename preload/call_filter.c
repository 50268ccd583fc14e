/*
 * The kernel allows a part of classic BPF in filters (kernel/seccomp.c: seccomp_check_filter): loads of
 * 32-bit words of struct seccomp_data, a scratch memory, arithmetic, and jumps. Jumps only go forward, so
 * every program ends.
 */
#include "call_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>

#if defined(__x86_64__)
enum { OUR_AUDIT_ARCH = (int)AUDIT_ARCH_X86_64 };
#else
enum { OUR_AUDIT_ARCH = (int)AUDIT_ARCH_AARCH64 };
#endif

struct filter_machine {
    struct seccomp_data data;
    uint32_t a, x, memory[BPF_MEMWORDS];
    bool is_broken; /* the kernel would have refused the program */
};

static uint32_t load_word(struct filter_machine *machine, const struct sock_filter *code)
{
    uint32_t word = 0;
    switch (BPF_MODE(code->code)) {
    case BPF_IMM:
        return code->k;
    case BPF_LEN:
        return sizeof(machine->data);
    case BPF_MEM:
        machine->is_broken |= code->k >= BPF_MEMWORDS;
        return machine->memory[code->k % BPF_MEMWORDS];
    case BPF_ABS:
        machine->is_broken |= code->k > sizeof(machine->data) - sizeof(word) || code->k % sizeof(word) != 0;
        if (!machine->is_broken)
            memcpy(&word, (const char *)&machine->data + code->k, sizeof(word));
        return word;
    default:
        machine->is_broken = true;
        return 0;
    }
}

static uint32_t compute(struct filter_machine *machine, const struct sock_filter *code)
{
    uint32_t a = machine->a, b = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    bool divides = BPF_OP(code->code) == BPF_DIV || BPF_OP(code->code) == BPF_MOD;
    machine->is_broken |= divides && b == 0;
    if (machine->is_broken)
        return 0;
    switch (BPF_OP(code->code)) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return a / b;
    case BPF_MOD:
        return a % b;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return b < 32 ? a << b : 0;
    case BPF_RSH:
        return b < 32 ? a >> b : 0;
    case BPF_NEG:
        return 0 - a;
    default:
        machine->is_broken = true;
        return 0;
    }
}

/* How many instructions a jump skips. */
static uint32_t count_skipped(struct filter_machine *machine, const struct sock_filter *code)
{
    uint32_t a = machine->a, b = BPF_SRC(code->code) == BPF_X ? machine->x : code->k;
    switch (BPF_OP(code->code)) {
    case BPF_JA:
        return code->k;
    case BPF_JEQ:
        return a == b ? code->jt : code->jf;
    case BPF_JGT:
        return a > b ? code->jt : code->jf;
    case BPF_JGE:
        return a >= b ? code->jt : code->jf;
    case BPF_JSET:
        return a & b ? code->jt : code->jf;
    default:
        machine->is_broken = true;
        return 0;
    }
}

static void store_word(struct filter_machine *machine, uint32_t index, uint32_t value)
{
    machine->is_broken |= index >= BPF_MEMWORDS;
    machine->memory[index % BPF_MEMWORDS] = value;
}

/* One instruction that neither jumps nor returns. */
static void run_instruction(struct filter_machine *machine, const struct sock_filter *code)
{
    switch (BPF_CLASS(code->code)) {
    case BPF_LD:
        machine->a = load_word(machine, code);
        break;
    case BPF_LDX:
        machine->x = load_word(machine, code);
        break;
    case BPF_ST:
        store_word(machine, code->k, machine->a);
        break;
    case BPF_STX:
        store_word(machine, code->k, machine->x);
        break;
    case BPF_ALU:
        machine->a = compute(machine, code);
        break;
    default: /* BPF_MISC */
        if (BPF_MISCOP(code->code) == BPF_TXA)
            machine->a = machine->x;
        else
            machine->x = machine->a;
    }
}

/* What the filter returns; SECCOMP_RET_KILL_PROCESS for a broken one. */
static uint32_t run_filter(const struct sock_fprog *program, struct filter_machine *machine)
{
    for (uint64_t at = 0; at < program->len && !machine->is_broken; at++) {
        const struct sock_filter *code = &program->filter[at];
        if (BPF_CLASS(code->code) == BPF_RET)
            return BPF_RVAL(code->code) == BPF_A ? machine->a : code->k;
        if (BPF_CLASS(code->code) == BPF_JMP)
            at += count_skipped(machine, code);
        else
            run_instruction(machine, code);
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static uint32_t filter_action(const struct sock_fprog *program, const struct call *call)
{
    struct filter_machine machine = {.data = {.nr = call->number, .arch = (uint32_t)OUR_AUDIT_ARCH}};
    memcpy(machine.data.args, call->arguments, sizeof(call->arguments));
    return run_filter(program, &machine) & SECCOMP_RET_ACTION_FULL;
}

bool call_filter_passes(const struct sock_fprog *program, const struct call *calls, bool may_fail)
{
    for (; calls->number >= 0; calls++) {
        uint32_t action = filter_action(program, calls);
        bool is_made = action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
        if (!is_made && !(may_fail && action == SECCOMP_RET_ERRNO))
            return false;
    }
    return true;
}
