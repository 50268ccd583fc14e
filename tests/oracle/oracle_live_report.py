#!/usr/bin/env python3
"""Adds up what oracle_live.c found in the processes of one program.

    oracle_live_report.py count FILE...                   the number of stacks
    oracle_live_report.py row NAME ROOT% DIFFERENT% FILE...  a line of the table; fails when a limit is missed
    oracle_live_report.py why FILE... [--groups=N]        the largest groups of stacks that disagree or end early

ROOT% is the least share of stacks that must reach the root, DIFFERENT% the greatest that may differ from
libunwind's in a frame that both have.
"""
import bisect
import collections
import os
import re
import subprocess
import sys

HEADER = f"{'program':10} {'stacks':>8} {'frames':>6} {'equal %':>8} {'root %':>8} " \
         f"{'shorter':>8} {'theirs sh.':>10} {'caller+':>7} {'different':>9} {'full':>6} {'shared %':>8} {'cache diff':>9} " \
         f"{'outside':>7} {'whole %':>7} {'by dist.':>8} {'out. diff':>9}"


class Maps:
    """Names for the addresses of one process."""

    def __init__(self):
        self.maps = []

    def add(self, line):
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \S+ *(.*)", line)
        start, end, offset = (int(match[i], 16) for i in (1, 2, 4))
        self.maps.append((start, end, match[3], offset, match[5]))

    def find(self, address):
        at = bisect.bisect_right(self.maps, (address, float("inf"))) - 1
        return self.maps[at] if at >= 0 and address < self.maps[at][1] else None

    def name(self, address):
        found = self.find(address)
        if not found:
            return f"{address:x} [not mapped]"
        start, _, rights, offset, path = found
        if not path.startswith("/"):
            return f"{address:x} [{path or 'anonymous'} {rights}]"
        value = file_address(path, address - start + offset)
        return f"{symbol(path, value)} {os.path.basename(path)}+{value:x}" + ("" if "x" in rights else f" {rights}")


CACHE = {}


def cached(function):
    def call(*key):
        if (function, key) not in CACHE:
            CACHE[function, key] = function(*key)
        return CACHE[function, key]
    return call


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    return done.stdout


@cached
def segments(path):
    pattern = r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)"
    return [[int(x, 16) for x in match] for match in re.findall(pattern, output_of("readelf", "-lW", path))]


def file_address(path, offset):
    for file_offset, address, size in segments(path):
        if file_offset <= offset < file_offset + size:
            return offset - file_offset + address
    return offset


@cached
def symbols(path):
    found = {}
    for kind in ("-D", "-a"):
        for line in output_of("nm", "-C", kind, "--defined-only", path).splitlines():
            match = re.match(r"([0-9a-f]+) [TtWwiu] (.*)", line)
            if match:
                found[int(match[1], 16)] = re.sub(r"@@?.*", "", match[2])
    return sorted(found.items())


def symbol(path, address):
    table = symbols(path)
    at = bisect.bisect_right(table, (address, "\x7f")) - 1
    return f"{table[at][1][:60]}+{address - table[at][0]:x}" if at >= 0 else "?"


class Group:
    def __init__(self, outcome, end, count, agreed, maps):
        self.outcome, self.end, self.count, self.agreed, self.maps = outcome, end, count, agreed, maps
        self.stacks = {}

    def is_bad(self):
        return self.outcome != "equal" or self.end != "root"


def read(paths):
    counts, groups = collections.Counter(), []
    for path in paths:
        maps = Maps()
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                word, rest = line.strip().split(" ", 1) if " " in line.strip() else (line.strip(), "")
                if word == "count":
                    name, value = rest.split()
                    counts[name] += int(value)
                elif word == "group":
                    outcome, end, count, agreed, _ = rest.split()
                    groups.append(Group(outcome, end, int(count), int(agreed), maps))
                elif word in ("ours", "theirs"):
                    groups[-1].stacks[word] = [int(x, 16) for x in rest.split()]
                elif word == "map":
                    maps.add(rest)
    return counts, groups


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def show_row(name, root_least, different_most, paths):
    counts, _ = read(paths)
    stacks = counts["stacks"]
    root, different = percent(counts["root"], stacks), percent(counts["different"], stacks)
    print(f"{name:10} {stacks:8} {counts['frames'] / max(stacks, 1):6.1f} {percent(counts['equal'], stacks):8.3f} "
          f"{root:8.3f} {counts['ours_shorter']:8} {counts['theirs_shorter']:10} {counts['caller_added']:7} "
          f"{counts['different']:9} {counts['full_walks']:6} "
          f"{percent(counts['cached_shared'], counts['frames']):8.1f} {counts['cached_different']:9} "
          f"{counts['outside']:7} {percent(counts['outside_whole'], counts['outside']):7.2f} "
          f"{counts['outside_by_distance']:8} {counts['outside_different']:9}")
    # One stack in a short run is no share.
    return (stacks > 0 and root >= root_least and counts["cached_different"] == 0 and counts["outside_different"] == 0
            and (counts["different"] <= 1 or different <= different_most))


def place(group):
    """The last frame both walks have: where they part."""
    return group.maps.name(group.stacks["ours"][group.agreed - 1]) if group.agreed else "nowhere"


def show_why(paths, most):
    merged = {}
    for group in read(paths)[1]:
        key = (group.outcome, group.end, re.sub(r"[0-9a-f]+ \[", "[", re.sub(r"\+[0-9a-f]+", "", place(group))),
               group.agreed == 1)
        if key in merged:
            merged[key].count += group.count
        else:
            merged[key] = group
    for group in sorted(merged.values(), key=lambda group: -group.count)[:most]:
        print(f"  {group.count:7} {group.outcome}, ours ends: {group.end}; frame {group.agreed - 1}: {place(group)}")
        first = max(group.agreed - 2, 0)
        for name in ("ours", "theirs"):
            rest = group.stacks.get(name, [])[first:group.agreed + 3]
            print(f"          {name:6} {len(group.stacks.get(name, []))}: "
                  + " < ".join(group.maps.name(address) for address in rest))


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    command, rest = words[0], words[1:]
    if command == "header":
        print(HEADER)
    elif command == "count":
        print(read(rest)[0]["stacks"])
    elif command == "row":
        return 0 if show_row(rest[0], float(rest[1]), float(rest[2]), rest[3:]) else 1
    elif command == "why":
        show_why(rest, int(options[0].split("=")[1]) if options else 8)
    return 0


if __name__ == "__main__":
    sys.exit(main())
