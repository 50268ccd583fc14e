#!/usr/bin/env python3
"""Compares a profile of target_stacks with how the program's functions call each other.

    judge_stacks.py PROFILE [KIND...]

The samples of each kind's thread must show the chain below, whole, from the function that it spends its time in
out to where the thread began. The samples of its beginning and end are not counted. They are whole as well, and have no
function of the chain further in than life_KIND. How many they are depends on how crowded the machine is. Of the counted
samples 99 in 100 must show the chain; where they are few, all but three.
Functions of other files than the program's are one "*", however many they are.
"""

import collections
import re
import sys

from pprof_read import SAMPLES, WALL, Profile

START = "run_kind < *"  # start_thread, clone3
LEAST_SHARE = 0.99
LEAST_SAMPLES = 20
EDGE_SAMPLES = 3
SILENT = ["[not responding]"]

# What is found in a kind's thread. Of a hammered function the callees, here before "..", are of several kinds.
CHAINS = {
    "alloca": f"spin_alloca < frame_alloca < life_alloca < {START}",
    "vla": f"spin_vla < frame_vla < life_vla < {START}",
    "aligned": f"spin_aligned < frame_aligned < life_aligned < {START}",
    "aligned_alloca": f"spin_aligned_alloca < frame_aligned_alloca < life_aligned_alloca < {START}",
    "large": f"spin_large < frame_large < life_large < {START}",
    "s_alloca": f"[short_alloca, use, *] hammer_alloca < life_short_alloca < {START}",
    "s_aligned": f"[short_aligned, use, *] hammer_aligned < life_short_aligned < {START}",
    "s_both": f"[short_aligned_alloca, use, *] hammer_aligned_alloca < life_short_aligned_alloca < {START}",
    "s_registers": f"[short_registers, use, *] hammer_registers < life_short_registers < {START}",
    "s_cold": f"[short_cold, use, *] hammer_cold < life_short_cold < {START}",
    "s_tail": f"[short_tail, short_registers, use, *] hammer_tail < life_short_tail < {START}",
    "s_plt": f"[htonl@plt, *] hammer_plt < life_short_plt < {START}",
    "tail": f"spin_tail < tail_second < life_tail < {START}",
    "noreturn": f"spin_noreturn < never_return < end_in_call < life_noreturn < {START}",
    "longjmp": f"spin_longjmp < life_longjmp < {START}",
    "compare": f"spin_compare < compare < * < life_compare < {START}",
    "cleanup": f"spin_cleanup < clean_up < leave_thread < life_cleanup < {START}",
    "vfork": f"[*] wait_in_vfork < life_vfork < {START}",  # what it calls is a hook of ours, and not shown
    "coroutine": "spin_coroutine < coroutine_deeper < coroutine_body < *",
    "small": "spin_small < small_body < *",
    "switch": f"[*, swapcontext@plt] switch_body < *|[*, swapcontext@plt] hammer_switch < life_switch < {START}",
    "handler": f"spin_handler < on_fault < * < stumble < life_handler < {START}",
    "sigaltstack": f"spin_sigaltstack < on_fault_elsewhere < * < stumble < life_sigaltstack < {START}",
    "nested": "spin_nested < on_third < * < on_second < * < on_first < * < stumble < life_nested < " + START,
    "co_handler": "spin_coroutine_handler < on_fault_in_coroutine < * < stumble < stumbling_body < *",
    "scratch": f"spin_scratch < frame_scratch < life_scratch < {START}",
    "indexed": f"spin_indexed < life_indexed < {START}",
    "bare_call": f"spin_bare_inner < bare_outer < life_bare_call < {START}",
    "bare": f"spin_bare < frame_bare < life_bare < {START}",
    "key": "spin_key < destroy_key < *",
    "constructor": f"spin_constructor < * < life_constructor < {START}",
    "resolver": f"spin_resolver < * < life_resolver < {START}",
    "destructor": f"spin_destructor < * < life_destructor < {START}",
}
IN_MAIN = "spin_atexit < at_exit < *"  # in the main thread, which waits before
FEW_SAMPLES = {"vfork"}  # the kernel does not let the waiting thread reply: one sample stands for all of its time


