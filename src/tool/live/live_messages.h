/*
 * Messages that must wait, as a screen is shown where stderr leads: stderr is a file in memory meanwhile.
 *
 * Called from: live_terminal.c, live_recorder.c.
 */
#ifndef WALLPROF_LIVE_MESSAGES_H
#define WALLPROF_LIVE_MESSAGES_H

/* A file for them; -1 without memory: then they are lost, or not redirected. */
int live_messages_open(void);

/* Takes the last line out of it, and forgets the others; "" for none. */
void live_messages_take(int fd, char *ret, int bytes);

/* Writes them to stderr, which is the true one again, and closes the file. */
void live_messages_say(int fd);

#endif
