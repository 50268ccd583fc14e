#!/usr/bin/env python3
"""Compares a Firefox profile with its own numbers, with what the released reader made of it, and with the truth.

    judge_firefox.py FILE READ [--truth REPORT] [--same-as PPROF] [--top JSON] [--thinned] [--title NAME] [--process NAME]
                     [--marker NAME[=PART]] [--category NAME]
    judge_firefox.py --pprof FILE

READ is a directory of e2e_firefox.sh's with the reader's answers. truth: what target_threads printed. same-as: a
pprof file of the same recording. A thread weighs as many milliseconds as it lives; CPU times are equal to the nanosecond.
top: what `wallprof top --json --idle` says of the recording; the markers of each kind of wait add up to that. The last one
is about pprof files with times.
"""

import argparse
import gzip
import json
import os
import re
import sys

bad = False


def complain(text):
    global bad
    bad = True
    print("FAIL:", text)


def expect(condition, text):
    if not condition:
        complain(text)


# ---- the file by itself ----


def tables(profile):
    shared = profile["shared"]
    for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"):
        yield name, shared[name]
    for thread in profile["threads"]:
        yield "samples", {key: column for key, column in thread["samples"].items() if key != "weightType"}
        yield "markers", thread["markers"]


def check_tables(profile):
    for name, table in tables(profile):
        for key, column in table.items():
            if key != "length":
                expect(len(column) == table["length"], f"{name}.{key} has {len(column)} cells, not {table['length']}")


def check_indices(profile):
    shared = profile["shared"]
    sizes = {name: shared[name]["length"] for name in shared if name != "stringArray"}
    sizes["strings"] = len(shared["stringArray"])

    def within(column, size, what):
        wrong = [index for index in column if index not in (None, -1) and not 0 <= index < size]
        expect(not wrong, f"{what} has {wrong[:3]}, of {size}")

    within(shared["stackTable"]["frame"], sizes["frameTable"], "stackTable.frame")
    within(shared["frameTable"]["func"], sizes["funcTable"], "frameTable.func")
    within(shared["frameTable"]["nativeSymbol"], sizes["nativeSymbols"], "frameTable.nativeSymbol")
    within(shared["frameTable"]["category"], len(profile["meta"]["categories"]), "frameTable.category")
    within(shared["funcTable"]["name"], sizes["strings"], "funcTable.name")
    within(shared["funcTable"]["resource"], sizes["resourceTable"], "funcTable.resource")
    within(shared["funcTable"]["source"], sizes["sources"], "funcTable.source")
    within(shared["resourceTable"]["lib"], len(profile["libs"]), "resourceTable.lib")
    within(shared["nativeSymbols"]["libIndex"], len(profile["libs"]), "nativeSymbols.libIndex")
    within(profile["meta"]["initialVisibleThreads"], len(profile["threads"]), "initialVisibleThreads")
    for i, offset in enumerate(shared["stackTable"]["prefixOffset"]):
        expect(0 <= offset <= i, f"stack {i} has a prefix at {i - offset}")
    for thread in profile["threads"]:
        within(thread["samples"]["stack"], sizes["stackTable"], "samples.stack")


def check_times(profile):
    for thread in profile["threads"]:
        times, begin, end = thread["samples"]["time"], thread["registerTime"], thread["unregisterTime"]
        expect(times == sorted(times), f"{thread['name']}: samples are not in order")
        expect(times[0] == begin and times[-1] <= end + 0.001, f"{thread['name']}: samples outside its life")
    for lib in profile["libs"]:
        expect(re.fullmatch("[0-9A-F]{32}0", lib["breakpadId"]), f"{lib['name']}: breakpadId {lib['breakpadId']}")
        expect(re.fullmatch("([0-9a-f]{2})+", lib["codeId"] or "00"), f"{lib['name']}: codeId {lib['codeId']}")


# ---- against the reader ----


