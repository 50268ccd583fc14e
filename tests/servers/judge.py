#!/usr/bin/env python3
"""Holds the profiles of one run of a server to what was seen of it from outside, and prints a row of the table (JSON).

    judge.py NAME DIRECTORY [--status=NUMBER] [--expect="THREADS: STACK: SHARE"]... [BOUNDS]

DIRECTORY has what lib.sh and watch.py left there. Without a profile in it only the load and the end are judged.

  --expect   in the threads whose names match THREADS at least SHARE per cent of the wall time is in stacks that hold
             all functions of STACK, "inner < outer < outermost", others between them or not. Both are regular
             expressions that match a whole name.

Judged besides, by bounds that can be set:
  - each process that was seen has left a profile;
  - each thread that was seen is in it, under the name it had, with its lifetime as its wall time;
  - its CPU time is what the kernel had charged it when the server was told to end, or as much more as it can have used
    by its end; all of it is within --cpu (5) % of what the process was charged, the profiler's own thread not counted;
  - the system call a waiting thread was seen in is the one its stack ends in: the share of a call in the time of the
    threads of one name is at most --calls (25) points away from what was seen. A thread that was seen running, or about
    to run, may have been woken in any call, and not have left it yet;
  - at most --truncated (2) % of the wall time, and --truncated-cpu (10) % of the CPU time, is under [truncated], and
    --silent (1) % of the wall time under [not responding].
"""

import collections
import glob
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "judges")]

from pprof_read import CPU, NAMELESS, OFFCPU, PSEUDO, SAMPLES, WALL, Broken, Profile, check  # noqa: E402

BOUNDS = {"cpu": 5.0, "calls": 25.0, "truncated": 2.0, "truncated-cpu": 10.0, "silent": 1.0}
TAKEN = re.compile(r"^samples taken: (\d+) unchanged, (\d+) walked from outside, (\d+) by signal, (\d+) without a reply: ")
OURS = "wallprof"
# Start times have this grain; the main thread is older than the library in it; threads end after they are told to.
GRAIN_S = 0.1
# What a function does not tell: which system call it is in.
ANY = "any"
# System calls, by their numbers on x86_64, and what the functions that wait in them are called in Debian's C library.
CALLS = {
    "read": ({0, 17, 19, 45, 47, 299}, r"(__libc_|__)?(read|readv|pread64|recv|recvfrom|recvmsg|recvmmsg)"),
    "write": ({1, 18, 20, 44, 46}, r"(__libc_|__)?(write|writev|pwrite64|send|sendto|sendmsg|sendfile64)"),
    "poll": ({7, 271}, r"(__)?p?poll"),
    "select": ({23, 270}, r"(__)?p?select(64)?"),
    "epoll": ({232, 281, 441}, r"epoll_p?wait2?"),
    "sleep": ({35, 230}, r"(__)?(clock_)?nanosleep(_time64)?"),
    "futex": ({202}, r"(__futex|__lll_lock|futex|___?pthread_|pthread_|__pthread_|sem_|__new_sem_|__GI___lll).*"),
    "accept": ({43, 288}, r"(__libc_)?accept4?"),
    "signal": ({128, 130}, r"(__)?(sigtimedwait|sigwaitinfo|sigwait|sigsuspend)(64)?"),
    "fsync": ({74, 75}, r"fd?(data)?sync"),
}


class Judge:
    def __init__(self):
        self.faults = []

    def hold(self, is_true, fault):
        if not is_true:
            self.faults.append(fault)


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def total(samples, type):
    return sum(sample.value[type] for sample in samples)


