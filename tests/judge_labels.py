#!/usr/bin/env python3
"""Compares the labels of a profile with what target_labels did.

    judge_labels.py work PROFILE REPORT
    judge_labels.py pairs PROFILE
    judge_labels.py lines PROFILE         THREAD LABELS WALL, a line for each set of labels of a thread

work: of each thread's time the share with each phase is what the program measured itself, a line THREAD PHASE NS each. A look
stands for a period, so that N of them are off by a share of 1 / (2 sqrt(N)) with a standard deviation; six are allowed.
pairs: no thread ever had a label `right` without the `left` of the same value, and all four kinds of sets are there.
"""

import collections
import math
import sys

from pprof_read import SAMPLES, WALL, Profile

OURS = {"thread", "thread_id", "end_timestamp_ns"}


def labels_of(profile, sample):
    pairs = [(profile.text(label.key), profile.text(label.str)) for label in sample.label]
    return tuple(sorted(pair for pair in pairs if pair[0] not in OURS))


def sums_of(profile):
    """Values by thread and labels."""
    sums = collections.defaultdict(lambda: [0] * 4)
    for sample in profile.message.sample:
        key = profile.thread(sample)[1], labels_of(profile, sample)
        sums[key] = [a + b for a, b in zip(sums[key], sample.value)]
    return sums


def judge_work(profile, report):
    sums, is_right = sums_of(profile), True
    truth = collections.defaultdict(dict)
    for line in report:
        thread, phase, took_ns = line.split()
        truth[thread][() if phase == "-" else (("phase", phase),)] = int(took_ns)
    for thread, phases in truth.items():
        ours = {labels: values for (name, labels), values in sums.items() if name == thread}
        total = sum(values[WALL] for values in ours.values())
        looks = max(1, sum(values[SAMPLES] for values in ours.values()))
        allowed = 6 * 0.5 / math.sqrt(looks) + 0.01
        for labels in set(phases) | set(ours):
            true = phases.get(labels, 0) / sum(phases.values())
            share = ours.get(labels, [0] * 4)[WALL] / max(1, total)
            verdict = "" if abs(share - true) <= allowed else " WRONG"
            is_right = is_right and not verdict
            print(f"{thread} {labels}: {share:.3f}, in truth {true:.3f}, +-{allowed:.3f} ({looks} looks){verdict}")
    return is_right and bool(truth)


def judge_pairs(profile):
    kinds = collections.Counter()
    is_right = True
    for (thread, labels), values in sums_of(profile).items():
        named = dict(labels)
        if "right" in named and named.get("left") != named["right"]:
            print(f"{thread} never had {labels}: {values[SAMPLES]} looks")
            is_right = False
        kinds[tuple(sorted(set(named) - {"handler"}))] += values[SAMPLES]
    print(dict(kinds))
    return is_right and all(kinds[kind] for kind in [(), ("left",), ("left", "right")])


def main(arguments):
    profile = Profile(arguments[1])
    if arguments[0] == "work":
        with open(arguments[2], encoding="utf-8") as report:
            return 0 if judge_work(profile, report) else 1
    if arguments[0] == "pairs":
        return 0 if judge_pairs(profile) else 1
    for (thread, labels), values in sorted(sums_of(profile).items()):
        print(thread, ",".join(f"{key}={value}" for key, value in labels) or "-", values[WALL])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
