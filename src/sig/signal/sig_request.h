/*
 * The sampler's requests: signals that ask a thread for a sample of itself, how they are sent and recognised.
 *
 * A request is sent by rt_tgsigqueueinfo with SI_QUEUE and a value: a cookie of this process, the slot
 * (sig_slots.h) and the slot's generation. Any other signal with our number is the program's.
 */
#ifndef WALLPROF_SIG_REQUEST_H
#define WALLPROF_SIG_REQUEST_H

#include "sig_slots.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Before the handler is installed: the slots and the cookie of requests. */
void sig_request_use_slots(struct sig_slots *slots, uint32_t cookie);

/* Sampler: sends a request to a thread of this process, for an armed slot. 0; -EAGAIN without a number to
 * send; -ESRCH and the like from the kernel. */
int sig_request_send(pid_t tid, uint32_t slot_index, uint64_t generation);

/* Handler: whether a signal is a request of this process's sampler. */
bool sig_request_is_one(const siginfo_t *info);

/* Handler, for a request that has arrived: its slot, now the caller's, or NULL if it is late (counted). */
struct sig_slot *sig_request_claim(const siginfo_t *info);

/* Handler: the slot's reply is complete. capacity: the addresses that it can hold. */
void sig_request_finish(struct sig_slot *slot);
uint32_t sig_request_capacity(void);

/* Any thread: takes the requests among the signals pending with these numbers. The program's signals stay
 * pending, and *mask, which will be in force, blocks them. */
void sig_request_drop_pending(uint64_t numbers, uint64_t *mask);

/* With all signals blocked: whether the kernel accepts signals of that number, as an emulator may have fewer.
 * It sends one and takes it back, because a debugger would stop when it arrives. */
bool sig_request_can_use(int number);

/* Any thread: returns when no request is being sent with a number chosen before the call. */
void sig_request_await_sending(void);

/* Waits a little for the requests that are on their way; returns whether some still are. */
bool sig_request_await_arrivals(void);

/* While nothing is sent, any thread: waits until all threads have replied, or the deadline (CLOCK_MONOTONIC).
 */
void sig_request_await_replies(uint64_t deadline_ns);

/* Requests that came late or for no slot, and were dropped. */
uint64_t sig_request_stray_count(void);

/* In the child of fork, first thing. */
void sig_request_forget_parent(void);

#endif
