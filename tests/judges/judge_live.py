#!/usr/bin/env python3
"""Reads the tables that `wallprof top PID` prints of target_live, from stdin, until they have shown all that they must.

    judge_live.py PID BEGIN [library]

BEGIN: when the target was started, CLOCK_MONOTONIC in seconds. library: it runs with the library in it. What holds at any load:
each function appears and waits for what it waits for; no time in all is longer than the target's life; the CPU time of all
intervals is no more than the process has used; and the intervals of a function add up to what it has gained in all.
"""
import re, sys, time

TABLES_MIN = 4
ROUNDED = 0.006  # of a number with three digits: 1.005 may be 1.00 or 1.01
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
TIME = r"(?:0|[0-9.]+ (?:ns|µs|ms|s|min|h))"
ROW = re.compile(rf" *({TIME}) +(?:([0-9.]+)%)? +({TIME}) +({TIME}) +({TIME})  (.{{15}})  (.*)")
HEAD = re.compile(rf"last ({TIME}) of ({TIME}), functions by wall(.*)")
EXPECTED = {"burn": "", "hold_lock": "sleep", "want_lock": "lock"}


def seconds(text):
    return 0 if text == "0" else float(text.split()[0]) * UNITS[text.split()[1]]


class Table:
    def __init__(self, lines):
        self.rows, self.seen_s = {}, time.monotonic()
        head = HEAD.match(lines[1])
        assert head, lines
        self.last_s, self.all_s, self.how = seconds(head[1]), seconds(head[2]), head[3]
        for line in lines:
            row = ROW.fullmatch(line)
            if row:
                wall, _, cpu, _, whole, waits, name = row.groups()
                self.rows[name] = {"wall": seconds(wall), "cpu": seconds(cpu), "all": seconds(whole), "waits": waits.strip()}


def tables():
    """A table has two parts: above the empty line before its headings, and below. After it comes another empty line."""
    lines, empty = [], 0
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line:
            lines.append(line)
            continue
        empty += 1
        if empty == 2:
            yield Table(lines)
            lines, empty = [], 0


def cpu_of(pid):
    ticks = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(ticks[11]) + int(ticks[12])) / 100


def has_all(seen):
    return len(seen) >= TABLES_MIN and all(
        any(name in table.rows and word in table.rows[name]["waits"] for table in seen) for name, word in EXPECTED.items()
    )


def complaints(pid, begin_s, is_own, seen):
    used_s = cpu_of(pid) + 0.02  # of a clock of 10 ms, for both numbers
    for table in seen:
        life_s = table.seen_s - begin_s
        for name, row in table.rows.items():
            if name in EXPECTED and row["all"] > life_s * (1 + ROUNDED):
                yield f"{name} has {row['all']} s of a thread that lives for {life_s} s"
        if (", recorded from outside" in table.how) == is_own:
            yield f"it is recorded otherwise: {table.how}"
    cpu_s = sum(row["cpu"] for table in seen for row in table.rows.values())
    if cpu_s > used_s * (1 + ROUNDED):
        yield f"the intervals have {cpu_s} s of CPU time, the process {used_s} s"
    # What no sample stands for yet may be shown as that in one interval, and as the function's in the next one.
    pseudo_s = sum(row["wall"] for table in seen for name, row in table.rows.items() if name.startswith("["))
    for name in EXPECTED:
        with_it = [table for table in seen if name in table.rows]
        first, last = with_it[0].rows[name], with_it[-1].rows[name]
        gained_s = last["all"] - first["all"]
        sum_s = sum(table.rows[name]["wall"] for table in with_it[1:])
        if name != "burn" and abs(sum_s - gained_s) > ROUNDED * (last["all"] + first["all"] + sum_s) + pseudo_s:
            yield f"{name} has {sum_s} s in its intervals, and has gained {gained_s} s; {pseudo_s} s are no function's"


def main(pid, begin_s, is_own):
    seen = []
    for table in tables():
        seen.append(table)
        if has_all(seen):
            break
    for table in seen:
        print(f"last {table.last_s} of {table.all_s}:", {name: row for name, row in table.rows.items() if name in EXPECTED})
    wrong = [] if has_all(seen) else ["not all functions have appeared, or not their waits"]
    wrong += complaints(pid, begin_s, is_own, seen) if has_all(seen) else []
    for text in wrong:
        print("FAIL:", text)
    return bool(wrong)


sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:] == ["library"]))