def chain_of(profile, sample):
    """The functions of a sample, innermost first, those of other files as one *."""
    chain = []
    for id in sample.location_id:
        location = profile.locations[id]
        for name in profile.names_of(location):
            if name == "__morestack":  # -fsplit-stack: between a function and its caller, on another stack
                continue
            own = profile.file_of(location) == profile.file_of_main() or not location.mapping_id
            if not own or name in ("_start", "__start_context"):
                name = "*"
            if name != "*" or chain[-1:] != ["*"]:
                chain.append(name)
    return chain


def fits(chain, expected):
    if "|" in expected:
        return any(fits(chain, choice) for choice in expected.split("|"))
    callees, chain = [], list(chain)
    if expected.startswith("["):
        allowed, expected = expected[1:].split("] ")
        callees = allowed.split(", ")
    outer = expected.split(" < ")
    inner = chain[: -len(outer)]
    return chain[-len(outer) :] == outer and all(name in callees for name in inner)


def is_edge(chain, kind):
    """Whether these are the calls of the thread's beginning or end: the program's own are run_kind and life_KIND, or
    what those call that the chain does not have."""
    inner = set(re.findall(r"[\w@]+", CHAINS[kind])) - {"run_kind"}
    inner = {name for name in inner if not name.startswith("life_")}
    return not inner & set(chain)


def judge_kind(kind, samples, profile):
    """What is wrong with a kind, given its thread's samples."""
    value = WALL if kind in FEW_SAMPLES else SAMPLES
    chains = collections.Counter()
    good = total = silent = 0
    for sample in samples:
        chain = chain_of(profile, sample)
        if chain == SILENT:  # it had no CPU to reply on: no stack was walked
            silent += sample.value[value]
            continue
        is_whole = profile.reaches_root(sample)
        if is_whole and not fits(chain, CHAINS[kind]) and is_edge(chain, kind):
            continue
        total += sample.value[value]
        if fits(chain, CHAINS[kind]) and is_whole:
            good += sample.value[value]
        else:
            chains[" < ".join(chain)] += sample.value[value]
    share = good / max(total, 1)
    print(f"{kind}: {100 * share:.2f} % of {total}")
    wrong = []
    if silent > total:
        wrong.append(f"{kind}: {silent} requests had no reply")
    if total < LEAST_SAMPLES:
        wrong.append(f"{kind}: {total} samples are too few to judge by")
    if share < LEAST_SHARE and total - good > EDGE_SAMPLES:
        wrong.append(f"{kind}: {100 * share:.2f} % of its samples are {CHAINS[kind]}")
        wrong += [f"{kind}:     {count} {chain}" for chain, count in chains.most_common(4)]
    return wrong


def judge_main(profile):
    samples = [sample for sample in profile.message.sample if "spin_atexit" in profile.stack(sample)]
    if not samples:
        return ["spin_atexit is not there"]
    chains = {" < ".join(chain_of(profile, sample)) for sample in samples}
    chains |= {"not to the root" for sample in samples if not profile.reaches_root(sample)}
    return [f"atexit: {chain}" for chain in chains - {IN_MAIN}]


def judge(profile, kinds):
    by_thread = collections.defaultdict(list)
    for sample in profile.message.sample:
        by_thread[profile.thread(sample)[1]].append(sample)
    wrong = judge_main(profile)
    for kind in kinds:
        wrong += judge_kind(kind, by_thread[kind], profile)
    return wrong


def main(arguments):
    if not arguments or not set(arguments[1:]) <= set(CHAINS):
        sys.exit(__doc__)
    wrong = judge(Profile(arguments[0]), arguments[1:] or CHAINS)
    for line in wrong:
        print(f"FAIL: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
