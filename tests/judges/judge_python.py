#!/usr/bin/env python3
"""Compares the stacks of a profile with what a Python program said of itself (tests/targets/python_frames.py).

    judge_python.py PROFILE SAID [--min-running=SHARE] [--min-waiting=SHARE]

Of a thread that waits, the stack that has most of its wall time must be the one that was said: functions, files and lines,
without native frames. Of a thread that computes, each stack with the function spin must go on outwards as was said, in
SHARE of the samples (default 0.995).
"""
import collections
import json
import os
import sys

import pprof_read


def python_frames(profile, sample):
    """[function, file, line], innermost first, of the frames that are Python's."""
    frames = []
    for id in sample.location_id:
        for line in profile.locations[id].line:
            function = profile.functions[line.function_id]
            file, name = profile.text(function.filename), profile.text(function.name)
            if file.endswith(".py") or file.startswith("<") or name == "[python: unknown]":
                frames.append([name, file, line.line])
    return frames


def stacks_by_tid(profile, measure):
    stacks = collections.defaultdict(collections.Counter)
    for sample in profile.message.sample:
        tid = profile.label(sample, "thread_id")
        stacks[tid][json.dumps(python_frames(profile, sample))] += sample.value[measure]
    return stacks


def show(what, stack, limit=12):
    print(f"  {what}:")
    for name, file, line in stack[:limit]:
        print(f"    {name} {file}:{line}")
    if len(stack) > limit:
        print(f"    ... and {len(stack) - limit} more")


def judge_waiting(stacks, said):
    same = 0
    for tid, expected in said.items():
        found = stacks.get(int(tid))
        if not found:
            print(f"thread {tid} ({expected[-4 if len(expected) > 3 else 0][0]}) is not in the profile")
            continue
        heaviest = json.loads(found.most_common(1)[0][0])
        if heaviest == expected:
            same += 1
            continue
        print(f"thread {tid} differs:")
        show("said", expected)
        show("found", heaviest)
    print(f"waiting: {same} of {len(said)} threads as they said")
    return same / len(said)


def judge_running(stacks, said):
    right = wrong = elsewhere = 0
    for tid, expected in said.items():
        for text, count in stacks.get(int(tid), {}).items():
            stack = json.loads(text)
            names = [name for name, _, _ in stack]
            if "spin" not in names:
                elsewhere += count
                if count:
                    show(f"without spin, {count} samples", stack, 6)
            elif stack[names.index("spin") + 1:] == expected and names.index("spin") == 0:
                right += count
            else:
                wrong += count
                show(f"differs, {count} samples", stack)
    print(f"running: {right} samples as said, {wrong} not, {elsewhere} before or after")
    return right / (right + wrong) if right else 0.0


def main():
    options = dict(option[2:].split("=") for option in sys.argv[3:])
    profile = pprof_read.Profile(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        said = json.load(file)
    waiting = judge_waiting(stacks_by_tid(profile, pprof_read.WALL), said["waiting"])
    running = judge_running(stacks_by_tid(profile, pprof_read.SAMPLES), said["running"])
    for comment in profile.comments():
        if comment.startswith("scripts: "):
            print(os.path.basename(sys.argv[1]) + ":", comment)
    is_right = waiting >= float(options.get("min-waiting", 1)) and running >= float(options.get("min-running", 0.995))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
