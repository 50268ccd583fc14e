/*
 * The functions of include/wallprof.h for labels and for what a program says of its threads. Called by the
 * program's threads at any time: in signal handlers, before the session begins and after it has ended.
 *
 * Nothing is changed in a child of vfork, whose memory is its parent's.
 */
#define WALLPROF_CODES_ONLY
#include "wallprof.h"
#include "account/labels.h"
#include "account/thread_annotations.h"
#include "hook.h"
#include "session/session.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_wait.h"

#include <errno.h>
#include <stddef.h>

/* The calling thread's annotations; or NULL and *ret_error, which is 0 where nothing is recorded. */
static struct thread_annotations *own_annotations(int *ret_error)
{
    struct thread_annotations *annotations = session_thread_annotations();
    if (annotations && sig_wait_here.lent_to_children == 0)
        return annotations;
    *ret_error = annotations ? WALLPROF_NOT_RECORDED : session_is_recording() ? WALLPROF_NO_THREAD : 0;
    return NULL;
}

static int public_code(int result)
{
    return result >= 0         ? result
           : result == -ENOSPC ? WALLPROF_FULL
           : result == -ENOENT ? WALLPROF_NOT_THERE
                               : WALLPROF_NO_LABEL;
}

WALLPROF_HOOK const struct wallprof_label_t *wallprof_label(const char *key, const char *value)
{
    const struct wallprof_label_t *label = NULL;
    return labels_intern(session_labels(), key, value, &label) == 0 ? label : NULL;
}

WALLPROF_HOOK int wallprof_push(const struct wallprof_label_t *label)
{
    int error;
    struct thread_annotations *annotations = own_annotations(&error);
    return annotations ? public_code(labels_push(session_labels(), &annotations->labels, label)) : error;
}

WALLPROF_HOOK int wallprof_pop(int token)
{
    int error;
    if (token <= 0)
        return token < 0 ? WALLPROF_NO_LABEL : 0;
    struct thread_annotations *annotations = own_annotations(&error);
    return annotations ? public_code(labels_pop(session_labels(), &annotations->labels, token)) : error;
}

WALLPROF_HOOK int wallprof_thread_name(const char *name)
{
    int error = 0;
    struct thread_annotations *annotations = own_annotations(&error);
    if (annotations)
        thread_annotations_set_name(annotations, name ? name : "");
    return error;
}

WALLPROF_HOOK int wallprof_thread_uninteresting(int yes)
{
    int error = 0;
    struct thread_annotations *annotations = own_annotations(&error);
    if (annotations)
        sig_store_relaxed(&annotations->is_uninteresting, yes != 0);
    return error;
}
