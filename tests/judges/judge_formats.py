#!/usr/bin/env python3
"""judge_formats.py BASE TOOL: whether one recording says the same in every format: BASE.pb.gz, .callgrind, .folded, .html,
.json.gz (Firefox) and .store, and what TOOL top says of the store.

pprof's file is the measure, by thread and stack of names, and of that by function, itself and cumulative. To the
nanosecond: callgrind (its threads are by name), the page's data, top. What is waited for is the same in pprof's labels, the page and top. Folded is wall time in milliseconds, each stack
off by less than one, the file by half of one at most. Firefox has times and ticks instead: of it every stack must be
one of that thread's in pprof, and the threads must be the same.
"""
import base64
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import zlib

import pprof_read

WALL, OFFCPU = pprof_read.WALL, pprof_read.OFFCPU
NS_PER_MS = 1000000
KEYS = ("samples", "cpu_ns", "offcpu_ns", "wall_ns")


def fail(message):
    sys.exit(f"judge_formats: {message}")


def same(what, found, expected):
    """Of tables: key -> values. What is nothing need not be there."""
    for key in sorted(set(found) | set(expected), key=str):
        nothing = [0] * len(KEYS)
        if list(found.get(key, nothing)) != list(expected.get(key, nothing)):
            fail(f"{what}: {key} has {found.get(key)}, pprof {expected.get(key)}")


def summed(pairs):
    sums = collections.defaultdict(lambda: [0] * len(KEYS))
    for key, values in pairs:
        pprof_read.add(sums[key], values)
    return dict(sums)


def by_stack(path):
    """(tid, thread, names from the root inwards) -> values."""
    profile = pprof_read.Profile(path)
    return summed(((*profile.thread(sample), *reversed(profile.stack(sample))), sample.value)
                  for sample in profile.message.sample)


def threads(stacks):
    return summed((stack[:2], values) for stack, values in stacks.items())


def flat(stacks):
    return summed((stack[-1], values) for stack, values in stacks.items())


def cumulative(stacks):
    return summed((name, values) for stack, values in stacks.items() for name in set(stack[2:]))


# ---- the page ----


def columns_of(data):
    """Of each tree: up, location, samples, cpu, offcpu, wait and run delay of its nodes; checks its blame. src/tool/formats/html_numbers.h"""
    strings = [each["numbers"] for each in [*data["trees"], data]]
    numbers = varints(zlib.decompress(b"".join(base64.b64decode(text + "=" * (-len(text) % 4)) for text in strings)))
    has_delay = len(data["total"]) > 4
    for tree in data["trees"]:
        columns = [column(numbers, tree["nodes"]) for _ in range(7 if has_delay else 6)]
        blame = sum(column(numbers, tree["nodes"])) if "blame" in tree else 0
        if blame != int(tree.get("blame", 0)):
            fail(f"the blame of {tree.get('name')} is {tree['blame']}, its nodes have {blame}")
        yield columns if has_delay else [*columns, [0] * tree["nodes"]]
        for _ in range(4 if tree.get("has_changes") else 0):
            column(numbers, tree["nodes"])
        skip_times(numbers, tree, 3 if has_delay else 2)


def skip_times(numbers, tree, kinds):
    """When the time of the nodes was spent: src/tool/formats/html_times.h"""
    if "times" not in tree:
        return
    counts = column(numbers, tree["nodes"])
    if sum(counts) != tree["times"]:
        fail(f"the nodes of {tree.get('name')} have {sum(counts)} times, not {tree['times']}")
    column(numbers, tree["times"])
    for _ in range(kinds):
        column(numbers, tree["times"] - sum(count > 0 for count in counts))


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def column(numbers, count):
    values = []
    while len(values) < count:
        value = next(numbers)
        values += [value] if value else [0] * (next(numbers) + 1)
    return values


