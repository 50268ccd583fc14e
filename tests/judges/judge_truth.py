#!/usr/bin/env python3
"""Compares a profile of target_truth with the truth it printed.

    judge_truth.py PROFILE TRUTH HZ THREADS_PER_TICK [outside]

outside: wallprof attach has made the profile, since before the program's threads began. Then a thread's end is seen by a
scan, every 20 ms or at a tick, whichever comes later, and its start is known to 10 ms. What CPU time it has used
since its last sample is not known, which is one stretch. (docs/design/external.md)

How far a function may be off is derived here, not tuned.

The profiler cuts a thread's time into stretches of n ticks, samples it once in each, at one of the n ticks, all equally
likely, and gives the whole stretch to the function it finds then; n is settled before the stretch begins
(src/sample/schedule.h). Let a stretch last L, and the function be what the thread is in at the share q of its ticks:

  - The function is given L with probability q, on average qL: the truth, but for where between two ticks it begins and
    ends, which ticks at moments drawn at random even out. A thread's last stretch may go to [unsampled]: the estimate
    may be short by one stretch per thread, and is otherwise unbiased.
  - The variance of that is L^2 q(1 - q). Given everything before it, a stretch's error has mean 0, so the variances of a
    thread's stretches add, however their lengths follow what was seen: Var = sum of L^2 q(1 - q).
  - With no stretch longer than M that is at most M times the sum of L q(1 - q). x(1 - x) is concave, so by Jensen
    Var <= M p(1 - p) T for a function with the share p of T seconds. This is reached when the function changes much
    faster than the thread is sampled; longer visits make q(1 - q) smaller and so the variance.
  - M: threads at rest share the samples that active ones leave, here half of them or more, as the threads that run at a
    time are fewer than half of k: with k samples a tick and N threads their stretches are 2N/k ticks. It is not taken
    for less than 2g, g being the mean time between two samples of the thread. When every tick samples every thread
    that is two ticks, more than the 13/12 to which ticks that are jittered by half a period amount.

Threads are sampled independently of each other, so variances add over them too. No stretch is off by more than M, so
that Freedman's inequality (Bernstein's for martingales) gives

  P(|error| > sqrt(2 v z) + M z / 3) <= 2 exp(-z)

and with z = ln(2N / 1e-4) for N comparisons (Bonferroni) a true profile fails less than once in 10,000 times. This is
5.2 to 5.6 standard deviations plus the heavy tail. The number of samples is taken from the profile, and it is checked
that it is the number the rate promises.

Where a virtual processor stands still while the clock goes on, the profiler cannot take samples, and all that time is found
at one moment: target_truth reports how long that was, and a thread's estimate may be off by so much more.

CPU time is that of the thread, which is exact, by the shares that its running functions have in the stretches whose sample
found it running. Of these what was said above holds, with the thread's CPU time in the place of T. A waiting function
can be found running, for what little CPU time it uses.
"""

import collections
import math
import re
import sys

from pprof_read import CPU, SAMPLES, WALL, Profile

ALPHA = 1e-4
LEVELS = [f"level_{number:02}" for number in range(25, 0, -1)]
UNIT_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}


