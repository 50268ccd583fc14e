#!/usr/bin/env python3
"""Compares the stacks of a profile of target_exceptions with how the program calls.

    judge_exceptions.py PROFILE [--landing-unknown]

Every function descend<N> is called by descend<N + 1>, out to the one that a thread began with: a stack that skips one
or shows one twice was walked wrong. All samples but a few reach their thread's root. Those that cannot lie in the last
ten instructions of libgcc's landing, between the writing of the handler's address over the return address it is found by
and the jump there; they were measured to be 1 to 3 in 10,000 of this program, which does nothing but throw. How many of n
samples there are is then Poisson's: up to 0.0003 n, five standard deviations of that, and one.

--landing-unknown: where calls are not decoded (SIG_DECODES_CALLS), landings are not followed. A few percent of the stacks
may end there or show the handler's frame twice then, but none without libgcc's unwinder in it.
"""

import math
import re
import sys

from pprof_read import SAMPLES, Profile

DESCEND = re.compile(r"^void descend<(\d+)>\(")
FIRST = {12, 6, 3}  # what throw_and_catch and capture, throw_nested, and pass_between_threads begin with
UNWINDERS = {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_ForcedUnwind"}
LANDING_SHARE = 0.0003
LEAST_SAMPLES = 2000
LEAST_SHARE_UNKNOWN, MOST_WRONG_UNKNOWN = 0.93, 0.05
LEAST_SAMPLES_UNKNOWN = 1000


def is_chain(names):
    """Whether the descents of a stack follow each other."""
    found = [(at, int(match[1])) for at, name in enumerate(names) if (match := DESCEND.match(name))]
    steps = zip(found, found[1:])
    follow = all(outer == (inner[0] + 1, inner[1] + 1) for inner, outer in steps)
    return follow and (not found or "[truncated]" in names or found[-1][1] in FIRST)


def allowed_lost(total, knows_landing):
    """How many of so many samples may not reach the root."""
    if not knows_landing:
        return (1 - LEAST_SHARE_UNKNOWN) * total
    return LANDING_SHARE * total + 5 * math.sqrt(LANDING_SHARE * total) + 1


def judge(profile, knows_landing):
    wrong, total, reached, landing = [], 0, 0, 0
    for sample in profile.message.sample:
        names, samples = profile.stack(sample), sample.value[SAMPLES]
        if samples and not is_chain(names) and not knows_landing and UNWINDERS & set(names):
            landing += samples
        elif samples and not is_chain(names):
            wrong.append(f"{samples} samples of {' < '.join(names)}")
        total += samples
        reached += samples if profile.reaches_root(sample) else 0
    print(f"{total} samples, {100 * reached / max(total, 1):.3f} % reach the root, {len(wrong)} stacks are wrong")
    if not knows_landing:
        print(f"{landing} samples of landings that are not followed")
    if landing > MOST_WRONG_UNKNOWN * total:
        wrong.append(f"{landing} of {total} samples are of landings")
    if total < (LEAST_SAMPLES if knows_landing else LEAST_SAMPLES_UNKNOWN):
        wrong.append(f"{total} samples are too few to judge by")
    allowed = allowed_lost(total, knows_landing)
    if total - reached > allowed:
        wrong.append(f"{total - reached} of {total} samples do not reach the root, {allowed:.1f} may")
    return wrong


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--landing-unknown"]):
        sys.exit(__doc__)
    wrong = judge(Profile(arguments[0]), knows_landing=len(arguments) == 1)
    for line in wrong[:20]:
        print(f"FAIL: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
