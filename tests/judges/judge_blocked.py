#!/usr/bin/env python3
"""Compares a profile of target_blocked or target_kernel_waits with the truth it printed.

    judge_blocked.py MODE PROFILE TRUTH [--by-signal] [--wake-ups=RATIO] [--busy=SHARE] [--stops=COUNTxNANOSECONDS]

MODE is the target's, or kernel-waits. --by-signal: the profile was made with WALLPROF_OBSERVE=signal, so some checks
are left out. --wake-ups: how many wake-ups there may be for one sample of a blocked thread. --busy: how
far the time of running functions may be off. --stops: how often, and how long each time at least, the whole process
was stopped meanwhile.

Of a call that a thread makes once, the profile may be wrong at its two ends only: the time between the last sample
before it and its beginning is found in it, the time between its last sample and its end is not. So it is off by
less than the largest gap between two samples of the thread, whatever the length of the call. Where every thread is
sampled in every tick that is the gap between two ticks. Ticks are due 0.5 to 1.5 periods apart (tick.h). One that
comes a period or more late counts as missed, with every period that passed; so one that does not count is less than
one period late, and with m missed ones two samples are less than 1.5 + 1 + m periods apart. A process that is stopped is
not sampled: these ticks are missed without doing harm, as long as it is not stopped or resumed at the ends. A stop
of s periods begins up to 1.5 before a tick is due, and its missed ticks are rounded down: s - 2.5 at least.

Of functions that a thread changes between again and again, the ends' errors add up at random (judge_truth.py has the
bound). Sampled every g = 10 ms, between a sample and the change that follows it pass E[g^3] / 3E[g] - (E[g^2] / 2E[g])^2
= 12 ms^2 in variance (the gaps being uniform from 5 to 15 ms; where a thread is left out of one sample in nine, 22 ms^2),
twice in each cycle of 40 ms and 10 ms. In w seconds, over all threads, the error is 30 ms * sqrt(w): of 48 s 0.4 %, if
the threads are independent of each other. They are better than that, being evenly out of step: what one sample gives to
the one function that belongs to the other, it takes from the other in a thread half a cycle on. One percentage point
is what is asked for, and for each tick that was missed its share of the ticks, which is the most it can do. To take a
brief run for none gives 74 to 26 instead of 80 to 20.
"""

import re
import sys

from judge_truth import LEVELS, Judge, Truth, bound, estimates, sampler_cpu_ns, ticks_of
from pprof_read import CPU, PSEUDO, SAMPLES, WALL, Profile

SILENT, UNSAMPLED = "[not responding]", "[unsampled]"
# Where a virtual machine stands still, the sampler says so by this, and nothing can be said of the threads.
UNOBSERVED = "[not observed]"
TAKEN = re.compile(
    r"samples taken: (\d+) unchanged, (\d+) walked from outside, (\d+) by signal, (\d+) without a reply: "
    r"(\d+\.\d\d) % without a signal"
)
# A reply is overdue after 20 ms (observe.c), which the next tick finds, and then the thread's mask is read.
OVERDUE_NS = 20e6


class BlockedTruth(Truth):
    """What the targets printed beyond what measured.h says."""

    def __init__(self, path):
        self.woken, self.watched_ns, self.visits = {}, 0, {}
        super().__init__(path)

    def _take(self, words):
        if words[0] == "woken":
            self.woken[words[1]] = [int(word) for word in words[2:]]
        elif words[0] == "watched":
            self.watched_ns = int(words[1])
        elif words[0] == "without":
            print("LEFT OUT:", *words[1:])
        else:
            if words[0] == "share":
                self.visits[(words[1], words[2])] = int(words[5])
            super()._take(words)


