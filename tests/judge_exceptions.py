#!/usr/bin/env python3
"""Compares the stacks of a profile of target_exceptions with how the program calls.

    judge_exceptions.py PROFILE

Every function descend<N> is called by descend<N + 1>, out to the one that a thread began with: a stack that skips one
or shows one twice was walked wrong. Of all samples 999 in 1,000 reach their thread's root. Those that cannot lie in the last ten
instructions of libgcc's landing, between the writing of the handler's address over the return address it is found by and
the jump there; they were measured to be 1 to 3 in 10,000 of this program, which does nothing but throw.
"""

import re
import sys

from pprof_read import SAMPLES, Profile

DESCEND = re.compile(r"^void descend<(\d+)>\(")
FIRST = {12, 6, 3}  # what throw_and_catch and capture, throw_nested, and pass_between_threads begin with
LEAST_SHARE = 0.999
LEAST_SAMPLES = 5000


def is_chain(names):
    """Whether the descents of a stack follow each other."""
    found = [(at, int(match[1])) for at, name in enumerate(names) if (match := DESCEND.match(name))]
    steps = zip(found, found[1:])
    follow = all(outer == (inner[0] + 1, inner[1] + 1) for inner, outer in steps)
    return follow and (not found or "[truncated]" in names or found[-1][1] in FIRST)


def judge(profile):
    wrong, total, reached = [], 0, 0
    for sample in profile.message.sample:
        names, samples = profile.stack(sample), sample.value[SAMPLES]
        if samples and not is_chain(names):
            wrong.append(f"{samples} samples of {' < '.join(names)}")
        total += samples
        reached += samples if profile.reaches_root(sample) else 0
    print(f"{total} samples, {100 * reached / max(total, 1):.3f} % reach the root, {len(wrong)} stacks are wrong")
    if total < LEAST_SAMPLES:
        wrong.append(f"{total} samples are too few to judge by")
    if reached < LEAST_SHARE * total:
        wrong.append(f"{total - reached} of {total} samples do not reach the root")
    return wrong


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    wrong = judge(Profile(arguments[0]))
    for line in wrong[:20]:
        print(f"FAIL: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
