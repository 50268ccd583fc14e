/* A page for the browsers of others: a small HTTP server for `wallprof view --serve`. */
#ifndef WALLPROF_VIEW_SERVE_H
#define WALLPROF_VIEW_SERVE_H

/*
 * Serves a file under a name, from memory, at this machine's own address and a port (0: any that is free).
 * Prints the address, and says how it is reached from another machine. The address has a secret: other users
 * of the machine can reach the port. Returns when SIGINT, SIGTERM or SIGHUP comes: 0, or 1 after a message.
 */
int view_serve(const char *path, const char *name, unsigned port);

#endif
