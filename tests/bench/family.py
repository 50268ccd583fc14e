"""What profiling costs programs that live shortly, and those that start many others.

Each process of a family has its own profile, so every run writes into a directory of its own, which is emptied after it.
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys

from measure import Failed, Variant, differences, measure, median, quartiles, ratios, spread
from table import Section

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNCHANGED = "nothing, again"
SHORT_PROGRAMS = (["/bin/true"], ["git", "--version"], ["/usr/bin/python3", "-c", "pass"])
SHORT_ROUNDS = 50
FORKS, FORKS_ROUNDS = 2000, 3
BUILD_ROUNDS = 5
LIMIT_S = 900


class Way:
    """A way to run a program: a variant, and the words before the program."""

    def __init__(self, name, variant, words=()):
        self.name, self.variant, self.words = name, variant, list(words)


def ways(bench, directory, hz=100, with_wrapper=False):
    settings = {"WALLPROF_HZ": hz}
    preloaded = Variant("preloaded", bench.library, dict(settings, WALLPROF_OUT=directory / "%n.%p.pb.gz"))
    found = [Way("bare", Variant("bare")), Way(UNCHANGED, Variant(UNCHANGED)), Way(f"preloaded, {hz} Hz", preloaded)]
    if with_wrapper:
        words = [ROOT / "scripts" / "wallprof-run", "--quiet", "--merge", "--out", directory / "all.pb.gz", "--"]
        found.append(Way(f"wallprof-run --merge, {hz} Hz", Variant("wrapper", settings=settings), words))
    return found


def turns(bench, directory, all_ways, command, count, before=lambda: None):
    """Per way's name a report per round; measure.rounds says why in turns."""
    reports = {way.name: [] for way in all_ways}
    shuffle = random.Random(1).sample
    print(f"  {' '.join(map(str, command))}", file=sys.stderr)
    for _ in range(count):
        for way in shuffle(all_ways, len(all_ways)):
            before()
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            report = measure(bench.programs["stopwatch"], way.variant, [*way.words, *command], LIMIT_S)
            if report is None:
                raise Failed(f"{way.name}: {' '.join(map(str, command))} did not end in {LIMIT_S} s")
            report["elapsed_ns"] = report["reaped_ns"] - report["started_ns"]
            report["profiles"] = len(list(directory.iterdir()))
            reports[way.name].append(report)
    shutil.rmtree(directory, ignore_errors=True)
    return reports


def short_rows(bench, directory):
    rows = []
    for program in SHORT_PROGRAMS:
        if not shutil.which(program[0]):
            rows.append([f"{program[0]} is not installed"])
            continue
        reports = turns(bench, directory, ways(bench, directory), program, SHORT_ROUNDS)
        bare = reports.pop("bare")
        rows.append([" ".join(program), *[f"{median([report[key] / 1e6 for report in bare]):.2f} bare"
                                          for key in ("elapsed_ns", "child_cpu_ns")]])
        rows += [[f"  {name}", *[quartiles(differences(each, bare, key), 2, 1e-6) for key in ("elapsed_ns", "child_cpu_ns")]]
                 for name, each in reports.items()]
    return rows


def short_lives(bench):
    return Section(
        "A short life, added, ms",
        ["", "wall", "CPU"],
        short_rows(bench, bench.scratch / "family"),
        [f"{SHORT_ROUNDS} rounds; in brackets the quartiles. From before a program is created to after it has been waited for."],
    )


def ratio_rows(title, reports):
    bare = reports.pop("bare")
    alone = median([report["elapsed_ns"] for report in bare]) / 1e9
    return [[f"{title}, bare {alone:.1f} s"]] + [
        [f"  {name}", *[spread(ratios(each, bare, key), 3) for key in ("elapsed_ns", "child_cpu_ns")],
         f"{median([report['profiles'] for report in each]):.0f}"]
        for name, each in reports.items()
    ]


def forks_rows(bench, directory):
    rows = []
    for ending in ("_exit", "exit"):
        all_ways = ways(bench, directory) + ways(bench, directory, 1000)[2:]
        command = [bench.programs["forks"], FORKS, ending]
        reports = turns(bench, directory, all_ways, command, FORKS_ROUNDS)
        rows += ratio_rows(f"{FORKS:,} children that end by {ending}", reports)
    return rows


def build_rows(bench, directory):
    project = ROOT / "build" / "zstd"
    got = subprocess.run([ROOT / "scripts" / "debian-source", "libzstd", project], capture_output=True, text=True, check=False)
    if got.returncode != 0:
        raise Failed(f"the source of zstd is not to be had: {got.stdout}{got.stderr}".strip())
    make = ["make", "-s", "-C", project / "source" / "lib"]

    def clean():
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        subprocess.run([*make, "clean"], check=True, stdout=subprocess.DEVNULL, env=environment)

    all_ways = ways(bench, directory, with_wrapper=True)
    reports = turns(bench, directory, all_ways, [*make, "-j2", "libzstd.a"], BUILD_ROUNDS, clean)
    return ratio_rows("make -j2 of zstd's library", reports)


def families(bench):
    directory = bench.scratch / "family"
    return Section(
        "Programs that start many, 1 = bare",
        ["", "wall", "CPU", "profiles"],
        forks_rows(bench, directory) + build_rows(bench, directory),
        [
            f"Forks: {FORKS_ROUNDS} rounds; a child sleeps for 1 ms, and its parent waits for it. Build: {BUILD_ROUNDS} rounds. "
            "Wall: from before the first process is created to after it has been waited for. CPU: of it and of all "
            "that were waited for.",
            f"'{UNCHANGED}' is the same without a profiler once more: what the method itself is uncertain by.",
        ],
    )