class Case:
    """One profile with its truth."""

    def __init__(self, profile, truth, options):
        self.profile, self.truth, self.judge = profile, truth, Judge()
        self.by_signal = "by-signal" in options
        self.wake_ups = float(options.get("wake-ups", 0))
        self.busy_share = float(options.get("busy", 0))
        self.found = estimates(profile, set(truth.functions) | PSEUDO)
        self.made, missed = ticks_of(profile)
        stops, stopped_ns = (float(part) for part in options.get("stops", "0x0").split("x"))
        stopped = stops * (stopped_ns / profile.message.period - 2.5)
        self.missed = max(missed - max(stopped, 0), 0)
        # Between two samples of one thread where each tick samples all, see above.
        self.largest_gap_ns = (2.5 + self.missed) * profile.message.period
        self.after_report_ns = self._after_report_ns()

    def _after_report_ns(self):
        """The main thread begins a little before the report's time does, and ends after it."""
        tids = {tid for tid, _, _ in self.truth.threads.values()}
        main = [values[WALL] for (tid, _), values in self.profile.threads().items() if tid not in tids]
        return max(main[0] - self.truth.main_ns, 0) if main else 0

    def comment(self, pattern):
        matches = [re.search(pattern, comment) for comment in self.profile.comments()]
        return next((match for match in matches if match), None)

    def unobserved_ns(self, thread):
        return self.values(thread, UNOBSERVED)[WALL]

    def outside_ns(self, thread):
        """From the thread's creation until it was joined, in none of its functions: what waits for a CPU there replies late, and
        the next sample claims what has passed since the request."""
        return self.truth.most_ns[thread] - sum(wall for (name, _), (wall, _) in self.truth.shares.items() if name == thread)

    def values(self, thread, *functions):
        return [sum(self.found[(thread, function)][type] for function in functions) for type in range(4)]


def judge_once(case, thread, function):
    """A call that was made once: its time within a gap. Its CPU time is what it took to get there; that of what the
    thread ran before may be found with it, if a sample met it in the call and running."""
    true_ns, true_cpu_ns = case.truth.shares[(thread, function)]
    _, cpu_ns, _, wall_ns = case.values(thread, function)
    before_ns = sum(cpu for (name, other), (_, cpu) in case.truth.shares.items() if name == thread and other != function)
    allowed_ns = case.largest_gap_ns + case.truth.stalled_ns + case.unobserved_ns(thread) + case.outside_ns(thread)
    case.judge.close(f"{thread} {function}: wall", wall_ns, true_ns, allowed_ns)
    allowed = true_cpu_ns + before_ns + 1e6
    case.judge.verdict(cpu_ns <= allowed, f"{thread} {function}: cpu {cpu_ns / 1e6:.2f} ms of {allowed / 1e6:.2f} ms")


def judge_alternate(case):
    functions, truth = ("sleep_longer", "sleep_shorter"), case.truth
    true = [truth.functions[name][0] for name in functions]
    found = [sum(case.values(thread, name)[WALL] for thread in truth.threads) for name in functions]
    share, true_share = 100 * found[0] / max(sum(found), 1), 100 * true[0] / sum(true)
    missed_share = case.missed / (case.made + case.missed)
    gap_ns = sum(true) / max(case.profile.totals()[SAMPLES], 1)
    share_bound = bound(2 * gap_ns * 0.16 * sum(true), gap_ns, 1) / sum(true)
    stalled_share = len(truth.threads) * truth.stalled_ns / sum(true)
    allowed = 1 + 100 * (min(missed_share, share_bound) + stalled_share)
    text = f"{share:.2f} % in sleep_longer, truth {true_share:.2f} %, off {share - true_share:+.2f}"
    case.judge.verdict(abs(share - true_share) <= allowed, f"{text}, allowed {allowed:.2f}")
    lifetimes = sum(lifetime for _, lifetime, _ in truth.threads.values())
    # Where ticks are missed, the time after a thread's last sample is longer.
    rest_ns = sum(case.values(thread, UNSAMPLED)[WALL] for thread in truth.threads)
    unobserved_ns = sum(case.unobserved_ns(thread) for thread in truth.threads)
    allowed_ns = max(0.01 * sum(true), len(truth.threads) * case.largest_gap_ns)
    text = f"both together {sum(found) / 1e9:.3f} s, truth {sum(true) / 1e9:.3f} s of {lifetimes / 1e9:.3f} s"
    text += f", {rest_ns / 1e9:.3f} s unsampled, allowed {allowed_ns / 1e9:.3f} s"
    is_whole = 0.99 * sum(true) <= sum(found) + min(rest_ns, allowed_ns) + unobserved_ns
    case.judge.verdict(is_whole and sum(found) <= 1.001 * lifetimes, text)


def judge_long(case):
    for thread, function in case.truth.shares:
        if function.startswith("wait_"):
            judge_once(case, thread, function)