class Truth:
    """What target_truth printed."""

    def __init__(self, path):
        self.functions, self.shares, self.threads, self.most_ns = {}, {}, {}, {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                self._take(line.split())

    def _take(self, words):
        kind, numbers = words[0], [int(word) for word in words if word.isdigit()]
        if kind == "function":
            self.functions[words[1]] = numbers[:2]
        elif kind == "share":
            self.shares[(words[1], words[2])] = numbers[:2]
        elif kind == "thread":
            self.threads[words[1]], self.most_ns[words[1]] = numbers[:3], numbers[3]
        elif kind == "process":
            self.main_ns, self.rusage_ns = numbers
        elif kind == "interrupted":
            self.interrupted = numbers[0]
        elif kind == "stalled":
            self.stalled_ns = numbers[0]


class Judge:
    """Collects verdicts; each is printed, the bad ones decide."""

    def __init__(self):
        self.failures = []

    def verdict(self, good, text):
        print("ok  " if good else "BAD ", text)
        if not good:
            self.failures.append(text)

    def close(self, what, found, true, tolerance):
        text = f"{what}: {found / 1e9:.4f} s, truth {true / 1e9:.4f} s, off {(found - true) / 1e9:+.4f} s"
        self.verdict(abs(found - true) <= tolerance, f"{text}, allowed {tolerance / 1e9:.4f} s")


def estimates(profile, functions):
    """Inclusive values per (thread name, function)."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for sample in profile.message.sample:
        name = profile.thread(sample)[1]
        for function in functions & set(profile.stack(sample)):
            for type, value in enumerate(sample.value):
                sums[(name, function)][type] += value
    return sums


SCAN_NS, START_NS = 20e6, 10e6


def seen_late_ns(profile, hz):
    """How late the end of a thread may be seen: ticks are due 1.5 periods apart at most, and those that were missed may all
    have been missed just then."""
    _, missed = ticks_of(profile)
    return 2 * SCAN_NS + (2 * 1.5 + missed) / hz * 1e9


def judge_threads_outside(judge, profile, truth, hz, per_tick):
    """As judge_threads, for what can be known from outside."""
    by_tid = {tid: (name, values) for (tid, name), values in profile.threads().items()}
    stretches, late_ns = stretches_ns(gaps_ns(profile, truth), hz, per_tick), seen_late_ns(profile, hz)
    judge.verdict(len(by_tid) == len(truth.threads) + 1, f"{len(by_tid)} threads found of {len(truth.threads) + 1}")
    for name, (tid, lifetime_ns, cpu_ns) in truth.threads.items():
        found, values = by_tid.get(tid, ("(missing)", [0, 0, 0, 0]))
        judge.verdict(found == name, f"thread {tid} is called {found}, in truth {name}")
        most_ns = truth.most_ns[name] + late_ns + START_NS
        text = f"thread {name}: wall {values[WALL] / 1e9:.6f} s, truth {lifetime_ns / 1e9:.6f} to {most_ns / 1e9:.6f} s"
        judge.verdict(lifetime_ns - START_NS <= values[WALL] <= most_ns, text)
        last = min(stretches[name] + truth.stalled_ns + ticks_of(profile)[1] / hz * 1e9, cpu_ns)
        text = f"thread {name}: cpu {values[CPU] / 1e9:.6f} s, truth {cpu_ns / 1e9:.6f} s, {last / 1e9:.6f} s may be missing"
        judge.verdict(-last - cpu_ns * 0.02 - 3e6 <= values[CPU] - cpu_ns <= cpu_ns * 0.02 + 3e6, text)


def judge_totals_outside(judge, profile):
    _, cpu_ns, offcpu_ns, wall_ns = profile.totals()
    judge.close("cpu and off-cpu make up the wall time", cpu_ns + offcpu_ns, wall_ns, wall_ns * 0.01)


def judge_threads(judge, profile, truth):
    """Every thread is there once, with its last name and its times."""
    by_tid = {tid: (name, values) for (tid, name), values in profile.threads().items()}
    judge.verdict(len(by_tid) == len(profile.threads()), f"{len(by_tid)} threads, each under one name")
    judge.verdict(len(by_tid) == len(truth.threads) + 1, f"{len(by_tid)} threads found of {len(truth.threads) + 1}")
    for name, (tid, lifetime_ns, cpu_ns) in truth.threads.items():
        found, values = by_tid.get(tid, ("(missing)", [0, 0, 0, 0]))
        judge.verdict(found == name, f"thread {tid} is called {found}, in truth {name}")
        # The thread lives for longer than its start routine runs, but only between its creation and its join.
        most_ns = truth.most_ns[name]
        text = f"thread {name}: wall {values[WALL] / 1e9:.6f} s, truth {lifetime_ns / 1e9:.6f} to {most_ns / 1e9:.6f} s"
        judge.verdict(lifetime_ns <= values[WALL] <= most_ns, text)
        judge.close(f"thread {name}: cpu", values[CPU], cpu_ns, cpu_ns * 0.02 + 3e6)


def sampler_cpu_ns(profile):
    """CPU time of the profiler's own thread, from the comment that names it: a number and its unit."""
    for comment in profile.comments():
        words = comment.replace(",", " ").replace(":", " ").replace(";", " ").split()
        for number, unit in zip(words, words[1:]):
            if "sampler" in comment and unit in UNIT_NS and number.replace(".", "", 1).isdigit():
                return float(number) * UNIT_NS[unit]
    raise SystemExit(f"BAD  no comment tells the sampler's CPU time: {profile.comments()}")


def judge_totals(judge, profile, truth):
    _, cpu_ns, offcpu_ns, wall_ns = profile.totals()
    lifetimes_ns = truth.main_ns + sum(lifetime for _, lifetime, _ in truth.threads.values())
    judge.close("total wall is the sum of the lifetimes", wall_ns, lifetimes_ns, lifetimes_ns * 0.01)
    # The kernel charges the process for the sampler thread too; the profile says for how much.
    own_ns = sampler_cpu_ns(profile)
    judge.close(
        f"total cpu is that of getrusage without the sampler's {own_ns / 1e9:.4f} s",
        cpu_ns,
        truth.rusage_ns - own_ns,
        truth.rusage_ns * 0.02,
    )
    judge.close("cpu and off-cpu make up the wall time", cpu_ns + offcpu_ns, wall_ns, wall_ns * 0.01)


def gaps_ns(profile, truth):
    """Mean time between two observations of a thread, by its name."""
    samples = {name: values[SAMPLES] for (_, name), values in profile.threads().items()}
    return {name: life / max(samples.get(name, 0), 1) for name, (_, life, _) in truth.threads.items()}


def judge_rate(judge, profile, truth, hz, per_tick):
    """The bounds below mean something only if threads are sampled as often as promised. A tick that comes late on a
    crowded machine is left out, by design, and counted as missed: how many there are says nothing of the profiler.
    Together they are the deadlines in the recording's time: a period apart on average, an interval's variance being a
    twelfth of a period squared at most. So their number's variance is a twelfth of it, and one period more for the ends."""
    made, missed = ticks_of(profile)
    due = hz * profile.message.duration_nanos / 1e9
    allowed = bound(due / 12, 1, 1) + 1
    text = f"{made} ticks made and {missed} missed, {due:.0f} due, {allowed:.0f} more or less allowed"
    judge.verdict(abs(made + missed - due) <= allowed, text)
    taken, threads = profile.totals()[SAMPLES], len(truth.threads) + 1
    least, most = 0.5 * made * min(per_tick, threads), made * threads  # those of quiet threads come on top of per_tick
    judge.verdict(least <= taken <= most, f"{taken} samples taken in these ticks, {least:.0f} to {most} promised")


def ticks_of(profile):
    """Made and missed, from the comment that says how many."""
    match = re.search(r"requested, (\d+) made, (\d+) missed", "\n".join(profile.comments()))
    return tuple(map(int, match.groups()))


def stretches_ns(gaps, hz, per_tick):
    """The longest stretch of a thread, by its name: M above."""
    at_rest_ns = 2 * (len(gaps) + 1) / per_tick / hz * 1e9
    return {name: max(2 * gap, at_rest_ns) for name, gap in gaps.items()}


def bound(variance, stretch_ns, comparisons):
    z = math.log(2 * comparisons / ALPHA)
    return math.sqrt(2 * variance * z) + stretch_ns * z / 3


def compare(judge, what, found_ns, true_ns, variance, stretch_ns, edge_ns, over_ns, comparisons, stalled_ns):
    """edge_ns: how much may be missing, on average; over_ns: how much of other functions' may be found here."""
    allowed = bound(variance, stretch_ns, comparisons) + stalled_ns
    off = found_ns - true_ns
    sigma = math.sqrt(variance) if variance > 0 else math.inf
    text = f"{what:32} {found_ns / 1e9:9.4f} s, truth {true_ns / 1e9:9.4f} s, off {off / 1e9:+8.4f} s"
    text += f" = {off / sigma:+5.2f} sigma, allowed {allowed / 1e9:.4f} s"
    judge.verdict(-allowed - edge_ns <= off <= allowed + over_ns, text)


def judge_functions(judge, profile, truth, hz, per_tick, type, label):
    """Every function, over all threads and in each thread, for one kind of time."""
    column = 0 if type == WALL else 1
    found = estimates(profile, set(truth.functions))
    stretches = stretches_ns(gaps_ns(profile, truth), hz, per_tick)
    whole = {name: (life if type == WALL else cpu) for name, (_, life, cpu) in truth.threads.items()}
    comparisons = len(truth.functions) + len(truth.shares)
    variance, edge, over = collections.Counter(), collections.Counter(), collections.Counter()
    longest, threads_in = collections.Counter(), collections.Counter()
    for (thread, function), times in truth.shares.items():
        true, total, stretch = times[column], max(whole[thread], 1), stretches[thread]
        share = min(true / total, 1.0)
        part = share * (1 - share) * total * stretch
        waiting = 0 if type == WALL else waiting_cpu(truth, thread)
        compare(
            judge, f"{label} of {thread} {function}", found[(thread, function)][type], true, part, stretch, stretch, waiting,
            comparisons, truth.stalled_ns,
        )
        threads_in[function] += 1
        variance[function] += part
        edge[function] += stretch
        over[function] += waiting
        longest[function] = max(longest[function], stretch)
    for function, times in truth.functions.items():
        total = sum(values[type] for (_, name), values in found.items() if name == function)
        compare(
            judge, f"{label} of {function}", total, times[column], variance[function], longest[function],
            edge[function], over[function], comparisons, truth.stalled_ns * threads_in[function],
        )


def waiting_cpu(truth, thread):
    return sum(cpu for (name, function), (_, cpu) in truth.shares.items() if name == thread and "spin" not in function)


def judge_stacks(judge, profile, truth):
    """Under each measured function stand all 25 levels, in order, and below them the thread's root."""
    samples = whole = rooted = observed = 0
    for sample in profile.message.sample:
        stack, count = profile.stack(sample), sample.value[SAMPLES]
        if profile.thread(sample)[1] not in truth.threads:
            continue
        observed += count
        rooted += count * profile.reaches_root(sample)
        places = [place for place, name in enumerate(stack) if name in truth.functions]
        if places:
            samples += count
            good = stack[places[-1] + 1 : places[-1] + 27] == LEVELS + ["worker_main"]
            whole += count * good
            if not good:
                print(f"     incomplete, {count} samples: {' < '.join(stack)}")
    judge.verdict(samples and whole >= 0.999 * samples, f"{whole} of {samples} stacks have all 25 levels in order")
    judge.verdict(rooted >= 0.999 * observed, f"{rooted} of {observed} stacks reach their thread's root")
    judge.verdict(samples >= 0.9 * observed, f"{samples} of {observed} samples lie in measured functions")


def main(profile_path, truth_path, hz, per_tick, where="inside"):
    profile, truth, judge = Profile(profile_path), Truth(truth_path), Judge()
    profile.leave_out_emulator()
    print(f"{truth.interrupted} waits returned EINTR, the machine stood still for {truth.stalled_ns / 1e9:.3f} s")
    if where == "outside":
        judge_threads_outside(judge, profile, truth, int(hz), int(per_tick))
        judge_totals_outside(judge, profile)
    else:
        judge_threads(judge, profile, truth)
        judge_totals(judge, profile, truth)
    judge_rate(judge, profile, truth, int(hz), int(per_tick))
    judge_functions(judge, profile, truth, int(hz), int(per_tick), WALL, "wall")
    judge_functions(judge, profile, truth, int(hz), int(per_tick), CPU, "cpu")
    judge_stacks(judge, profile, truth)
    print(f"{len(judge.failures)} bad")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
