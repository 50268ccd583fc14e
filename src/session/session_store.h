/*
 * The store that the recording is kept in while it is made: whether there is one, and where.
 *
 * The plan says whether a store is to be begun. Owned by the sampler thread, or by its successor
 * (session_state.h). A thread before an exec holds the sampler while it discards the store.
 */
#ifndef WALLPROF_SESSION_STORE_H
#define WALLPROF_SESSION_STORE_H

#include "base/log.h"
#include "export/profile_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mapped_store;

enum store_plan {
    STORE_UNWANTED, /* or impossible */
    STORE_FIRST,    /* it is to be begun at the first tick */
    STORE_SETTLED,  /* it was begun, or could not be */
    STORE_AGAIN,    /* another one is to be begun, from again_ns on */
};

struct session_store {
    struct profile_path path; /* as it was asked for */
    char name[NAME_MAX + 1];  /* of the file */
    bool is_named;            /* the user has given a name, not only a directory */
    bool is_run;              /* it is one of many in the directory of a run */
    uint32_t plan;            /* atomic, enum store_plan: the release is the partner of the acquire */
    uint64_t again_ns;        /* written before STORE_AGAIN */
    uint32_t is_joined;       /* atomic, relaxed: it is part of a run that was being gathered; no partner */
};

/* ---- session_store_file.c: 0, a descriptor, or -errno ---- */

int session_store_open_directory(const struct session_store *store);

/* Creates and locks the file. *ret_is_named: it has its name; else session_store_give_name gives it. */
int session_store_create(struct session_store *store, int directory_fd, bool *ret_is_named);
int session_store_give_name(struct session_store *store, int directory_fd, int fd);

/* Opens and locks the process's own store once more. */
int session_store_reopen(const struct session_store *store);

/* Removes the store, unless another file has its name by now. */
void session_store_unlink(const struct session_store *store, const struct mapped_store *mapped);

/* Says which stores of processes that were killed wait in the directory. */
void session_store_report_waiting(const struct session_store *store, int directory_fd, struct log *log);

/* Opens the run's file in this directory, if the run's stores will be gathered; else -1. */
int session_store_open_run(int directory_fd, int access);
bool session_store_is_gathered(int directory_fd);

/* Removes the run's directory, if its stores are not gathered any more and no store is left in it. */
void session_store_remove_run(const struct session_store *store);

#endif