class Process:
    """A profile and what watch.py saw of the process it is of."""

    def __init__(self, path, report):
        self.profile = Profile(path)
        self.pid = int(path.split(".")[-3])
        self.report = report
        self.stacks = [(sample, self.profile.stack(sample)) for sample in self.profile.message.sample]
        self.seen = [thread for thread in report["processes"].get(str(self.pid), []) if thread["name"] != OURS]
        self.by_tid = collections.defaultdict(lambda: [0] * 4)
        self.names = collections.defaultdict(set)
        for (tid, name), values in self.profile.threads().items():
            self.names[tid].add(name)
            self.by_tid[tid] = [sum(pair) for pair in zip(self.by_tid[tid], values)]

    def judge(self, judge):
        check(self.profile)
        lives = collections.defaultdict(list)
        for thread in self.seen:
            lives[thread["tid"]].append(thread)
        for tid, threads in lives.items():
            self._judge_thread(judge, tid, threads)

    def _judge_thread(self, judge, tid, threads):
        """All threads that had one id, one after the other."""
        what = f"{self.pid}: thread {tid} {threads[-1]['name']}"
        if tid not in self.names:
            judge.hold(all(is_short(thread) for thread in threads), f"{what} is not in the profile")
            return
        judge.hold({thread["name"] for thread in threads} <= self.names[tid], f"{what} is called {self.names[tid]}")
        wall = self.by_tid[tid][WALL] / 1e9
        at_least = sum(life_seen(thread, self.report["stopped_s"]) for thread in threads)
        at_most = self._end_of(threads[-1]) - threads[0]["start_s"] + GRAIN_S
        judge.hold(at_least <= wall <= at_most, f"{what} has {wall:.3f} s wall, not {at_least:.3f} to {at_most:.3f}")
        self._judge_cpu(judge, what, threads[-1], self.by_tid[tid][CPU] / 1e9)

    def _judge_cpu(self, judge, what, last, cpu):
        if last["cpu_s"] is None:
            return
        at_most = last["cpu_s"] + self._end_of(last) - last["seen_s"] + GRAIN_S
        # The loader's work is done by the time the profile begins.
        judge.hold(last["cpu_s"] - GRAIN_S <= cpu <= at_most, f"{what} has {cpu:.3f} s CPU, not {last['cpu_s']:.3f}")

    def _end_of(self, thread):
        """The last moment at which it can have been alive."""
        was_last = thread["seen_s"] >= self.report["stopped_s"] - GRAIN_S
        return self.report["ended_s"] if was_last else thread["seen_s"] + 1.0


def life_seen(thread, stopped_s):
    """What must be in the profile. A thread's time begins when it is first given a CPU, and ends when the profile is
    written: it may have waited for either when it was looked at for the last time."""
    last_s = stopped_s if thread["seen_s"] >= stopped_s else thread["seen_before_s"]
    return last_s - thread["start_s"] - (thread["waited_s"] or 0.0) - GRAIN_S


def is_short(thread):
    """Gone before it was looked at twice."""
    return sum(thread["calls"].values()) < 2


def samples_in(processes, pattern):
    """Samples with their stacks, of the threads whose names match."""
    match = re.compile(pattern).fullmatch
    for process in processes:
        for sample, stack in process.stacks:
            if match(process.profile.thread(sample)[1]):
                yield sample, stack


def holds(stack, functions):
    """Whether a stack has functions in this order."""
    left = iter(stack)
    return all(any(function.fullmatch(name) for name in left) for function in functions)


def judge_expectation(judge, processes, text):
    threads, stack, share = text.rsplit(": ", 2)
    functions = [re.compile(name) for name in stack.split(" < ")]
    samples = list(samples_in(processes, threads))
    judge.hold(samples, f"no thread {threads}")
    found = percent(
        total((sample for sample, names in samples if holds(names, functions)), WALL),
        total((sample for sample, _ in samples), WALL),
    )
    judge.hold(found >= float(share), f"{stack}: {found:.2f} % of {threads}, not {share} % or more")


# ---- what a waiting thread waits in ----


def group_of(name):
    """worker-1 and worker-2 are of one kind."""
    return re.sub(r"\d+", "*", name)


def call_named(function):
    if function == "syscall" or function in PSEUDO:
        return ANY
    for call, (_, pattern) in CALLS.items():
        if re.fullmatch(pattern, function):
            return call
    return None


def call_numbered(number):
    for call, (numbers, _) in CALLS.items():
        if number in numbers:
            return call
    return None


def calls_seen(processes):
    """Looks from outside per (kind of thread, call), and per kind."""
    counts, sums = collections.Counter(), collections.Counter()
    for process in processes:
        for thread in process.seen:
            for number, count in thread["calls"].items():
                group = group_of(thread["name"])
                call = number if number == "running" else call_numbered(int(number))
                counts[group, call] += count
                sums[group] += count
    return counts, sums


def calls_profiled(processes):
    """Off-CPU time per (kind of thread, call), and wall time per kind."""
    counts, sums = collections.Counter(), collections.Counter()
    for process in processes:
        for sample, stack in process.stacks:
            group = group_of(process.profile.thread(sample)[1])
            sums[group] += sample.value[WALL]
            counts[group, call_named(stack[0])] += sample.value[OFFCPU]
    return counts, sums


def judge_calls(judge, processes, bound):
    """The largest difference, as a text, and whether it is one."""
    seen, samples = calls_seen(processes)
    profiled, walls = calls_profiled(processes)
    worst = (0.0, "")
    for group, call in set(seen) | set(profiled):
        if call in (None, "running", ANY) or samples[group] < 50 or not walls[group]:
            continue
        least = percent(seen[group, call], samples[group])
        most = least + percent(seen[group, "running"], samples[group])
        ours = percent(profiled[group, call], walls[group])
        difference = max(least - ours - percent(profiled[group, ANY], walls[group]), ours - most, 0.0)
        worst = max(worst, (difference, f"{group} in {call}: {ours:.0f} %, seen {least:.0f} to {most:.0f} %"))
    judge.hold(worst[0] <= bound, f"waits differ: {worst[1]}")
    return worst


