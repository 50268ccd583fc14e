#!/usr/bin/env python3
"""Compares a profile of target_threads with what it printed about its threads.

    judge_threads.py PROFILE REPORT

Time is conserved: total wall is the sum of the lifetimes within 1 %, and where sleepers woke late, so that threads were
kept waiting before and after what they measure too, as much more as ten such delays. Every thread is there under its own name and
id. A thread's function is found in it, for as much of its time as the report asks for, and in no other thread; the time that
it was kept off the processors, and could not be sampled, does not count. Nor does what is [unsampled] of it, for as
long as the machine is known to have stood still.
"""

import collections
import os
import sys

from pprof_read import WALL, Profile


MAIN_OUTSIDE_NS = 1e9


class Life:
    """One line of the report."""

    def __init__(self, words):
        self.name, self.tid, self.ns, self.stalled_ns, self.percent = words[0], *map(int, words[1:5])
        self.functions = " ".join(words[5:]).split("|")
        if os.environ.get("EMULATED"):
            self.allow_for_emulator()

    def allow_for_emulator(self):
        """Code that is met for the first time, as around a thread's beginning and end, takes time to be translated.
        And a thread made by raw clone may begin deaf for ever: qemu-user 7.2 hands its creator's host mask down, and
        blocks everything there from a signal's arrival until it is delivered."""
        self.percent *= 0.7
        if self.name == "raw":
            self.functions.append("[not responding]")


def read_report(path):
    lives, main_ns, late_ns, frozen_ns = [], None, 0, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            kind, *words = line.split()
            if kind == "thread":
                lives.append(Life(words))
            elif kind == "main":
                main_ns = int(words[0])
            elif kind == "late":
                late_ns = int(words[0])
            elif kind == "frozen":
                frozen_ns = int(words[0])
    return lives, main_ns, late_ns, frozen_ns


def wall_by_function(profile):
    """Inclusive wall time per (thread, function)."""
    sums = collections.Counter()
    for sample in profile.message.sample:
        for name in set(profile.stack(sample)):
            sums[(profile.thread(sample), name)] += sample.value[WALL]
    return sums


def judge_life(life, threads, sums, frozen_ns):
    """What is wrong with one thread."""
    key = (life.tid, life.name)
    if key not in threads:
        return [f"thread {life.name} ({life.tid}) is missing"]
    found = sum(sums[(key, function)] for function in life.functions)
    unseen_ns = max(life.stalled_ns, min(sums[(key, "[unsampled]")], frozen_ns))
    share = 100 * found / max(threads[key][WALL] - unseen_ns, 1)
    wrong = []
    if share < life.percent:
        wrong.append(f"{life.name}: {share:.1f} % of its time in {life.functions}, not {life.percent} %")
    if not life.name.startswith("short-"):
        print(f"{life.name}: {threads[key][WALL] / 1e9:.3f} s of {life.ns / 1e9:.3f} s, {share:.1f} % in {life.functions}")
    return wrong


def explain(profile, key):
    """Where a thread's time is, for the log."""
    samples = [sample for sample in profile.message.sample if profile.thread(sample) == key]
    for sample in sorted(samples, key=lambda sample: -sample.value[WALL])[:8]:
        print(f"     {key}: {sample.value[WALL] / 1e9:.3f} s in {' < '.join(profile.stack(sample)[:6])}")


def judge_strangers(lives, sums):
    """A thread's time must not be found under another one's name."""
    owners = collections.defaultdict(set)
    for life in lives:
        for function in life.functions:
            owners[function].add((life.tid, life.name))
    return [
        f"{function} is found in thread {thread}"
        for (thread, function), wall in sums.items()
        if function in owners and not function.startswith("[") and thread not in owners[function] and wall
    ]


def judge_total(profile, lives, main_ns, late_ns):
    found, true = profile.totals()[WALL], main_ns + sum(life.ns for life in lives)
    print(f"total wall {found / 1e9:.3f} s, truth {true / 1e9:.3f} s, off {100 * (found / true - 1):+.2f} %; "
          f"sleepers up to {late_ns / 1e6:.1f} ms late")
    # The loader's and the C library's time before main and after it, which the target cannot measure: on a crowded
    # machine, or emulated, with every instruction met for the first time, it is some tenths of a second.
    known = {(life.tid, life.name) for life in lives}
    main = sum(values[WALL] for key, values in profile.threads().items() if key not in known)
    outside_ns = min(max(main - main_ns, 0), MAIN_OUTSIDE_NS) + 10 * late_ns
    return [] if -0.01 * true <= found - true <= 0.01 * true + outside_ns else [f"total wall is off by {100 * (found / true - 1):+.2f} %"]


def judge_count(profile, threads, lives):
    print(f"{len(threads)} threads, truth {len(lives) + 1}")
    if len(threads) == len(lives) + 1:
        return []
    known = {(life.tid, life.name) for life in lives}
    for key in [key for key in threads if key not in known][:5]:
        explain(profile, key)
    return [f"{len(threads)} threads, not {len(lives) + 1}"]


def main(profile_path, report_path):
    profile = Profile(profile_path)
    profile.leave_out_emulator()
    lives, main_ns, late_ns, frozen_ns = read_report(report_path)
    threads, sums = profile.threads(), wall_by_function(profile)
    wrong = judge_total(profile, lives, main_ns, late_ns) + judge_count(profile, threads, lives) + judge_strangers(lives, sums)
    for life in lives:
        faults = judge_life(life, threads, sums, frozen_ns)
        if faults:
            explain(profile, (life.tid, life.name))
        wrong += faults
    for text in wrong[:30]:
        print("BAD ", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
