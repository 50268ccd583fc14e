#!/usr/bin/env python3
"""Says of a profile of target_modules which samples name the wrong library.

    judge_modules.py turns PROFILE      run_a calls a_spin, run_b b_spin, never the other way round
    judge_modules.py under PROFILE OUTER INNER    how many samples have INNER called by OUTER, and reach the root

Prints the counts; status 1 when a sample is wrong.
"""

import sys

from pprof_read import SAMPLES, Profile


def judge_turns(profile):
    right = wrong = unknown = 0
    for sample in profile.message.sample:
        stack, count = profile.stack(sample), sample.value[SAMPLES]
        callers = {name[-1] for name in stack if name in ("run_a", "run_b")}
        inner = {name[0] for name in stack if name in ("a_spin", "b_spin")}
        if len(callers | inner) > 1:
            print("wrong:", count, " < ".join(stack))
            wrong += count
        elif inner:
            right += count
        elif "[unloaded]" in stack or any(name.startswith("[0x") for name in stack):
            unknown += count
    total = max(1, right + wrong + unknown)
    print(f"right {right} wrong {wrong} unknown {unknown} ({unknown / total:.2%})")
    return wrong == 0 and right > 0


def judge_under(profile, outer, inner):
    found = rooted = 0
    for sample in profile.message.sample:
        stack = profile.stack(sample)
        if inner in stack:
            found += sample.value[SAMPLES]
            if outer in stack[stack.index(inner) :] and profile.reaches_root(sample):
                rooted += sample.value[SAMPLES]
    print(f"{inner}: {found} samples, {rooted} under {outer} and back to the root")
    # Of a few dozen samples two may have been taken where it cannot be known.
    return rooted > 0.5 * found and found - rooted <= max(2, 0.01 * found)


def main(arguments):
    profile = Profile(arguments[1])
    if arguments[0] == "turns":
        good = judge_turns(profile)
    else:
        good = judge_under(profile, *arguments[2:4])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
