/*
 * One stack out of two: the native frames of a thread, and the frames that its interpreter runs.
 *
 * The interpreter's function for running frames stands in the native stack once for each native call of it.
 * Each of these calls runs a segment of the other stack: its frames from one on up to the next entry frame.
 * So the n-th call has the n-th segment.
 *
 * What only leads to such a call is left out of merged stacks: functions of the interpreter, and trampolines.
 *
 * Frames of native functions that the interpreter calls have native frames of their own, and stand in their
 * place: the n-th location of the role INTERP_CALLED is of the n-th such frame. Those whose native frame was
 * not found stand with the call of the frame outside of them.
 *
 * A call that has just begun, or is about to return, has no frame, or even no segment: then it is the
 * innermost one. It stays as it is. Where the native stack was cut, the innermost calls and segments belong
 * together, and the segments that are left over come after them. Otherwise numbers that differ are a
 * mismatch, which is counted: then too nothing is left out of either stack. Segments that are too many are
 * the outermost call's: what is outside of it stays at the root.
 *
 * A library that switches native stacks (INTERP_SWITCHER) gives each of them frames of its own. What the
 * native stack has further out belongs to another one: if the interpreter's frames are all there, and are not
 * enough for all calls, calls outside of the innermost such function that has a call inside it have none of
 * them.
 *
 * A pure function of its arguments.
 */
#ifndef WALLPROF_INTERP_MERGE_H
#define WALLPROF_INTERP_MERGE_H

#include "interp.h"

/* Stands for a native call that has no frame any more. No location has it. */
#define INTERP_NO_FRAME UINT32_MAX

enum interp_mark {
    INTERP_ENTRY = 1,    /* the outermost frame of a segment */
    INTERP_OWN = 2,      /* its native frame has the role INTERP_CALLED */
    INTERP_UNCALLED = 4, /* of a native function: no call runs it */
    INTERP_SWITCH = 8    /* frames further out have their native frames on another stack */
};

struct interp_stacks {
    enum interp_mode mode;   /* merged or all */
    const arena_ref *path;   /* native locations, innermost first */
    const uint8_t *roles;    /* enum interp_role, by location */
    size_t depth;            /* of both */
    bool is_truncated;       /* the last location is [truncated] */
    const arena_ref *frames; /* the interpreter's locations, innermost first */
    const uint8_t *marks;    /* by frame: enum interp_mark */
    size_t frame_count;
    bool is_cut; /* more frames would follow, but could not be read */
};

/*
 * Writes the locations of the one stack to ret, innermost first: at most depth + frame_count, and capacity.
 * Returns how many. *ret_is_mismatch: see above.
 */
size_t interp_merge(const struct interp_stacks *stacks, arena_ref *ret, size_t capacity,
                    bool *ret_is_mismatch);

#endif
