#!/usr/bin/env python3
"""Prints what judge.py found: a line for each server, of medians of its runs.

    table.py ROWS
"""

import json
import statistics
import sys

LOAD = ["server", "ops/s without", "with", "ratio", "client errors", "switches/op without", "with", "threads"]
PROFILE = ["server", "no signal %", "truncated %", "of cpu", "unnamed %", "of cpu", "unsampled %", "silent %",
           "cpu found %", "sampler's %", "cpu wait %", "waits off by"]  # fmt: skip


def median(rows, value, digits):
    """Of those rows that have it."""
    values = [value(row) for row in rows if value(row) is not None]
    return f"{statistics.median(values):.{digits}f}" if values else "n/a"


def rate(row):
    return row["ops"] / row["seconds"]


def switches(row):
    return row["switches"] / row["ops"]


def of_pairs(without, with_):
    """Within a pair, because machines of many users are faster at one time than at another."""
    ratios = [rate(b) / rate(a) for a, b in zip(without, with_)]
    return f"{statistics.median(ratios):.3f}" if ratios else "n/a"


def without_signal(rows):
    """The share of all samples."""
    sums = [sum(numbers) for numbers in zip(*(row["ways"] for row in rows if row.get("ways")))]
    return f"{100 * (sums[0] + sums[1]) / sum(sums):.2f}" if sums else "n/a"


def line_of_load(name, without, with_):
    return [
        name,
        median(without, rate, 0),
        median(with_, rate, 0),
        of_pairs(without, with_),
        f"{sum(row['errors'] for row in without + with_):.0f}",
        median(without, switches, 3),
        median(with_, switches, 3),
        median(with_, lambda row: row["threads"], 0),
    ]


def line_of_profile(name, with_):
    difference, where = max((row["calls"] for row in with_), default=(0.0, ""))
    columns = [("truncated", 2), ("truncated-cpu", 2), ("unnamed", 2), ("unnamed-cpu", 2), ("unsampled", 2),
               ("silent", 2), ("cpu", 1), ("sampler", 1), ("waited", 0)]  # fmt: skip
    return [
        name,
        without_signal(with_),
        *(median(with_, lambda row, key=key: row.get(key), digits) for key, digits in columns),
        f"{difference:.0f} ({where})" if difference >= 0.5 else "0",
    ]


def show(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    for cells in lines:
        print("  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip())


def main(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(text) for text in file]
    names = dict.fromkeys(row["name"] for row in rows)
    without, with_ = (
        {name: [row for row in rows if row["name"] == name and bool(row["profiles"]) == profiled] for name in names}
        for profiled in (False, True)
    )
    show([LOAD] + [line_of_load(name, without[name], with_[name]) for name in names])
    print()
    show([PROFILE] + [line_of_profile(name, with_[name]) for name in names])


if __name__ == "__main__":
    main(sys.argv[1])