def judge_kernel_waits(case):
    """By signal a thread that is held in the kernel replies when it is let go, and one in posix_spawn does not."""
    for thread, function in case.truth.shares:
        if function.startswith("serve_"):
            continue
        if case.by_signal and function == "wait_spawn":
            print(f"     {function}: {case.values(thread, SILENT)[WALL] / 1e9:.3f} s {SILENT}")
        elif case.by_signal and function == "read_into_page":
            # A pending signal makes the kernel try the page again and again: the wait becomes CPU time.
            print(f"     {function}: {case.values(thread, function)[CPU] / 1e9:.3f} s CPU")
        else:
            judge_once(case, thread, function)


def judge_deaf(case):
    for thread, function in case.truth.shares:
        true_ns, true_cpu_ns = case.truth.shares[(thread, function)]
        if not case.by_signal and not thread.startswith("mixed") and function != "spin_deaf":
            judge_once(case, thread, function)
            continue
        allowed = case.largest_gap_ns + OVERDUE_NS + case.truth.stalled_ns
        allowed += case.unobserved_ns(thread) + case.outside_ns(thread)
        # The ends of many visits, at random: four times the standard deviation, see above.
        allowed += 4 * 0.5 * case.profile.message.period * (case.truth.visits[(thread, function)] - 1) ** 0.5
        names = {function, SILENT} if case.by_signal else {SILENT} if function == "spin_deaf" else {function}
        _, cpu_ns, _, wall_ns = case.values(thread, *names)
        if case.by_signal and thread.startswith("mixed"):
            print(f"     {thread} {function}: wall {wall_ns / 1e9:.4f} s in {names}, truth {true_ns / 1e9:.4f} s")
            continue
        case.judge.close(f"{thread} {function}: wall in {names}", wall_ns, true_ns, allowed)
        if function == "spin_deaf":
            case.judge.close(f"{thread} {function}: cpu in {names}", cpu_ns, true_cpu_ns, allowed)


def judge_samples_taken(case):
    """The profile tells how it was made."""
    taken = case.comment("^samples taken: ")
    match = case.comment(TAKEN.pattern + "$")
    case.judge.verdict(match is not None, f"comment: {taken.string if taken else 'nothing about samples taken'}")
    if not match:
        return
    unchanged, walked, replied, silent = (int(number) for number in match.groups()[:4])
    total, samples = unchanged + walked + replied + silent, case.profile.totals()[SAMPLES]
    case.judge.verdict(total == samples, f"{total} taken, {samples} samples")
    share = 100 * (unchanged + walked) / max(total, 1)
    case.judge.verdict(abs(share - float(match[5])) <= 0.01, f"{share:.3f} % without a signal")


def judge_busy(case):
    """Oversubscribed CPUs. A thread that is in one function for all its life loses nothing but the rest after its last
    sample. One that changes is subject to chance: the bound of judge_truth.py, and what fell into missed ticks."""
    wholly, partly = ("busy_whole",), ("busy_longer", "busy_shorter")
    for label, type, column in (("wall", WALL, 0), ("cpu", CPU, 1)):
        for functions in (wholly, partly):
            true = sum(case.truth.functions[function][column] for function in functions)
            threads = [thread for thread, function in case.truth.shares if function == functions[0]]
            found = sum(case.values(thread, *functions)[type] for thread in threads)
            rest = sum(case.values(thread, UNSAMPLED, UNOBSERVED, SILENT)[type] for thread in threads)
            text = f"{' and '.join(functions)}: {label} {found / 1e9:.4f} s and {rest / 1e9:.4f} s not seen"
            good = (1 - case.busy_share) * true <= found + rest and found <= (1 + case.busy_share) * true
            case.judge.verdict(good, f"{text}, truth {true / 1e9:.4f} s")
        for function in partly:
            found = sum(case.values(thread, function)[type] for thread in threads)
            part = case.truth.functions[function][column]
            samples = sum(case.values(thread, *partly)[SAMPLES] for thread in threads)
            gap = true / max(samples, 1)
            allowed = case.busy_share * part + bound(2 * gap * part * (1 - part / true), gap, 4)
            allowed += true * case.missed / (case.made + case.missed)
            case.judge.close(f"{function}: {label} {100 * (found / part - 1):+.2f} %", found, part, allowed)


