/*
 * A server of the Model Context Protocol over two streams: JSON-RPC 2.0, a message a line. It serves clients
 * of the revisions with a handshake (2024-11-05 to 2025-11-25), and those of 2026-07-28, which have none.
 *
 * One request is answered after the other. While a command runs, a ping is answered at once, and the client
 * can cancel the request.
 *
 * Called from: cmd_mcp.c. One thread.
 * Standard: https://modelcontextprotocol.io/specification
 */
#ifndef WALLPROF_MCP_SERVER_H
#define WALLPROF_MCP_SERVER_H

/* Answers until the input ends. 0, or -errno of the output. */
int mcp_serve(int input, int output);

#endif
