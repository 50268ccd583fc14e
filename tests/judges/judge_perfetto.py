#!/usr/bin/env python3
"""Judges a trace for Perfetto: by the rules of the Trace Event Format, by what `wallprof top` says, and by speedscope.

    judge_perfetto.py FILE [--top TOOL STORE] [--speedscope JSON] [--process NAME] [--state NAME]...

Prints what is wrong. top: of the same recording, thread by thread and state by state. speedscope: what speedscope_read.js
made of FILE. process: how one of the processes is called. state: what somebody is in for some time.
"""

import argparse
import collections
import gzip
import json
import subprocess
import sys

STATES = {"running": "running", "waiting for a CPU": "runnable"}  # else a kind of wait: "blocked"
MOST_OFF_US = 0.125  # of one event
bad = False


def expect(condition, text):
    global bad
    if not condition:
        bad = True
        print("FAIL:", text)
    return condition


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# ---- the file by itself ----


def check_event(event):
    """What the format wants of every event, and what we write."""
    where = json.dumps(event)[:300]
    expect(event["ph"] in ("X", "M"), f"the phase of {where}")
    expect(isinstance(event["name"], str) and event["name"], f"no name: {where}")
    expect(all(isinstance(event[key], int) and 0 < event[key] < 1 << 31 for key in ("pid", "tid")), f"the ids of {where}")
    expect(isinstance(event["args"], dict), f"no args: {where}")
    if event["ph"] == "X":
        expect(is_number(event["ts"]) and is_number(event["dur"]) and event["dur"] > 0, f"the times of {where}")
        expect(event["cat"] == STATES.get(event["name"], "blocked"), f"the category of {where}")
        expect(isinstance(event["args"]["stack"], str), f"no stack: {where}")
    elif event["name"] in ("process_name", "thread_name"):
        expect(isinstance(event["args"]["name"], str), f"no name: {where}")


def tracks(trace):
    """Of each thread, (pid, tid): its events in the order of the file."""
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append(event)
    return found


def tracks_by_tid(trace):
    """A process that executed another program after some time has two tracks, of one tid: their events together."""
    found = collections.defaultdict(list)
    for (_, tid), events in tracks(trace).items():
        found[tid] += events
    return found


def names(trace, kind):
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in trace["traceEvents"] if event["name"] == kind}


def check_tracks(trace):
    """A track's events begin where the one before ends, or later: they neither overlap nor lie in each other."""
    named, of_processes = names(trace, "thread_name"), {pid for pid, _ in names(trace, "process_name")}
    for (pid, tid), events in tracks(trace).items():
        expect((pid, tid) in named and pid in of_processes, f"thread {tid} of {pid} has no name, or its process has none")
        at = events[0]["ts"]
        for event in events:
            expect(event["ts"] >= at, f"{named.get((pid, tid))}: {event['name']} begins at {event['ts']} us, before {at}")
            at = event["ts"] + event["dur"]


def sums(events):
    """(us by state, how many events)"""
    found = collections.Counter()
    for event in events:
        found[event["name"]] += event["dur"]
    return found


# ---- against the tool ----


def top_of(tool, store, tid):
    run = subprocess.run([tool, "top", "--json", "--idle", "--thread", str(tid), store], check=True, capture_output=True)
    report = json.loads(run.stdout)
    found = {"waiting for a CPU" if kind == "cpu" else kind: ns / 1e3 for kind, ns in report["waits_ns"].items()}
    return {"running": report["selected"]["cpu_ns"] / 1e3, **found}


def check_top(trace, tool, store):
    whole = json.loads(subprocess.run([tool, "top", "--json", "--idle", store], check=True, capture_output=True).stdout)
    found = tracks_by_tid(trace)
    threads = {(thread["tid"], thread["name"]) for thread in whole["threads"]}
    expect(threads <= {(tid, name) for (_, tid), name in names(trace, "thread_name").items()}, f"not the threads {threads}")
    for tid, events in found.items():
        ours, theirs = sums(events), top_of(tool, store, tid)
        for state in {*ours, *theirs}:
            expect(abs(ours[state] - theirs.get(state, 0)) <= MOST_OFF_US * (len(events) + 1),
                   f"thread {tid}: {state} for {ours[state]} us, top says {theirs.get(state, 0)}")
    print(f"{len(found)} threads, {sum(map(len, found.values()))} events: top says the same of each state")


# ---- against speedscope ----


def check_speedscope(trace, path):
    """It has a profile for each thread, and calls an event by its name and its args. An event inside another would be a
    longer stack."""
    with open(path, encoding="utf-8") as file:
        theirs = collections.defaultdict(list)
        for profile in json.load(file):
            theirs[int(profile["name"].rsplit("(tid ", 1)[1].rstrip(")"))] += profile["stacks"]
    for tid, events in tracks_by_tid(trace).items():
        if not expect(tid in theirs, f"speedscope lacks the thread {tid}"):
            continue
        found = collections.Counter()
        for stack, us in theirs[tid]:
            expect(stack.count(' {"function"') <= 1, f"speedscope has an event in another: {stack[:200]}")
            if stack:
                found[stack.split(" {", 1)[0]] += us
        for state, us in sums(events).items():
            expect(abs(found[state] - us) < 0.01, f"{tid}: {state} for {us} us, speedscope says {found[state]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--top", nargs=2)
    parser.add_argument("--speedscope")
    parser.add_argument("--process", action="append", default=[])
    parser.add_argument("--state", action="append", default=[])
    options = parser.parse_args()
    opener = gzip.open if options.file.endswith(".gz") else open
    with opener(options.file, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    expect(trace["displayTimeUnit"] in ("ms", "ns"), "the unit that times are shown in")
    for event in trace["traceEvents"]:
        check_event(event)
    check_tracks(trace)
    for name in options.process:
        expect(name in names(trace, "process_name").values(), f"no process {name}: {names(trace, 'process_name')}")
    all_sums = sum((sums(events) for events in tracks(trace).values()), collections.Counter())
    for state in options.state:
        expect(all_sums[state] > 0, f"nobody is in {state}: {all_sums}")
    if options.top:
        check_top(trace, *options.top)
    if options.speedscope:
        check_speedscope(trace, options.speedscope)
    return bad


sys.exit(main())