def page_of(path):
    """Values by stack, and off-CPU time by what was waited for: a CPU, or what the node waits for."""
    with open(path, encoding="utf-8") as file:
        data = json.loads(re.search(r'<script type="application/json" id="profile">\n?(.*?)</script>', file.read(), re.S)[1])
    names = [data["strings"][data["functions"][i]] for i in range(0, len(data["functions"]), 3)]
    frames = [[names[function] for function in reversed(location[1::2])] for location in data["locations"]]
    pairs, waits = [], collections.Counter()
    for tree, columns in zip(data["trees"], columns_of(data)):
        path_ = []
        for up, location, samples, cpu, offcpu, wait, delay in zip(*columns):
            waits["cpu"] += delay
            waits[data["waits"][wait]] += offcpu - delay
            path_[len(path_) - up :] = [frames[location]]
            pairs.append(((tree.get("id", 0), tree.get("name", ""), *(name for each in path_ for name in each)),
                          [samples, cpu, offcpu, cpu + offcpu]))
        same_total = summed((0, values) for stack, values in pairs if stack[0] == tree.get("id", 0))
        if [int(digits) for digits in tree["total"][:4]] != same_total.get(0, [0] * 4):
            fail(f"the page's total of {tree.get('name')} is {tree['total']}, its nodes have {same_total}")
    if int(data["idle"][OFFCPU]) != waits["idle"]:  # of which no part is a wait for a CPU
        fail(f"the page says that {data['idle'][OFFCPU]} ns are idle, its nodes have {waits['idle']}")
    return {stack: values for stack, values in summed(pairs).items() if any(values)}, waits


def judge_page(path, pprof, stacks):
    found, waits = page_of(path)
    same("html", found, stacks)
    judge_waits("html", waits, pprof)


# ---- waits ----


def judge_waits(what, found, path):
    """found: ns by word. What was not seen has no label in pprof, and nor has a wait for a CPU."""
    profile = pprof_read.Profile(path)
    labelled = collections.Counter()
    for sample in profile.message.sample:
        labelled["cpu"] += sample.rundelay
        labelled[profile.label(sample, "wait") or "not seen"] += sample.value[OFFCPU] - sample.rundelay
    if +labelled != +collections.Counter(found):
        fail(f"{what}: {dict(found)} are waited, in pprof {dict(labelled)}")


# ---- callgrind ----


# A function is one of its object, file and name there: of a name there may be several on one stack.


def functions_of(path):
    """By function, itself and cumulative, of pprof."""
    profile = pprof_read.Profile(path)

    def stack(sample):
        for location in map(profile.locations.get, sample.location_id):
            for line in location.line:
                function = profile.functions[line.function_id]
                yield (profile.file_of(location) or "???", profile.text(function.filename) or "???", profile.text(function.name))

    samples = profile.message.sample
    return (summed((next(stack(sample)), sample.value) for sample in samples),
            summed((function, sample.value) for sample in samples for function in set(stack(sample))))


class Callgrind:
    """Costs by function, as a reader of the format adds them up."""

    def __init__(self, path):
        self.names, self.pairs, self.called, self.threads = {}, [], [], []
        self.summary = None
        at = {}  # the names in force, by their keys
        is_call = False
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, _, rest = line.partition("=")
                if line.startswith("summary: "):
                    self.summary = self.values(line.split()[1:])
                elif key in ("ob", "fl", "fn", "cob", "cfi", "cfn"):
                    at[key] = self.name(key, rest)
                elif key == "calls":
                    is_call = True
                elif line[:1].isdigit():
                    self.take(at, is_call, self.values(line.split()[1:]))
                    is_call = False

    def take(self, at, is_call, values):
        caller = at["ob"], at["fl"], at["fn"]
        if not is_call:
            self.pairs.append((caller, values))
            return
        self.called.append(((at["cob"], at["cfi"], at["cfn"]), values))
        if at["fn"].startswith("[thread "):
            self.threads.append((at["fn"], values))

    def name(self, key, text):
        kind = {"cob": "ob", "cfi": "fl", "cfn": "fn"}.get(key, key)
        number, _, name = text.strip().partition(" ")
        return self.names.setdefault((kind, number), name)

    @staticmethod
    def values(words):
        wall, samples, cpu, offcpu = map(int, words[:4])  # and run delay, where it is known
        return [samples, cpu, offcpu, wall]


def judge_callgrind(path, pprof, stacks):
    file = Callgrind(path)
    itself, inclusive = functions_of(pprof)
    same("callgrind's summary", {0: file.summary}, summed((0, values) for values in stacks.values()))
    same("callgrind, itself", summed(file.pairs), itself)
    same("callgrind, calls", summed(file.called), inclusive)
    same("callgrind, threads", summed(file.threads), summed((f"[thread {stack[1]}]", values) for stack, values in stacks.items()))


# ---- folded ----