def judge_woken(case):
    """Blocked threads sleep on. Each has samples all the same."""
    samples = {name: values[SAMPLES] for (_, name), values in case.profile.threads().items()}
    truth = case.truth
    taken = sum(
        samples.get(name, 0) * min(truth.watched_ns / truth.threads[name][1], 1) for name in truth.woken
    )
    times = sum(sum(switches) for switches in truth.woken.values())
    text = f"{len(truth.woken)} threads woken {times} times in {taken:.0f} samples"
    if case.by_signal:
        print("    ", text)
        return
    case.judge.verdict(times < case.wake_ups * taken, f"{text}, allowed {case.wake_ups:g} each")
    case.judge.verdict(truth.interrupted == 0, f"{truth.interrupted} calls returned EINTR")


def judge_still_blocked(case):
    """Where a thread has been in one call until the end, all of its time is found there."""
    off = []
    for thread, function in case.truth.shares:
        if thread in case.truth.woken:
            found_ns = case.values(thread, function, UNOBSERVED)[WALL]
            off.append((found_ns - case.truth.shares[(thread, function)][0]) / 1e6)
    print(f"     blocked threads' calls are off by {min(off):+.3f} to {max(off):+.3f} ms")
    if not case.by_signal:
        # Until it is first seen there: elsewhere, or there because it went there. And from the report to the end.
        allowed = 100 + case.truth.stalled_ns / 1e6
        rest = case.after_report_ns / 1e6
        good = -allowed <= min(off) and max(off) <= allowed + rest
        case.judge.verdict(good, f"allowed {allowed:.1f} ms, and {rest:.3f} ms to the end")


def judge_wakeups(case):
    judge_woken(case)
    if case.busy_share:
        judge_busy(case)
    judge_still_blocked(case)
    if not case.by_signal:
        judge_samples_taken(case)


def judge_churn(case):
    """Each short thread's time is in its own function, except for the rest after its last sample."""
    truth, short = case.truth, [name for name in case.truth.threads if name.startswith("brief")]
    own = {thread: function for thread, function in truth.shares}
    strangers = [
        (thread, function)
        for (thread, function), values in case.found.items()
        if function in truth.functions and own.get(thread) != function and values[WALL]
    ]
    case.judge.verdict(not strangers, f"functions found in threads that are not theirs: {strangers[:5]}")
    samples = {name: values[SAMPLES] for (_, name), values in case.profile.threads().items()}
    looked_at = [name for name in short if samples.get(name)]
    gap_ns = sum(truth.threads[name][1] for name in short) / max(sum(samples.get(name, 0) for name in short), 1)
    print(f"     {len(short)} short threads, {len(looked_at)} of them seen, every {gap_ns / 1e6:.3f} ms")
    true_ns = sum(truth.shares[(name, own[name])][0] for name in short)
    found_ns = sum(case.values(name, own[name])[WALL] for name in short)
    rest_ns = sum(case.values(name, UNSAMPLED)[WALL] for name in short)
    unobserved_ns = sum(case.unobserved_ns(name) for name in short)
    case.judge.close("in their functions or not seen", found_ns + rest_ns + unobserved_ns, true_ns, 0.01 * true_ns)
    # A gap on average, if gaps are exponential (judge_truth.py); where ticks are missed in a row, some are far longer.
    allowed_ns = 6 * gap_ns * len(short) + 16 * truth.stalled_ns
    case.judge.verdict(rest_ns <= allowed_ns, f"unsampled {rest_ns / 1e9:.4f} s, allowed {allowed_ns / 1e9:.4f} s")


