#!/usr/bin/env python3
"""Whether what readers make of one profile in three formats is the same.

    judge_readers.py annotate PPROF CALLGRIND              callgrind_annotate, function by function, to the nanosecond
    judge_readers.py speedscope PPROF CALLGRIND FOLDED     speedscope; the three as speedscope_read.js prints them

What callgrind_annotate takes for a function's inclusive cost must be pprof's cumulative value, under recursion too.

speedscope has the stacks of pprof and of folded files; in the latter in milliseconds, each rounded by less than one. Of
a call graph it makes stacks up, and gives what is less than a ten-thousandth of the heaviest function to its caller:
the total is true, and where functions do not call each other in circles, of which there are none in the profile here,
what each function has itself nearly is.
"""
import json
import re
import subprocess
import sys

import pprof_read

def fail(message):
    sys.exit(f"judge_readers: {message}")


def functions_of(path):
    """Of a pprof file: (itself, cumulative) wall time by name."""
    profile = pprof_read.Profile(path)
    flat, cumulative = profile.flat(), profile.cumulative()
    nothing = [0] * len(pprof_read.TYPES)
    return {name: (flat.get(name, nothing)[pprof_read.WALL], values[pprof_read.WALL])
            for name, values in cumulative.items()}


def shared_names(path):
    """Names of several functions, such as <module> of Python's files: one may call another."""
    profile = pprof_read.Profile(path)
    names = [profile.text(function.name) for function in profile.functions.values()]
    return {name for name in names if names.count(name) > 1}


def annotated(path, inclusive):
    """What callgrind_annotate prints: the program's total, and wall time by name."""
    command = ["callgrind_annotate", f"--inclusive={inclusive}", "--threshold=100", "--show=wall", "--auto=no", path]
    found = {}
    run = subprocess.run(command, text=True, capture_output=True, check=True)
    if run.stderr:
        fail(f"callgrind_annotate complains: {run.stderr}")
    for line in run.stdout.splitlines():
        cost = re.match(r" *([\d,]+) \([ \d.]+%\)  (?:PROGRAM (TOTALS)|[^:]*:(.*) \[.*\])$", line)
        if cost:
            name = cost[2] or cost[3]
            found[name] = found.get(name, 0) + int(cost[1].replace(",", ""))
    return found.pop("TOTALS"), found


def judge_annotate(pprof, callgrind):
    expected = functions_of(pprof)
    total = sum(flat for flat, _ in expected.values())
    shared = shared_names(pprof)
    for inclusive in "no", "yes":
        program, found = annotated(callgrind, inclusive)
        if program != total:
            fail(f"callgrind_annotate has a total of {program}, pprof of {total}")
        for name, values in expected.items():
            value = values[inclusive == "yes"]
            if found.get(name, 0) != value and not (inclusive == "yes" and name in shared):
                fail(f"callgrind_annotate --inclusive={inclusive} has {found.get(name)} for {name}, pprof {value}")
    print(f"callgrind_annotate and pprof agree on {len(expected)} functions and a total of {total} ns")


def profile_of(path, name, unit):
    with open(path, encoding="utf-8") as file:
        profiles = json.load(file)
    if profiles[0]["name"] != name or profiles[0]["unit"] != unit:
        fail(f"{path} is {profiles[0]['name']} in {profiles[0]['unit']}")
    return profiles[0]


def without_thread(stacks):
    """The first frame is left out, stacks that are equal without it are one."""
    merged = {}
    for stack, weight in stacks:
        names = stack.partition(";")[2]
        merged[names] = merged.get(names, 0) + weight
    return merged


def itself(stacks):
    sums = {}
    for stack, weight in stacks.items():
        leaf = stack.rpartition(";")[2]
        sums[leaf] = sums.get(leaf, 0) + weight
    return sums


def compare(what, found, expected, slack):
    for name in found.keys() | expected.keys():
        if abs(found.get(name, 0) - expected.get(name, 0)) > slack:
            fail(f"{what}: {name} has {found.get(name, 0)}, in the pprof file {expected.get(name, 0)}")


def judge_speedscope(pprof, callgrind, folded):
    pprof = profile_of(pprof, "app.pb.gz", "nanoseconds")
    callgrind = profile_of(callgrind, "app.callgrind -- wall", "none")
    folded = profile_of(folded, "app.folded", "none")
    total, stacks = pprof["total"], dict(map(tuple, pprof["stacks"]))
    if callgrind["total"] != total:
        fail(f"the total is {callgrind['total']} in the callgrind file, {total} in the pprof file")
    if folded["total"] != (total + 500000) // 1000000:
        fail(f"the total is {folded['total']} ms in the folded file, {total} ns in the pprof file")
    threads = len({stack.partition(";")[0] for stack, _ in folded["stacks"]})
    in_ns = {stack: weight * 1e6 for stack, weight in without_thread(folded["stacks"]).items()}
    compare("stacks of the folded file", in_ns, stacks, threads * 1e6)
    compare("functions of the callgrind file", itself(without_thread(callgrind["stacks"])), itself(stacks), total * 3e-3)
    print(f"speedscope: {len(stacks)} stacks, a total of {total} ns, {threads} threads")


if __name__ == "__main__":
    {"annotate": judge_annotate, "speedscope": judge_speedscope}[sys.argv[1]](*sys.argv[2:])
