#!/usr/bin/env python3
"""Compares the stacks of profiles with what a script said of itself (tests/targets/python_frames.py, php_frames.php,
perl_frames.pl).

    judge_scripts.py PROFILE... SAID [--min-running=SHARE] [--min-waiting=SHARE] [--spin-lines=FIRST,LAST]
                     [--spin-calls=FUNCTION,...] [--spin=NAME]

Of a thread that waits, the stack that has most of its wall time must be the one that was said: functions, files and lines,
without native frames. Of a thread that computes, each stack with the function spin must go on outwards as was said, in
SHARE of the samples (default 0.995). In one of them at least, nothing stands inside of spin. With lines, spin must be
found in these in half of its samples: the rest of it is little work, but has calls.
"""
import collections
import json
import os
import sys

import pprof_read


def script_frames(profile, sample):
    """[function, file, line], innermost first, of the frames that are the script's, and of calls of CPython's interpreter
    that stand inside of one of them: no frame took their place."""
    frames, calls = [], []
    for id in sample.location_id:
        for line in profile.locations[id].line:
            function = profile.functions[line.function_id]
            file, name = profile.text(function.filename), profile.text(function.name)
            is_native = profile.locations[id].mapping_id or name == "take_gil" or name.startswith("[")
            if not is_native or name.endswith(": unknown]"):
                frames += calls + [[name, file, line.line]]
                calls = []
            elif name == "_PyEval_EvalFrameDefault":
                calls.append([name, "", 0])
    return frames


def stacks_by_tid(profiles, measure):
    stacks = collections.defaultdict(collections.Counter)
    for profile in profiles:
        for sample in profile.message.sample:
            tid = profile.label(sample, "thread_id")
            stacks[tid][json.dumps(script_frames(profile, sample))] += sample.value[measure]
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


def judge_running(stacks, said, spin, calls):
    """What spin calls itself may stand inside of it, and is no function of the script's."""
    right = wrong = elsewhere = 0
    for tid, expected in said.items():
        for text, count in stacks.get(int(tid), {}).items():
            stack = json.loads(text)
            names = [name for name, _, _ in stack]
            if spin not in names:
                elsewhere += count
                if count:
                    show(f"without {spin}, {count} samples", stack, 6)
            elif stack[names.index(spin) + 1:] == expected and set(names[:names.index(spin)]) <= calls:
                right += count
            else:
                wrong += count
                show(f"differs, {count} samples", stack)
    print(f"running: {right} samples as said, {wrong} not, {elsewhere} before or after")
    return right / (right + wrong) if right else 0.0


def judge_leaves(profiles, said, spin):
    leaves = collections.Counter()
    for profile in profiles:
        for sample in profile.message.sample:
            if str(profile.label(sample, "thread_id")) in said:
                leaves[profile.stack(sample)[0]] += sample.value[pprof_read.SAMPLES]
    print(f"innermost: {spin} in {leaves[spin]} of {sum(leaves.values())} samples")
    return leaves[spin] > 0


def judge_lines(stacks, said, spin, first, last):
    inside = outside = 0
    for tid in said:
        for text, count in stacks.get(int(tid), {}).items():
            for name, _, line in json.loads(text):
                inside += count * (name == spin and first <= line <= last)
                outside += count * (name == spin and not first <= line <= last)
    print(f"lines of {spin}: {inside} samples in its loop, {outside} not")
    return inside > outside


def main():
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    options = dict(option[2:].split("=") for option in sys.argv[1:] if option.startswith("--"))
    profiles = [pprof_read.Profile(name) for name in names[:-1]]
    with open(names[-1], encoding="utf-8") as file:
        said = json.load(file)
    spin = options.get("spin", "spin")
    waiting = judge_waiting(stacks_by_tid(profiles, pprof_read.WALL), said["waiting"])
    samples = stacks_by_tid(profiles, pprof_read.SAMPLES)
    running = judge_running(samples, said["running"], spin, set(options.get("spin-calls", "").split(",")))
    for name, profile in zip(names, profiles):
        for comment in profile.comments():
            if comment.startswith("scripts: ") and (len(profiles) == 1 or "; 0 do not fit, 0 " not in comment):
                print(os.path.basename(name) + ":", comment)
    is_right = judge_leaves(profiles, said["running"], spin)
    is_right &= waiting >= float(options.get("min-waiting", 1)) and running >= float(options.get("min-running", 0.995))
    if "spin-lines" in options:
        is_right &= judge_lines(samples, said["running"], spin, *map(int, options["spin-lines"].split(",")))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