def judge_threads(case):
    """Each is there once, by its name, with its lifetime; see judge_truth.py. Of those that are there to the end the
    report cannot tell how long that was, but the main thread's time does. Of thousands that come and go a few wait for
    a CPU between their start and their first line."""
    judge, truth = case.judge, case.truth
    by_tid = {tid: (name, values[WALL]) for (tid, name), values in case.profile.threads().items()}
    judge.verdict(len(by_tid) == len(case.profile.threads()), f"{len(by_tid)} threads, each under one name")
    judge.verdict(len(by_tid) == len(truth.threads) + 1, f"{len(by_tid)} threads found of {len(truth.threads) + 1}")
    wrong = [name for name, (tid, _, _) in truth.threads.items() if by_tid.get(tid, ("",))[0] != name]
    judge.verdict(not wrong, f"threads that are missing or have another name: {wrong[:5]}")
    off = []
    for name, (tid, lifetime_ns, _) in truth.threads.items():
        rest_ns = case.after_report_ns if name in truth.woken else 0
        found_ns = by_tid.get(tid, (name, 0))[1]
        if not -0.01 * lifetime_ns - 20e6 <= found_ns - lifetime_ns <= 0.01 * lifetime_ns + 20e6 + rest_ns:
            off.append(f"{name} {found_ns / 1e9:.4f} s, truth {lifetime_ns / 1e9:.4f} s")
    judge.verdict(len(off) <= 0.01 * len(truth.threads), f"{len(off)} threads' wall times are off: {off[:5]}")


def judge_sums(case):
    _, cpu_ns, offcpu_ns, wall_ns = case.profile.totals()
    truth = case.truth
    lifetimes_ns = truth.main_ns + sum(lifetime for _, lifetime, _ in truth.threads.values())
    # What the main thread has more than it says is after the report, where others live too, or before its first line.
    half_ns = case.after_report_ns * (len(truth.woken) + 1) / 2
    allowed_ns = lifetimes_ns * 0.01 + 20e6 + half_ns
    case.judge.close("total wall is the sum of the lifetimes", wall_ns, lifetimes_ns + half_ns, allowed_ns)
    # Of a program that waits little CPU time is left, most of it outside: the loader's, and of each thread that of its
    # creation and its end in the kernel.
    own_ns, outside_ns = sampler_cpu_ns(case.profile), 10e6 + 50e3 * len(truth.threads)
    true_ns = truth.rusage_ns - own_ns
    case.judge.close("total cpu is the process's", cpu_ns, true_ns, truth.rusage_ns * 0.02 + outside_ns)
    case.judge.close("cpu and off-cpu make up the wall time", cpu_ns + offcpu_ns, wall_ns, wall_ns * 0.01)


def judge_stacks(case):
    """Where a measured function is found, so are all that called it; and every stack goes back to its thread's root."""
    seen = rooted = found = whole = 0
    for sample in case.profile.message.sample:
        stack, count = case.profile.stack(sample), sample.value[SAMPLES]
        if stack == [SILENT]:  # no stack, and judge_pseudo tells how often; main in pthread_create, where load is high
            continue
        seen += count
        rooted += count * case.profile.reaches_root(sample)
        places = [place for place, name in enumerate(stack) if name in case.truth.functions]
        if places:
            found += count
            whole += count * (stack[places[-1] + 1 :][:26] == LEVELS + ["worker_main"])
    case.judge.verdict(found and whole >= 0.999 * found, f"{whole} of {found} stacks have all 25 levels in order")
    case.judge.verdict(rooted >= 0.999 * seen, f"{rooted} of {seen} stacks reach their thread's root")


def judge_pseudo(case):
    """What could not be seen, for the log."""
    for name in sorted(PSEUDO):
        samples, cpu, _, wall = (sum(values[t] for (_, f), values in case.found.items() if f == name) for t in range(4))
        if samples or wall:
            print(f"     {name}: {samples} samples, {wall / 1e9:.4f} s, {cpu / 1e9:.4f} s CPU")


MODES = {
    "alternate": judge_alternate,
    "long": judge_long,
    "wakeups": judge_wakeups,
    "deaf": judge_deaf,
    "churn": judge_churn,
    "kernel-waits": judge_kernel_waits,
}


def main(mode, profile_path, truth_path, options):
    case = Case(Profile(profile_path), BlockedTruth(truth_path), options)
    print(f"{case.truth.interrupted} calls returned EINTR, the machine stood still for {case.truth.stalled_ns / 1e9:.3f} s")
    judge_pseudo(case)
    judge_sums(case)
    MODES[mode](case)
    judge_threads(case)
    judge_stacks(case)
    print(f"{len(case.judge.failures)} bad")
    return 1 if case.judge.failures else 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    given = dict((word[2:] + "=").split("=")[:2] for word in sys.argv[1:] if word.startswith("--"))
    if len(words) != 3 or words[0] not in MODES:
        sys.exit(__doc__)
    sys.exit(main(*words, given))
