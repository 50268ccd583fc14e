"""The table on stdout, and how much it can be relied on."""

import collections
import os
import resource
import sys
import textwrap
import time

WIDTH = 110

Section = collections.namedtuple("Section", "title columns rows notes")


def show(number, section):
    widths = [max(len(row[at]) for row in [section.columns, *section.rows] if at < len(row) and len(row) > 1)
              for at in range(len(section.columns))]
    print(f"\n{number}. {section.title}\n")
    for row in [section.columns, *section.rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("   " + "  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    print()
    for note in section.notes:
        print(textwrap.fill(note, WIDTH, initial_indent="   - ", subsequent_indent="     "))
    sys.stdout.flush()


def own_cpu_s():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def machine_cpu_s():
    """What all cores together have worked, and what the host has taken from them."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, open("/proc/stat").readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Neighbours:
    """Everything else that uses the machine, from now on: it makes the wall figures uncertain, and in part CPU's."""

    def __init__(self):
        self.machine_s, self.own_s, self.clock_s = machine_cpu_s(), own_cpu_s(), time.monotonic()

    def show(self):
        others_s = machine_cpu_s() - self.machine_s - (own_cpu_s() - self.own_s)
        share = max(0.0, others_s / (time.monotonic() - self.clock_s) / os.cpu_count())
        verdict = "; the wall figures are not to be relied on" if share > 0.05 else ""
        print(f"\nOther processes used {share:.0%} of the machine's CPU meanwhile{verdict}.")
