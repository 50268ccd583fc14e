/*
 * A profile as a store: all that the tool needs to make any format (store.h).
 *
 * Called from: the exporting thread. Pure except for the sink.
 */
#ifndef WALLPROF_ENC_STORE_H
#define WALLPROF_ENC_STORE_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole store; the sink is left open. 0 or -ENOMEM. */
int enc_store_write(const struct profile *profile, struct sink *sink);

/* Writes only the part with the names; ret_bytes: its length. 0 or -ENOMEM. */
int enc_store_write_names(const struct profile *profile, struct sink *sink, uint64_t *ret_bytes);

#endif
