/*
 * What an HTTP status means for a profile that was pushed.
 *
 * Called from: push_http. Source: RFC 9110, section 15; what Pyroscope and Parca answer.
 */
#ifndef WALLPROF_TOOL_PUSH_STATUS_H
#define WALLPROF_TOOL_PUSH_STATUS_H

#include "push_http.h"

enum push_outcome push_status_outcome(long status);

/* What there is to say of it beside its number; "" for nothing. */
const char *push_status_hint(long status);

#endif
