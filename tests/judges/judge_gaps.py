#!/usr/bin/env python3
"""Compares a profile of target_gaps, which was stopped or kept from running meanwhile, with the truth it printed.

    judge_gaps.py PROFILE TRUTH [stopped]|either STOPS LEAST_NS

The gaps are to be found as [stopped], or as that or [not observed]. There were STOPS of them, LEAST_NS long together. A gap
counts from the tick that was due, which may come 1.5 periods after the beginning, or 50 ms where ticks without a sample are skipped.

Of the CPU time a function has its share: the looks at the working thread are at random moments of its CPU time, so with n of them and
the share p that is off by sqrt(p(1 - p) / n). Five times that is allowed; one look that claimed a stop of a second would be more.
"""

import math
import sys

from judge_truth import Judge, estimates
from pprof_read import CPU, SAMPLES, WALL, Profile

EDGE_NS = 60e6


def main(profile_path, truth_path, frame, stops, least_ns):
    profile, judge = Profile(profile_path), Judge()
    frames = ["[stopped]"] if frame == "[stopped]" else ["[stopped]", "[not observed]"]
    found = estimates(profile, {"few", "many", *frames})
    with open(truth_path, encoding="utf-8") as file:
        truth = {words[-2]: int(words[-1]) for words in map(str.split, file)}
    total_ns = truth["few"] + truth["many"]
    working = next(values for (_, name), values in profile.threads().items() if name != "waits")
    share = truth["few"] / total_ns
    sigma_ns = math.sqrt(share * (1 - share) / working[SAMPLES]) * total_ns
    cpu = {function: sum(values[CPU] for (_, name), values in found.items() if name == function) for function in ("few", "many")}
    judge.close("CPU of few", cpu["few"], truth["few"], 5 * sigma_ns)
    judge.close("CPU of many", cpu["many"], truth["many"], 5 * sigma_ns + 0.02 * total_ns)
    for (_, name), values in profile.threads().items():
        gap = [sum(found[(name, each)][type] for each in frames) for type in range(WALL + 1)]
        least = int(least_ns) - int(stops) * EDGE_NS
        if name == "waits" and frame == "either":
            least = 0  # if it has provably not run, what it did is known
        text = f"{frame} of {name}: {gap[WALL] / 1e9:.3f} s, at least {least / 1e9:.3f} s; {gap[CPU] / 1e9:.3f} s of CPU"
        judge.verdict(gap[WALL] >= least and (frame != "[stopped]" or gap[CPU] <= 0.02 * total_ns), text)
    judge.verdict(any("stopped for" in comment for comment in profile.comments()), "a note says how long")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
