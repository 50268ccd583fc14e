#!/usr/bin/env python3
"""Compares a profile of target_crowd with the truth it printed.

    judge_crowd.py PROFILE TRUTH

The threads that run are seen often, however many wait: each function has its wall time within 5 %, or within what chance
does to so many looks, whichever is larger. A thread's looks are independent of what it does, so a function with a share p
of n looks is off by 5 * sqrt(p(1 - p)n) looks less than once in a million profiles, where each look stands for one tick.
A tick without a look makes another look's stretch longer. Where thousands of threads begin at once the first look comes
after half a second, and that stretch goes to one function. So a thread may be off by its ticks without a look. Each running thread has ten looks at
least: a blocked one's share of 8 looks a tick would be one in four seconds. And of the time of the blocked threads no
more than a twentieth was not seen.
"""

import math
import sys

from judge_truth import Judge, Truth, estimates
from pprof_read import SAMPLES, WALL, Profile

FUNCTIONS = ("run_longer", "run_shorter")
LEAST_LOOKS, SHARE, SIGMAS, TICK_NS = 10, 0.05, 5, 10**7


class CrowdTruth(Truth):
    """What the target printed beyond what measured.h says."""

    def _take(self, words):
        if words[0] == "blocked":
            self.blocked = int(words[1])
        elif words[0] == "delay":
            self.delay_ns, self.main = int(words[1]), int(words[3])
        else:
            super()._take(words)


def is_blocked(truth, tid, name):
    return tid != truth.main and name not in truth.threads


def judge_functions(judge, profile, truth):
    found = estimates(profile, set(FUNCTIONS))
    looks = {name: sum(found[(name, function)][SAMPLES] for function in FUNCTIONS) for name in truth.threads}
    for name, count in looks.items():
        judge.verdict(count >= LEAST_LOOKS, f"{name}: {count} looks")
    total = sum(truth.functions[function][0] for function in FUNCTIONS)
    unlooked_ns = sum(max(life - looks[name] * TICK_NS, 0) for name, (_, life, _) in truth.threads.items())
    for function in FUNCTIONS:
        wall_ns = sum(found[(name, function)][WALL] for name in truth.threads)
        share = truth.functions[function][0] / total
        chance = SIGMAS * math.sqrt(share * (1 - share) / max(sum(looks.values()), 1)) * total
        allowed = max(SHARE * truth.functions[function][0], chance) + len(looks) * truth.stalled_ns + unlooked_ns
        judge.close(function, wall_ns, truth.functions[function][0], allowed)


def judge_delay(judge, profile, truth):
    delay_ns = 0
    for sample in profile.message.sample:
        delay_ns += sample.rundelay if is_blocked(truth, *profile.thread(sample)) else 0
    judge.verdict(not profile.has_rundelay or delay_ns <= truth.delay_ns, f"{delay_ns / 1e9:.3f} s of run delay, the kernel says {truth.delay_ns / 1e9:.3f} s")


def main():
    profile, truth, judge = Profile(sys.argv[1]), CrowdTruth(sys.argv[2]), Judge()
    judge_functions(judge, profile, truth)
    blocked = {thread: values[WALL] for thread, values in profile.threads().items() if is_blocked(truth, *thread)}
    judge.verdict(len(blocked) == truth.blocked, f"{len(blocked)} blocked threads of {truth.blocked}")
    unseen = sum(sample.value[WALL] for sample in profile.message.sample if "[unsampled]" in profile.stack(sample) and profile.thread(sample) in blocked)
    judge.verdict(unseen <= SHARE * sum(blocked.values()), f"{unseen / 1e9:.3f} s [unsampled] of {sum(blocked.values()) / 1e9:.3f} s")
    judge_delay(judge, profile, truth)
    sys.exit(1 if judge.failures else 0)


main()
