/*
 * The terminal while a screen is shown: keys come one by one, the lines of before come back afterwards. And
 * the signals, which are taken one after the other so that each end leaves the terminal as it was.
 *
 * Called from: live_loop.c. Plain sequences of ECMA-48, and the alternate screen of xterm.
 */
#ifndef WALLPROF_LIVE_TERMINAL_H
#define WALLPROF_LIVE_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct live_terminal {
    bool has_screen; /* else keys are not read, and nothing is changed of the terminal */
    bool is_on;
    struct termios before;
    sigset_t mask_before;
    int signals;  /* a signalfd */
    int messages; /* what stderr is meanwhile */
    int stderr_before;
    int next_key; /* was read together with an ESC; 0: none */
};

enum live_event {
    LIVE_TIME,   /* the time has come */
    LIVE_KEY,    /* a key */
    LIVE_END,    /* a signal that ends us, or the terminal has gone */
    LIVE_RESIZE, /* the screen is to be drawn anew */
    LIVE_ENDED   /* what `ended` says */
};

/* Takes the signals; with a screen also the terminal. In the background it is stopped until it has the
 * terminal. 0 or -errno; live_terminal_end in either case. */
int live_terminal_begin(struct live_terminal *terminal, bool has_screen);
void live_terminal_end(struct live_terminal *terminal);

/* Waits for the first of these until deadline_ns (CLOCK_MONOTONIC). LIVE_TIME comes last: only where none of
 * the others is there, however long ago the deadline was. ended: a descriptor that polls readable then; -1:
 * none. A stop by the terminal (Ctrl-Z) stops us in here. */
enum live_event live_terminal_wait(struct live_terminal *terminal, int ended, uint64_t deadline_ns,
                                   int *ret_key);

void live_terminal_size(int *ret_rows, int *ret_columns);

/* The screen becomes these lines. */
void live_terminal_show(const char *text);

/* The last line that was written to stderr, where it would have destroyed the screen; "" for none. */
void live_terminal_take_message(const struct live_terminal *terminal, char *ret, int bytes);

#endif
