#!/bin/bash
# python3 with 200 threads and some more: a thread for each of 80 connections, others that pass work on through queues,
# sleep, poll, compute with the interpreter's lock and without.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

server=(/usr/bin/python3 "$SERVERS/threads.py" serve "$TMP/socket")

is_ready() {
    [ -S "$TMP/socket" ]
}

load() {
    /usr/bin/python3 "$SERVERS/threads.py" load "$TMP/socket" "$SECONDS_OF_LOAD" && rm "$TMP/socket"
}

# Its own functions are not exported, what they call in the C library is; threads have no names of their own before 3.14.
expect python3 'clock_nanosleep < .* < _PyEval_EvalFrameDefault < .* < start_thread' 2
expect python3 '(__)?(recv|libc_recv) < .* < _PyEval_EvalFrameDefault < .* < start_thread' 0.01
expect python3 '__futex_abstimed_wait_common.* < .* < PyThread_acquire_lock_timed < .* < _PyEval_EvalFrameDefault' 5
expect python3 'pthread_cond_timedwait < .* < PyEval_RestoreThread < .* < _PyEval_EvalFrameDefault' 0.01
expect python3 '(__)?poll < .* < _PyEval_EvalFrameDefault' 0.01
expect python3 '(__)?select < .* < _PyEval_EvalFrameDefault' 0.01
expect python3 'deflate.* < .* < _PyEval_EvalFrameDefault' 0.01
run_pairs
