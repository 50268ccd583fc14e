#!/usr/bin/env python3
"""Compares what a profile says of locks and their holders with what target_locks did.

    judge_locks.py held PROFILE REPORT
    judge_locks.py own PROFILE REPORT
    judge_locks.py swap PROFILE
    judge_locks.py gil|gil-without-holder PROFILE

held: each thread of the report, a line WAITER HOLDER ON, has waited all the time: every sample of it says for which lock, and who
holds it; "-": nothing is said ("A|B": one of them). A name that ends in * may have a number after it. Time that nobody saw is left out.
own: each thread of the report waits now and then, and for nothing that is not in its line ("A|B": for one of them). Some of what all wait for is named.
swap: a holder is of the waiter's group, which is its name without the letter at its end, and is not the waiter itself. Nobody holds
what a thread of the group "none" waits for. Some holders are named, and that lock is. Threads that have not named themselves yet
are called as the program is, and wait for the C library's locks, which others of that name have.
gil: gil-b waits for "GIL" and gil-a holds it, in nine tenths of that time at least. No thread waits for itself, and nobody else is
there. The third is the main thread, python3, while it starts them and when they have ended. So are both called until they have named
themselves: python3 may wait for python3.
"""

import collections
import sys

from pprof_read import PSEUDO, WALL, Profile

PROGRAM = "target_locks"


def waits_of(profile):
    """Wall time by thread, holder and lock, "-" for none."""
    sums = collections.Counter()
    for sample in profile.message.sample:
        if profile.stack(sample)[0] in PSEUDO or not sample.value[WALL]:  # blame only: of another thread's wait
            continue
        said = {profile.text(label.key): profile.text(label.str) for label in sample.label}
        sums[profile.thread(sample)[1], said.get("holder", "-"), said.get("on", "-")] += sample.value[WALL]
    return sums


def is_called(found, wanted):
    name, is_numbered = wanted.rstrip("*"), wanted.endswith("*")
    return found in name.split("|") or is_numbered and found.startswith(name + " #")


def judge_held(profile, report):
    sums, is_right = waits_of(profile), True
    wanted = dict((line.split("\t")[0], line.rstrip("\n").split("\t")[1:]) for line in report)
    for thread, (holder, lock) in wanted.items():
        found = {key[1:]: wall_ns for key, wall_ns in sums.items() if key[0] == thread and wall_ns > 0}
        good = bool(found) and all(said[0] == holder and is_called(said[1], lock) for said in found)
        print(f"{'ok   ' if good else 'WRONG'} {thread}: {found}" + ("" if good else f", not held by {holder}: {lock}"))
        is_right = is_right and good
    return is_right and bool(wanted)


def judge_own(profile, report):
    sums, is_right, named = waits_of(profile), True, 0
    wanted = dict((line.split("\t")[0], line.rstrip("\n").split("\t")[2]) for line in report)
    for (thread, holder, thing), wall_ns in sums.items():
        if thread not in wanted or wall_ns == 0:
            continue
        good = holder == "-" and thing in ("-", *wanted[thread].split("|"))
        named += wall_ns if good and thing != "-" else 0
        print(f"{'ok   ' if good else 'WRONG'} {thread}: {thing} {wall_ns / 1e6:.1f} ms")
        is_right = is_right and good
    return is_right and named > 0


def group_of(thread):
    return thread.rsplit("-", 1)[0]


def judge_swap(profile):
    named, wrong = collections.Counter(), collections.Counter()
    for (thread, holder, lock), wall_ns in waits_of(profile).items():
        is_itself = holder == thread and holder != PROGRAM
        is_wrong = holder != "-" and (is_itself or group_of(holder) != group_of(thread) or thread == "none")
        named[group_of(thread), holder != "-"] += wall_ns if lock != "-" else 0
        if is_wrong:
            wrong[thread, holder, lock] += wall_ns
    for (group, has_holder), wall_ns in sorted(named.items()):
        print(f"{group}: {wall_ns / 1e6:.1f} ms of waiting {'with' if has_holder else 'without'} a holder")
    for key, wall_ns in wrong.items():
        print(f"WRONG {key}: {wall_ns} ns")
    holders = sum(wall_ns for (_, has_holder), wall_ns in named.items() if has_holder)
    return not wrong and holders > 0 and named["none", False] > 0


def judge_gil(profile, has_holder):
    sums, is_right = waits_of(profile), True
    waited = {said: wall_ns for said, wall_ns in sums.items() if said[2] == "GIL"}
    for (thread, holder, _), wall_ns in waited.items():
        is_another = holder != thread or holder == "python3"
        good = holder == "-" or has_holder and holder in ("gil-a", "gil-b", "python3") and is_another
        print(f"{'ok   ' if good else 'WRONG'} {thread} has waited {wall_ns / 1e6:.1f} ms for {holder}")
        is_right = is_right and good
    all_ns = sum(wall_ns for said, wall_ns in waited.items() if said[0] == "gil-b")
    held_ns = waited.get(("gil-b", "gil-a", "GIL"), 0)
    return is_right and all_ns > 0 and (not has_holder or held_ns >= 0.9 * all_ns)


def main(command, profile, report=None):
    profile = Profile(profile)
    if command.startswith("gil"):
        return 0 if judge_gil(profile, command == "gil") else 1
    if command in ("held", "own"):
        with open(report, encoding="utf-8") as lines:
            return 0 if (judge_held if command == "held" else judge_own)(profile, lines) else 1
    return 0 if judge_swap(profile) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
