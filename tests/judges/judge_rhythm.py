#!/usr/bin/env python3
"""Compares a profile of target_rhythm with the truth it printed.

    judge_rhythm.py PROFILE TRUTH

Each thread is sampled in every tick. With the share p of a thread's time T, a function is found with a variance of p(1 - p) T g,
g being the mean time between two samples (judge_truth.py derives it); cycles longer than g make it smaller. It may be off by
3 % or by five standard deviations, whichever is more: of 60 comparisons one is outside by chance once in 29,000 runs.

That is where ticks are on time. A sample of a late tick stands for the periods that were missed, too, be it half a second, and it was
taken when a CPU had become free for the sampler, on which the thread did not run then. There are no more such ticks than missed ones. So
twice the periods that were missed may be found elsewhere.
"""

import math
import sys

from judge_truth import Judge, estimates, ticks_of
from pprof_read import SAMPLES, WALL, Profile

FUNCTIONS = ["work_one", "work_two", "rest_now"]
SIGMAS, SHARE = 5, 0.03


def main(profile_path, truth_path):
    profile, judge = Profile(profile_path), Judge()
    found = estimates(profile, set(FUNCTIONS))
    threads = {name: values for (_, name), values in profile.threads().items()}
    with open(truth_path, encoding="utf-8") as file:
        rhythms = [line.split()[1:] for line in file if line.startswith("rhythm ")]
    judge.verdict(len(rhythms) == 20, f"{len(rhythms)} rhythms")
    _, missed = ticks_of(profile)
    late_ns = 2 * missed * profile.message.period
    print(f"{missed} ticks missed")
    for name, *times in rhythms:
        total_ns = sum(map(int, times))
        gap_ns = total_ns / max(threads[name][SAMPLES], 1)
        for function, true_ns in zip(FUNCTIONS, map(int, times)):
            share = true_ns / total_ns
            sigma_ns = math.sqrt(share * (1 - share) * total_ns * gap_ns)
            found_ns = found[(name, function)][WALL]
            off = (found_ns - true_ns) / true_ns
            text = f"{name} {function}: off by {off:+.1%} = {(found_ns - true_ns) / sigma_ns:+.1f} sigma"
            judge.verdict(abs(found_ns - true_ns) <= max(SIGMAS * sigma_ns, SHARE * true_ns) + late_ns, text)
    print(f"{len(judge.failures)} bad")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