def judge_folded(path, stacks):
    wall = collections.Counter()
    for stack, values in stacks.items():
        tid, thread, *names = stack
        wall[";".join([f"[{thread} tid={tid}]", *(name.replace(";", ":") for name in names)])] += values[WALL]
    found = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            if stack in found:
                fail(f"folded has {stack} twice")
            found[stack] = int(count) * NS_PER_MS
    for stack in set(wall) | set(found):
        if abs(wall[stack] - found[stack]) >= NS_PER_MS:
            fail(f"folded has {found[stack]} ns for {stack}, pprof {wall[stack]}")
    if 2 * abs(sum(wall.values()) - sum(found.values())) > NS_PER_MS:
        fail(f"folded has {sum(found.values())} ns together, pprof {sum(wall.values())}")


# ---- Firefox ----


def stacks_of_firefox(path):
    """((tid, thread), the set of its stacks) of every thread, without the frames that stand for a state: "(lock)"."""
    with gzip.open(path) as file:
        profile = json.load(file)
    shared = profile["shared"]
    stack_table, frame_table = shared["stackTable"], shared["frameTable"]
    names = []
    for frame, offset in zip(stack_table["frame"], stack_table["prefixOffset"]):
        name = shared["stringArray"][shared["funcTable"]["name"][frame_table["func"][frame]]]
        is_state = re.fullmatch(r"\([a-zA-Z ]+\)", name)
        names.append((names[len(names) - offset] if offset else ()) + (() if is_state else (name,)))
    for thread in profile["threads"]:
        used = {names[stack] for stack in thread["samples"]["stack"] if stack is not None}
        yield (int(thread["tid"]), thread["name"]), used


def judge_firefox(path, stacks):
    of_thread = collections.defaultdict(set)
    for stack in stacks:
        of_thread[stack[:2]].add(stack[2:])
    found = dict(stacks_of_firefox(path))
    missing = set(of_thread) - set(found)
    if missing:
        fail(f"firefox lacks the threads {missing}")
    for thread, used in found.items():
        strange = used - of_thread[thread]
        if strange:
            fail(f"firefox has a stack of {thread} that pprof has not: {strange.pop()}")
    return sum(map(len, found.values()))


# ---- the tool ----


def values_of(table):
    return [table[key] for key in KEYS]


def by_title(path):
    """As by_stack, with the place where a script's function begins."""
    profile = pprof_read.Profile(path)

    def title(location, line):
        function = profile.functions[line.function_id]
        name, file = profile.text(function.name), profile.text(function.filename)
        if location.mapping_id or not file:
            return name
        return f"{name} {os.path.basename(file)}" + (f":{function.start_line}" if function.start_line else "")

    def stack(sample):
        return [title(location, line) for location in map(profile.locations.get, sample.location_id) for line in location.line]

    return summed(((*profile.thread(sample), *reversed(stack(sample))), sample.value) for sample in profile.message.sample)


def judge_top(tool, path, pprof):
    stacks = by_title(pprof)
    run = subprocess.run([tool, "top", "--json", "--by", "leaf", "--idle", "-n", "0", path], check=True, capture_output=True)
    report = json.loads(run.stdout)
    same("top's total", {0: values_of(report["total"])}, summed((0, values) for values in stacks.values()))
    same("top, itself", {row["name"]: values_of(row["flat"]) for row in report["rows"]}, flat(stacks))
    same("top, cumulative", {row["name"]: values_of(row["cum"]) for row in report["rows"]}, cumulative(stacks))
    same("top, threads", summed(((thread["tid"], thread["name"]), values_of(thread["total"])) for thread in report["threads"]),
         threads(stacks))
    judge_waits("top", report["waits_ns"], pprof)


def main(base, tool):
    stacks = by_stack(base + ".pb.gz")
    judge_page(base + ".html", base + ".pb.gz", stacks)
    judge_callgrind(base + ".callgrind", base + ".pb.gz", stacks)
    judge_folded(base + ".folded", stacks)
    timed = judge_firefox(base + ".json.gz", stacks)
    judge_top(tool, base + ".store", base + ".pb.gz")
    print(f"all formats agree on {len(stacks)} stacks of {len(threads(stacks))} threads, {len(cumulative(stacks))} functions, "
          f"{sum(values[WALL] for values in stacks.values())} ns; {timed} stacks with times")


main(*sys.argv[1:])
