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
    SIG_FULL_FRAME_CALLER, /* there is one, and *ret is it */
    SIG_FULL_FRAME_ROOT,   /* the return address is undefined: there is none */
    SIG_FULL_FRAME_LOST,   /* the table is damaged, or CFA or return address cannot be known */
};

/*
 * A request for the frame's own pc, and memory as sig_cfi_row wants it. A register of the caller that
 * cannot be known is not known; stack pointer and return address always are. The CFA goes to *ret_cfa.
 *
 * Of a frame that was found by frame pointer the stack pointer is not known where SIG_FP_STEP_HIDES_SP; its
 * value is a lower bound then.
 */
enum sig_full_frame_result sig_full_frame_caller(const struct sig_row_request *request,
                                                 struct sig_evaluation *evaluation, struct sig_column *memory,
                                                 const struct sig_registers *frame, struct sig_registers *ret,
                                                 uint64_t *ret_cfa);

#endif
