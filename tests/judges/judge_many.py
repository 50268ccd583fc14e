#!/usr/bin/env python3
"""Compares a profile of target_many with what its threads measured of themselves.

    judge_many.py PROFILE REPORT [full]

Total wall is the sum of the lifetimes within 0.1 %, the main thread left out: it is in the loader before its first
line. Every thread is there once, under its own name and id, with all of its time and with little more; and there are no
others. Nothing is in [overflow]. Where sleepers woke late, there may be more: twice that in any thread, and in all of
them together as much as ten such delays.

full: of a profile whose memory was too small. Its total is the same; for single threads there may be no room.
"""

import collections
import sys

from pprof_read import WALL, Profile

# Of a thread's time what it cannot measure itself: from our hook to its first line, and from its last line to our hook.
# On a machine with more work than CPUs it may have to wait for one in either place.
OUTSIDE_NS = 200e6
MAIN_OUTSIDE_NS = 2e9


def read_report(path):
    lives, main_ns, late_ns = {}, None, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            kind, *words = line.split()
            if kind == "thread":
                lives[(int(words[1]), words[0])] = int(words[2])
            elif kind == "main":
                main_ns = int(words[0])
            elif kind == "late":
                late_ns = int(words[0])
    return lives, main_ns, late_ns


def judge_total(profile, lives, main_ns, late_ns):
    main = [values[WALL] for (_, name), values in profile.threads().items() if name == "target_many"]
    if len(main) != 1:
        return [f"{len(main)} main threads"]
    found, true = profile.totals()[WALL] - main[0], sum(lives.values())
    print(f"total wall {found / 1e9:.6f} s, truth {true / 1e9:.6f} s, off {100 * (found / true - 1):+.4f} %; "
          f"the main thread {main[0] / 1e9:.6f} s, truth {main_ns / 1e9:.6f} s; sleepers up to {late_ns / 1e6:.1f} ms late")
    is_right = -0.001 * true <= found - true <= 0.001 * true + 10 * late_ns
    wrong = [] if is_right else ["total wall is off by more than 0.1 %"]
    return wrong if 0 <= main[0] - main_ns < MAIN_OUTSIDE_NS else wrong + ["the main thread's wall is not what it measured"]


def judge_threads(threads, lives, late_ns):
    """What is wrong with which thread."""
    excess = {key: threads[key][WALL] - ns for key, ns in lives.items() if key in threads}
    if excess:
        ordered = sorted(excess.values())
        print(f"{len(lives)} threads; more than they measured: median {ordered[len(ordered) // 2] / 1e3:.1f} us, "
              f"99 % {ordered[len(ordered) * 99 // 100] / 1e3:.1f} us, most {ordered[-1] / 1e3:.1f} us")
    wrong = [f"{key} is missing" for key in lives if key not in threads]
    wrong += [f"{key} has {ns / 1e3:.1f} us less than it lived" for key, ns in excess.items() if ns < 0]
    wrong += [f"{key} has {ns / 1e6:.1f} ms more than it lived" for key, ns in excess.items() if ns > max(OUTSIDE_NS, 2 * late_ns)]
    if len(threads) != len(lives) + 1:
        strangers = [key for key in threads if key not in lives]
        wrong.append(f"{len(threads)} threads, not {len(lives) + 1}: {strangers[:5]}")
    return wrong


def overflow_of(profile):
    found = collections.Counter()
    for sample in profile.message.sample:
        if "[overflow]" in profile.stack(sample):
            found[profile.thread(sample)] += sample.value[WALL]
    return found


def main(profile_path, report_path, is_full):
    profile = Profile(profile_path)
    lives, main_ns, late_ns = read_report(report_path)
    wrong = judge_total(profile, lives, main_ns, late_ns)
    overflow = overflow_of(profile)
    print(f"in [overflow]: {sum(overflow.values()) / 1e9:.3f} s, of {len(overflow)} threads")
    if not is_full:
        wrong += judge_threads(profile.threads(), lives, late_ns)
        wrong += [f"{key} has time in [overflow]" for key in overflow]
    for text in wrong[:20]:
        print("BAD ", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["full"]))
