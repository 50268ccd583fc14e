#!/usr/bin/env python3
"""Measures for how long the machine stood still: a process that sleeps and is woken late could not have done anything meanwhile.

    watch_freezes.py FILE

Runs until SIGTERM, then appends "frozen NANOSECONDS" to FILE: the sum over all processors of what wake-ups came late,
those by less than LATE_NS left out. On a machine that is shared, tests that a profiler passes at any other time would
fail for time that no process could have observed.
"""

import os
import signal
import sys
import time

NAP_S, LATE_NS = 0.005, 10_000_000


def watch(processor, pipe):
    os.sched_setaffinity(0, {processor})
    frozen_ns, is_over = 0, []
    signal.signal(signal.SIGTERM, lambda *_: is_over.append(True))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    while not is_over:
        before_ns = time.monotonic_ns()
        time.sleep(NAP_S)
        late_ns = time.monotonic_ns() - before_ns - int(NAP_S * 1e9)
        frozen_ns += late_ns if late_ns > LATE_NS else 0
    os.write(pipe, b"%d\n" % frozen_ns)
    os._exit(0)


def main(path):
    children = []
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    for processor in os.sched_getaffinity(0):
        child = os.fork()
        if child == 0:
            watch(processor, writing)
        children.append(child)
    os.close(writing)
    signal.signal(signal.SIGTERM, lambda *_: [os.kill(child, signal.SIGTERM) for child in children])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with os.fdopen(reading) as sums:
        frozen_ns = sum(map(int, sums))
    with open(path, "a", encoding="utf-8") as report:
        report.write(f"frozen {frozen_ns}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
