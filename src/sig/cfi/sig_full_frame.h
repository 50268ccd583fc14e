/*
 * From all registers of a frame to all registers of its caller, by the row of the unwind table.
 *
 * Called from: signal handlers, on the thread whose frames these are. Keeps nothing; reads through the walk's
 * window only. Standard: DWARF 5 section 6.4.4.
 */
#ifndef WALLPROF_SIG_FULL_FRAME_H
#define WALLPROF_SIG_FULL_FRAME_H

#include "sig_cfi.h"
#include "sig_full_expression.h"

enum sig_full_frame_result {
    SIG_FULL_FRAME_CALLER, /* *ret is the caller */
    SIG_FULL_FRAME_ROOT,   /* the return address is undefined: there is no caller */
    SIG_FULL_FRAME_LOST,   /* the table is damaged, or CFA or return address cannot be known */
};

/*
 * request: for the frame's own pc. memory: SIG_ROW_COPIES rows of SIG_ROW_ALL columns. The caller's stack
 * pointer and return address are always known in *ret, other registers where they can be.
 *
 * With SIG_FP_STEP_HIDES_SP, the stack pointer of a frame that was found by frame pointer is not known; its
 * value is a lower bound.
 */
enum sig_full_frame_result sig_full_frame_caller(const struct sig_row_request *request,
                                                 struct sig_evaluation *evaluation, struct sig_column *memory,
                                                 const struct sig_registers *frame, struct sig_registers *ret,
                                                 uint64_t *ret_cfa);

#endif
