"""Running programs in turns, and what the figures of the turns say.

Machines drift: clocks, caches, neighbours. So nothing is compared across time. In a round every variant runs once, one
right after the other; a figure is a difference or ratio within a round, and what is shown is the median over the
rounds, with the smallest and the largest.
"""

import os
import random
import signal
import statistics
import subprocess


class Failed(Exception):
    """A program that ended otherwise than it should have."""


class Variant:
    """A way to run a program: what is preloaded, and its settings."""

    def __init__(self, name, library=None, settings=None, output=None):
        self.name = name
        self.environment = dict(settings or {})
        if library:
            self.environment["LD_PRELOAD"] = str(library)
        self.output = output  # where the profile will be

    def words(self):
        return [f"{name}={value}" for name, value in self.environment.items()]


def numbers_of(text):
    """The lines "name number" of a report."""
    report = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdigit():
            report[name] = int(value)
    return report


def clean_environment():
    """Nothing but a variant's own settings may reach a profiler."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WALLPROF_", "CPUPROFILE", "LD_PRELOAD", "MAKE", "MFLAGS"))
    }


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def measure(stopwatch, variant, arguments, limit_s=60):
    """What a program and the stopwatch around it report; None when it was not done in time."""
    if variant.output:
        variant.output.unlink(missing_ok=True)
    process = subprocess.Popen(
        [str(stopwatch), *variant.words(), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        start_new_session=True,
        text=True,
    )
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        end_group(process)
        return None
    except BaseException:
        end_group(process)
        raise
    report = numbers_of(output)
    if process.returncode != 0 or report.get("status") != 0:
        status = report.get("status", process.returncode)
        raise Failed(f"{variant.name}: {' '.join(map(str, arguments))} ended with status {status}: {errors.strip()}")
    if variant.output and variant.output.exists():
        report["file_bytes"] = variant.output.stat().st_size
    return report


def rounds(stopwatch, variants, arguments, count, add=lambda variant, report: None):
    """Per variant's name a report per round. The order within a round is shuffled: no place in it is an advantage.
    add may add figures to a report while the variant's profile is there."""
    reports = {variant.name: [] for variant in variants}
    shuffle = random.Random(1).sample
    for _ in range(count):
        for variant in shuffle(variants, len(variants)):
            report = measure(stopwatch, variant, arguments)
            if report is None:
                raise Failed(f"{variant.name}: {' '.join(map(str, arguments))} did not end in time")
            add(variant, report)
            reports[variant.name].append(report)
    return reports


def ratios(reports, base_reports, key):
    return [report[key] / base[key] for report, base in zip(reports, base_reports)]


def differences(reports, base_reports, key):
    return [report[key] - base[key] for report, base in zip(reports, base_reports)]


def shown(low, middle, high, digits, scale):
    return f"{middle * scale:.{digits}f} [{low * scale:.{digits}f} .. {high * scale:.{digits}f}]"


def spread(values, digits=0, scale=1.0):
    """Median and, in brackets, smallest .. largest."""
    return shown(min(values), statistics.median(values), max(values), digits, scale)


def quartiles(values, digits=0, scale=1.0):
    """Median and, in brackets, the first and third quartile: for many values, whose extremes say little."""
    return shown(*statistics.quantiles(values, n=4), digits, scale)


def median(values):
    return statistics.median(values)
