#!/usr/bin/python3
"""Stops everything else on this machine's processors, for a while and again and again.

    hog.py MS EVERY_MS

On each processor a process of real-time priority is busy for MS of every EVERY_MS, all at the same time. Only root may.
Ends with its parent, or when it is killed.
"""
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def be_busy_on(processor, busy_s, every_s):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    while os.getppid() != 1:
        now = time.monotonic()
        # By the clock, so that all of them do it at once.
        time.sleep(every_s - now % every_s)
        end = time.monotonic() + busy_s
        while time.monotonic() < end:
            pass
    os._exit(0)


def main():
    busy_s, every_s = (float(argument) / 1000 for argument in sys.argv[1:])
    with open("/proc/sys/kernel/sched_rt_runtime_us", encoding="ascii") as file:
        runtime = int(file.read())
    with open("/proc/sys/kernel/sched_rt_period_us", encoding="ascii") as file:
        period = int(file.read())
    if runtime >= 0 and busy_s / every_s > runtime / period:
        sys.exit("hog.py: the kernel does not let real-time processes have so much")
    for processor in os.sched_getaffinity(0):
        if os.fork() == 0:
            be_busy_on(processor, busy_s, every_s)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pause()


main()
