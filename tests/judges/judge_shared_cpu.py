#!/usr/bin/env python3
"""Compares the run delay in a profile of target_shared_cpu with what the kernel says of each of its busy threads.

    judge_shared_cpu.py PROFILE REPORT

A thread's CPU time and run delay are the kernel's figures, to 0.1 %. What it waited before it ran for the first time is
no part of its recorded life, which begins then. The busy function is never blocked: its time off
the CPU is run delay, to 0.1 %.
"""

import collections
import sys

import pprof_read
from pprof_read import CPU, OFFCPU

NEAR = 0.001


def read_report(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.startswith("thread ")]
    return {int(words[1]): (int(words[3]), int(words[5]), int(words[7])) for words in lines}


def main(profile_path, report_path):
    profile = pprof_read.Profile(profile_path)
    pprof_read.check(profile)
    found, work, bad = collections.Counter(), collections.Counter(), 0
    for sample in profile.message.sample:
        tid = profile.thread(sample)[0]
        found[tid, "cpu"] += sample.value[CPU]
        found[tid, "rundelay"] += sample.rundelay
        if profile.stack(sample)[0] == "work":
            work["off"] += sample.value[OFFCPU]
            work["rundelay"] += sample.rundelay
    for tid, (cpu, delay, first) in read_report(report_path).items():
        for what, true, before in (("cpu", cpu, 0), ("rundelay", delay, first)):
            is_near = -NEAR * true - 1e6 - before <= found[tid, what] - true <= NEAR * true + 1e6
            bad += not is_near
            print(f"{'ok' if is_near else 'BAD'}: thread {tid}: {what} {found[tid, what]}, the kernel says {true}")
    is_delay = work["off"] > 0 and work["off"] - work["rundelay"] <= NEAR * work["off"]
    print(f"{'ok' if is_delay else 'BAD'}: work: off the CPU {work['off']}, of it run delay {work['rundelay']}")
    return bad + (not is_delay) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
