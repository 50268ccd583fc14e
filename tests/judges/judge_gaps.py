#!/usr/bin/env python3
"""Compares a profile of target_gaps, which was stopped or kept from running meanwhile, with the truth it printed.

    judge_gaps.py PROFILE TRUTH WAITS STOPS STOPPED_NS OBSERVED_NS

The program was stopped STOPS times, STOPPED_NS long together. All that is to be found as [stopped] or [not observed]; as [stopped] what
is OBSERVED_NS: the stops in which the sampler had waited for its next tick. In the others it cannot tell why it was late, and the thread
that waits has no gap then, as it has provably not run. A gap counts from the tick that was due, which may come 1.5
periods after the beginning, or 50 ms where ticks without a sample are skipped. WAITS is "known" where the kernel freezes sleeping
threads as they are: so it is with all stops there.

Of the CPU time a function has its share p: the looks at the working thread are at random moments of its CPU time, and each claims what
passed since the one before. That is at most a period, or what the thread had a CPU for at a time if that is less. With n such stretches
the share is off by sqrt((1 + v) p(1 - p) / n); v is the square of their coefficient of variation: 1/12 for periods of 0.5 to 1.5, and 1
for times on a CPU, which are exponential at worst. Five times that is allowed. And the periods that were missed beside the stops, as
the sample of a late tick claims the CPU time of them all.
"""

import math
import sys

from judge_truth import Judge, estimates, ticks_of
from pprof_read import CPU, SAMPLES, WALL, Profile

EDGE_NS = 60e6


def main(profile_path, truth_path, waits, stops, stopped_ns, observed_ns):
    profile, judge = Profile(profile_path), Judge()
    frames = ["[stopped]", "[not observed]"]
    found = estimates(profile, {"few", "many", *frames})
    with open(truth_path, encoding="utf-8") as file:
        truth = {words[-2]: int(words[-1]) for words in map(str.split, file)}
    total_ns = truth["few"] + truth["many"]
    working = next(values for (_, name), values in profile.threads().items() if name != "waits")
    share = truth["few"] / total_ns
    times = truth["switches"] + total_ns / profile.message.period
    variation = 1 / 12 + truth["switches"] / times
    sigma_ns = math.sqrt((1 + variation) * share * (1 - share) / min(working[SAMPLES], times)) * total_ns
    cpu = {function: sum(values[CPU] for (_, name), values in found.items() if name == function) for function in ("few", "many")}
    _, missed = ticks_of(profile)
    late_ns = max(missed * profile.message.period - int(stopped_ns), 0)
    judge.close("CPU of few", cpu["few"], truth["few"], 5 * sigma_ns + late_ns)
    judge.close("CPU of many", cpu["many"], truth["many"], 5 * sigma_ns + late_ns + 0.02 * total_ns)
    for (_, name), values in profile.threads().items():
        stopped, unknown = (found[(name, frame)] for frame in frames)
        for text, wall_ns, least_ns in (
            ("[stopped]", stopped[WALL], int(observed_ns)),
            ("[stopped] or [not observed]", stopped[WALL] + unknown[WALL], int(observed_ns if name == "waits" else stopped_ns)),
        ):
            is_known = waits == "known" and (name == "waits" or text == "[stopped]")
            least_ns = 0 if is_known else max(least_ns - int(stops) * EDGE_NS, 0)
            judge.verdict(wall_ns >= least_ns, f"{text} of {name}: {wall_ns / 1e9:.3f} s, at least {least_ns / 1e9:.3f} s")
        judge.verdict(stopped[CPU] <= 0.02 * total_ns, f"{name} has used {stopped[CPU] / 1e9:.3f} s of CPU while it was stopped")
    judge.verdict(any("stopped for" in comment for comment in profile.comments()), "a note says how long")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