def read(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        return json.load(file)


def check_reader(profile, directory):
    theirs = {thread["threadIndex"]: thread for thread in read(directory, "threads.json")["threads"]}
    expect(len(theirs) == len(profile["threads"]), f"the reader has {len(theirs)} threads")
    for i, thread in enumerate(profile["threads"]):
        samples, other = thread["samples"], theirs[i]
        expect(other["name"] == thread["name"] and other["tid"] == thread["tid"], f"thread {i} is {other['name']} there")
        cpu_ms = sum(samples["threadCPUDelta"]) / 1e6
        expect(abs(other["cpuMs"] - cpu_ms) < 0.01, f"{thread['name']}: {cpu_ms} ms of CPU, there {other['cpuMs']}")
        answer = read(directory, other["threadHandle"] + ".json")
        weight = sum(function["selfSamples"] for function in answer["topFunctionsBySelf"])
        expect(answer["weightType"] == "tracing-ms", "weights are not milliseconds there")
        expect(abs(weight - sum(samples["weight"])) < 0.01, f"{thread['name']}: weight {sum(samples['weight'])}, there {weight}")
        markers = read(directory, other["threadHandle"] + "-markers.json")
        expect(markers["totalMarkerCount"] == thread["markers"]["length"],
               f"{thread['name']}: {thread['markers']['length']} markers, there {markers['totalMarkerCount']}")


def texts(profile, data):
    """A marker's data with its strings in place of their numbers."""
    strings = profile["shared"]["stringArray"]
    return {key: strings[value] if key in ("kind", "function") else value for key, value in data.items()}


def check_markers(profile, wanted):
    """In the process's first thread, or, of waits, in any."""
    for name, _, part in (text.partition("=") for text in wanted):
        threads = profile["threads"] if name == "Wait" else profile["threads"][:1]
        found = [data for thread in threads for data in thread["markers"]["data"]
                 if data["type"] == name and part in json.dumps(texts(profile, data))]
        expect(found, f"no marker {name} with {part or 'anything'}")


def waits_of(profile, thread):
    """ns by kind; and each one's times are in order and in the thread's life."""
    markers, sums, last = thread["markers"], {}, thread["registerTime"]
    for data, begin, end in zip(markers["data"], markers["startTime"], markers["endTime"]):
        if data["type"] != "Wait":
            continue
        expect(begin >= last - 1e-5, f"{thread['name']}: a wait begins at {begin} ms, before the end of another at {last}")
        kind = texts(profile, data)["kind"]
        sums[kind] = sums.get(kind, 0) + (end - begin) * 1e6
        last = end
    expect(thread["unregisterTime"] is None or last <= thread["unregisterTime"] + 0.001,
           f"{thread['name']}: a wait ends at {last} ms, after {thread['unregisterTime']}")
    return sums


def check_top(profile, path):
    """Of all threads kind by kind, and of each thread what it waited for. Milliseconds are written to the nanosecond, and
    read as doubles."""
    with open(path, encoding="utf-8") as file:
        top = json.load(file)
    expected, sums = top["waits_ns"], {}
    totals = {(thread["name"], thread["tid"]): thread["total"] for thread in top["threads"]}
    for thread in profile["threads"]:
        waits = waits_of(profile, thread)
        total = totals.get((thread["name"], thread["tid"]), {"offcpu_ns": 0, "wall_ns": 0})
        expect(abs(sum(waits.values()) - total["offcpu_ns"]) < 1000,
               f"{thread['name']}: waits for {sum(waits.values())} ns, top says {total['offcpu_ns']}")
        for kind, ns in waits.items():
            sums[kind] = sums.get(kind, 0) + ns
    for kind in sorted({*expected, *sums}):
        expect(abs(sums.get(kind, 0) - expected.get(kind, 0)) < 1000,
               f"{kind}: {sums.get(kind, 0)} ns, top says {expected.get(kind, 0)}")


# ---- against the truth ----


def header(profile):
    return [entry["value"] for entry in profile["meta"]["extra"][0]["entries"]]


def check_same(profile, path):
    """Thread by thread, by name and id."""
    from pprof_read import CPU, WALL, Profile

    sums = Profile(path).threads()
    expect(len(sums) == len(profile["threads"]), f"{len(profile['threads'])} threads, there {len(sums)}")
    for thread in profile["threads"]:
        name, values = thread["name"], sums.get((thread["tid"], thread["name"]), [0] * 4)
        cpu_ns, weight = sum(thread["samples"]["threadCPUDelta"]), sum(thread["samples"]["weight"])
        expect(cpu_ns == values[CPU], f"{name}: {cpu_ns} ns of CPU, there {values[CPU]}")
        expect(abs(weight * 1e6 - values[WALL]) < 1000, f"{name}: weighs {weight} ms, there {values[WALL]} ns")


def check_truth(profile, path):
    """Every thread is there with its name and id, and for as long as it says; the sampler may see the end of one that no
    hook sees later than that, as late as it was kept from sampling."""
    by_id = {(thread["name"], thread["tid"]): thread for thread in profile["threads"]}
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    lives = [words for words in lines if words[0] == "thread"]
    expect(lives, "nothing is known of any thread")
    late_ms = 100 + sum(int(words[1]) / 1e6 for words in lines if words[0] in ("late", "frozen"))
    for _, name, tid, life_ns, *_ in lives:
        thread = by_id.get((name, int(tid)))
        if not thread:
            complain(f"no thread {name} {tid}")
            continue
        there_ms = thread["unregisterTime"] - thread["registerTime"]
        expect(int(life_ns) / 1e6 - 1 <= there_ms <= int(life_ns) / 1e6 + late_ms, f"{name} lives {there_ms} ms, not {int(life_ns) / 1e6}")


def check_thinned(profile, is_thinned):
    said = [line for line in header(profile) if line.startswith("timeline: full")]
    expect(bool(said) == is_thinned, f"it says {said}")


def used_categories(profile):
    shared, used = profile["shared"], set()
    for thread in profile["threads"]:
        for stack in set(thread["samples"]["stack"]) - {None}:
            category = shared["frameTable"]["category"][shared["stackTable"]["frame"][stack]]
            used.add(profile["meta"]["categories"][category]["name"])
    return used


# ---- pprof ----


def check_pprof(path):
    """Every sample of a thread has a time, within the recording."""
    from pprof_read import SAMPLES, Profile

    profile = Profile(path)
    strings, timed = profile.message.string_table, 0
    begin, span = profile.message.time_nanos, profile.message.duration_nanos
    for sample in profile.message.sample:
        times = [label for label in sample.label if strings[label.key] == "end_timestamp_ns"]
        expect(len(times) == 1 or not sample.value[SAMPLES], "a sample with a count has no time")
        for label in times:
            timed += 1
            expect(strings[label.num_unit] == "nanoseconds", f"unit {strings[label.num_unit]}")
            expect(begin <= label.num <= begin + span, f"time {label.num} is outside the recording")
    expect(timed > 100, f"{timed} samples have times")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    parser.add_argument("read", nargs="?")
    parser.add_argument("--pprof")
    parser.add_argument("--truth")
    parser.add_argument("--same-as")
    parser.add_argument("--top")
    parser.add_argument("--title")
    parser.add_argument("--process", action="append", default=[])
    parser.add_argument("--thinned", action="store_true")
    parser.add_argument("--marker", action="append", default=[])
    parser.add_argument("--category", action="append", default=[])
    options = parser.parse_args()
    if options.pprof:
        check_pprof(options.pprof)
        return bad
    with gzip.open(options.file, "rt", encoding="utf-8") as file:
        profile = json.load(file)
    check_tables(profile)
    check_indices(profile)
    check_times(profile)
    check_reader(profile, options.read)
    check_markers(profile, options.marker)
    check_thinned(profile, options.thinned)
    if options.truth:
        check_truth(profile, options.truth)
    if options.title:
        expect(profile["meta"]["product"] == options.title, f"it is called {profile['meta']['product']}")
    missing = set(options.process) - {thread["processName"] for thread in profile["threads"]}
    expect(not missing, f"no processes {missing}")
    if options.top:
        check_top(profile, options.top)
    if options.same_as:
        check_same(profile, options.same_as)
    missing = set(options.category) - used_categories(profile)
    expect(not missing, f"nothing is in {missing}, only in {used_categories(profile)}")
    return bad


sys.exit(main())