# ---- the row ----


def load_of(directory):
    with open(os.path.join(directory, "load"), encoding="utf-8") as file:
        return {words[0]: float(words[1]) for words in (line.split() for line in file) if len(words) == 2}


def samples_taken(processes):
    """unchanged, walked, by signal, without a reply; None where no profile says."""
    sums = None
    for process in processes:
        for match in filter(None, map(TAKEN.match, process.profile.comments())):
            numbers = [int(text) for text in match.groups()]
            sums = [sum(pair) for pair in zip(sums, numbers)] if sums else numbers
    return sums


def share_under(processes, name, type):
    part = whole = 0
    for process in processes:
        for sample, stack in process.stacks:
            whole += sample.value[type]
            part += sample.value[type] if name in stack else 0
    return percent(part, whole)


def share_unnamed(processes, type):
    """Of the functions that samples end in."""
    part = whole = 0
    for process in processes:
        for sample, stack in process.stacks:
            whole += sample.value[type]
            part += sample.value[type] if NAMELESS.match(stack[0]) else 0
    return percent(part, whole)


def ours_of(report, key):
    """CPU time or context switches of the profiler's threads, as far as they were seen."""
    threads = [thread for threads in report["processes"].values() for thread in threads]
    return sum(thread[key] or 0 for thread in threads if thread["name"] == OURS)


def waited_for_cpu(processes):
    """How busy the machine was otherwise."""
    return sum(thread["waited_s"] or 0.0 for process in processes for thread in process.seen)


def row_of_profiles(judge, processes, report, bounds):
    cpu = sum(process.profile.totals()[CPU] for process in processes) / 1e9
    charged = report["cpu_s"] - ours_of(report, "cpu_s")
    judge.hold(
        abs(percent(cpu - charged, charged)) <= bounds["cpu"] or abs(cpu - charged) < GRAIN_S,
        f"CPU time is {cpu:.3f} s, the kernel charged {charged:.3f} s",
    )
    row = {
        "cpu": percent(cpu, charged),
        "waited": percent(waited_for_cpu(processes), cpu),
        "sampler": percent(ours_of(report, "cpu_s"), report["cpu_s"]),
        "ways": samples_taken(processes),
        "samples": sum(process.profile.totals()[SAMPLES] for process in processes),
        "threads": sum(len(process.by_tid) for process in processes),
        "unnamed": share_unnamed(processes, WALL),
        "unnamed-cpu": share_unnamed(processes, CPU),
    }
    for key, name in (("truncated", "[truncated]"), ("silent", "[not responding]"), ("unsampled", "[unsampled]")):
        row[key] = share_under(processes, name, WALL)
        row[key + "-cpu"] = share_under(processes, name, CPU)
    for key in ("truncated", "truncated-cpu", "silent"):
        judge.hold(row[key] <= bounds[key], f"{row[key]:.2f} % {key}, not {bounds[key]} % or less")
    row["calls"] = judge_calls(judge, processes, bounds["calls"])
    return row


def judge_processes(judge, processes, report):
    known = {str(process.pid) for process in processes}
    for pid, threads in report["processes"].items():
        judge.hold(pid in known or all(map(is_short, threads)), f"process {pid} ({threads[0]['name']}) left no profile")


def judge_run(judge, name, directory, options, expectations):
    with open(os.path.join(directory, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    load = load_of(directory)
    status = int(options.pop("status", 0))
    judge.hold(report["status"] == status, f"it ended with status {report['status']}, not {status}")
    judge.hold(load["ops"] > 0 and load["errors"] == 0, f"clients saw {load['errors']:.0f} errors in {load['ops']:.0f}")
    row = {"name": name, **load, "switches": report["switches"] - ours_of(report, "switches")}
    processes = [Process(path, report) for path in sorted(glob.glob(os.path.join(directory, "*.pb.gz")))]
    row["profiles"] = len(processes)
    if processes:
        judge_processes(judge, processes, report)
        bounds = {key: float(options.get(key, bound)) for key, bound in BOUNDS.items()}
        for process in processes:
            process.judge(judge)
        row.update(row_of_profiles(judge, processes, report, bounds))
        for text in expectations:
            judge_expectation(judge, processes, text)
    return row


def main(arguments):
    name, directory, *words = arguments
    pairs = [word[2:].split("=", 1) for word in words]
    expectations = [value for key, value in pairs if key == "expect"]
    options = {key: value for key, value in pairs if key != "expect"}
    judge = Judge()
    try:
        row = judge_run(judge, name, directory, options, expectations)
    except Broken as broken:
        print(broken, file=sys.stderr)
        return 1
    print(json.dumps(row))
    print("\n".join(judge.faults[:20]), file=sys.stderr)
    return 1 if judge.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
