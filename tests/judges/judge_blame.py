#!/usr/bin/env python3
"""Says whether the waits of target_blame are blamed on what made them.

    judge_blame.py section PROFILE FUNCTION LOCK    blame for LOCK is at stacks with FUNCTION, but for a twentieth
    judge_blame.py first REPORT FUNCTION THREAD     the worst of `wallprof blame --json` is this
    judge_blame.py sums PROFILE PROFILE             both have the same blame, for every thread, lock and holder

section: each observation of a waiter is a trial, in which the right function is found with odds of 0.95 at least. So the share
may be less than that by three standard deviations of a binomial share. A holder that runs is asked by a signal, which finds it
a little later: that is what the twentieth is for.
"""

import collections
import json
import math
import sys

from pprof_read import SAMPLES, Profile

SHARE = 0.95


def blame_of(profile):
    """Blame by thread, lock, holder and stack."""
    sums = collections.Counter()
    for sample in profile.message.sample:
        if sample.blame:
            said = {profile.text(label.key): profile.text(label.str) for label in sample.label}
            sums[profile.thread(sample)[1], said["on"], said["holder"], tuple(profile.stack(sample))] += sample.blame
    return sums


def judge_section(path, function, lock):
    profile = Profile(path)
    trials = sum(
        sample.value[SAMPLES]
        for sample in profile.message.sample
        if any(profile.text(label.key) == "on" and profile.text(label.str) == lock for label in sample.label)
    )
    blame = collections.Counter()
    for (_, on, _, stack), ns in blame_of(profile).items():
        blame[function in stack] += ns if on == lock else 0
    if not trials or not sum(blame.values()):
        print(f"WRONG {trials} waits for {lock}, {sum(blame.values())} ns of blame")
        return False
    share = blame[True] / sum(blame.values())
    allowed = SHARE - 3 * math.sqrt(SHARE * (1 - SHARE) / trials)
    is_right = share >= allowed
    print(f"{'ok   ' if is_right else 'WRONG'} {100 * share:.1f} % of the blame for {lock} is at {function}, of {trials} waits; "
          f"{100 * allowed:.1f} % suffice")
    return is_right


def judge_first(path, function, thread):
    with open(path, encoding="utf-8") as file:
        worst = json.load(file)["culprits"][:1]
    is_right = [(one["function"], one["thread"]) for one in worst] == [(function, thread)]
    is_right = is_right and worst[0]["waiters"] and worst[0]["locks"] and worst[0]["stacks"]
    print(f"{'ok   ' if is_right else 'WRONG'} the worst is {worst}")
    return is_right


def judge_sums(*paths):
    first, second = [blame_of(Profile(path)) for path in paths]
    print(f"{sum(first.values())} and {sum(second.values())} ns of blame")
    return bool(first) and first == second


JUDGES = {"section": judge_section, "first": judge_first, "sums": judge_sums}

if __name__ == "__main__":
    sys.exit(0 if JUDGES[sys.argv[1]](*sys.argv[2:]) else 1)
