#!/usr/bin/env python3
"""Compares the labels of a profile with what target_labels did.

    judge_labels.py work PROFILE REPORT
    judge_labels.py pairs PROFILE
    judge_labels.py lines PROFILE         THREAD LABELS WALL, a line for each set of labels of a thread
    judge_labels.py sets PROFILE PERCENT  the sets of labels with at least so many of all samples, in one line

work: of each thread's time the share with each phase is what the program measured itself, a line THREAD PHASE NS each. A sample
stands for a period, so that N of them are off by a share of 1 / (2 sqrt(N)) with a standard deviation; six are allowed. When
the machine stands still, that is the phase's in which it began, while the next sample is mostly in another one: what the
line THREAD stalled NS has is allowed beside. Status 0: right, 1: wrong; and 2 more if that is above a quarter of a
thread's time, which tells little.
sets: samples, not time, as one sample after a pause of the machine has all of that.
pairs: no thread ever had a label `right` without the `left` of the same value, and all four kinds of sets are there.
"""

import collections
import math
import sys

from pprof_read import SAMPLES, WALL, Profile

OURS = {"thread", "thread_id", "wait", "on", "holder", "end_timestamp_ns"}
STILL_MAX = 0.25


def labels_of(profile, sample):
    pairs = [(profile.text(label.key), profile.text(label.str)) for label in sample.label]
    return tuple(sorted(pair for pair in pairs if pair[0] not in OURS))


def text_of(labels):
    return ",".join(f"{key}={value}" for key, value in labels) or "-"


def sums_of(profile):
    """Values by thread and labels."""
    sums = collections.defaultdict(lambda: [0] * 4)
    for sample in profile.message.sample:
        key = profile.thread(sample)[1], labels_of(profile, sample)
        sums[key] = [a + b for a, b in zip(sums[key], sample.value)]
    return sums


def read_report(report):
    """{thread: {labels: ns}} and {thread: ns that it stood still}."""
    truth, stalled = collections.defaultdict(dict), {}
    for line in report:
        thread, phase, took_ns = line.split()
        if phase == "stalled":
            stalled[thread] = int(took_ns)
        else:
            truth[thread][() if phase == "-" else (("phase", phase),)] = int(took_ns)
    return truth, stalled


def judge_work(profile, report):
    sums, is_right, is_telling = sums_of(profile), True, True
    truth, stalled = read_report(report)
    for thread, phases in truth.items():
        ours = {labels: values for (name, labels), values in sums.items() if name == thread}
        total = sum(values[WALL] for values in ours.values())
        samples = max(1, sum(values[SAMPLES] for values in ours.values()))
        still = stalled[thread] / sum(phases.values())
        allowed = 6 * 0.5 / math.sqrt(samples) + 0.01 + still
        is_telling = is_telling and still <= STILL_MAX
        print(f"{thread}: stood still for {still:.1%} of its time")
        for labels in set(phases) | set(ours):
            true = phases.get(labels, 0) / sum(phases.values())
            share = ours.get(labels, [0] * 4)[WALL] / max(1, total)
            verdict = "" if abs(share - true) <= allowed else " WRONG"
            is_right = is_right and not verdict
            print(f"{thread} {labels}: {share:.3f}, in truth {true:.3f}, +-{allowed:.3f} ({samples} samples){verdict}")
    return (0 if is_right and truth else 1) + (0 if is_telling else 2)


def print_sets(profile, percent):
    samples = collections.Counter()
    for (_, labels), values in sums_of(profile).items():
        samples[labels] += values[SAMPLES]
    least = sum(samples.values()) * percent / 100
    print(*sorted(text_of(labels) for labels, count in samples.items() if count >= least))


def judge_pairs(profile):
    kinds = collections.Counter()
    is_right = True
    for (thread, labels), values in sums_of(profile).items():
        named = dict(labels)
        if "right" in named and named.get("left") != named["right"]:
            print(f"{thread} never had {labels}: {values[SAMPLES]} samples")
            is_right = False
        kinds[tuple(sorted(set(named) - {"handler"}))] += values[SAMPLES]
    print(dict(kinds))
    return is_right and all(kinds[kind] for kind in [(), ("left",), ("left", "right")])


def main(arguments):
    profile = Profile(arguments[1])
    if arguments[0] == "work":
        with open(arguments[2], encoding="utf-8") as report:
            return judge_work(profile, report)
    if arguments[0] == "pairs":
        return 0 if judge_pairs(profile) else 1
    if arguments[0] == "sets":
        print_sets(profile, float(arguments[2]))
        return 0
    for (thread, labels), values in sorted(sums_of(profile).items()):
        print(thread, text_of(labels), values[WALL])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
