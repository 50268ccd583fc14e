#!/usr/bin/env python3
"""Runs suites that others wrote, bare and under wallprof, and compares what each of their tests says.

    compare.py --library LIBRARY [--libuv DIRECTORY] [--quick] [--hz HZ] [--keep DIRECTORY] [SUITE[:PART]...]

A suite has parts; a part is one command, which runs some tests. Every part runs bare (twice: a test that says one thing
and then another is flaky, and set aside), then with WALLPROF_OBSERVE=auto and =signal. What differs is repeated, bare and
profiled in turn, and counts if it differs again and bare never does, or much more often than bare. The exit status is 1
when anything counts, and 2 when nothing was compared or not all of it. SIGINT ends it with the table of what there is.
"""

import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

MODES = ("auto", "signal")
REPEATS = 5
MUCH_MORE_OFTEN = 3  # of the repeats
THE_RUN = "(the run)"  # how a part's command ended: a test like the others
ABSENT = "absent"
TIMED_OUT = "timed out"
BARE_ATTEMPTS = 3


class CPython:
    """The interpreter's own tests: a part is a module, run by test.regrtest."""

    name = "cpython"
    limit_s = 600
    directory = None  # where it must run, if anywhere
    parts = """test_signal test_eintr test_file_eintr test_threadsignals test_fork1 test_wait3 test_wait4 test_popen
        test_posix test_os test_pty test_faulthandler test_select test_selectors test_poll test_epoll test_time
        test_threading test_thread test_threading_local test_threadedtempfile test_queue test_sched
        test_fcntl test_mmap test_resource test_cmd_line test_atexit test_gc test_sys test_tracemalloc test_locale
        test_socketserver test_asyncore test_asynchat test_subprocess test_io test_socket
        test_multiprocessing_fork test_multiprocessing_main_handling test_concurrent_futures test_asyncio""".split()
    quick = {
        "test_signal": ["*PendingSignalsTests.test_sig*"],
        "test_posix": ["*TestPosixSpawn.*"],
        "test_os": ["FDInheritanceTests", "TestInvalidFD", "TestSendfile"],
        "test_cmd_line": ["test_no_std*", "test_closed_std*"],
        "test_subprocess": ["*pass_fds*", "*restore_signals*"],
    }
    python = "/usr/bin/python3.11"
    hanging = "*VSOCK*"  # bare too, in a virtual machine whose host does not answer

    def is_there(self):
        return os.path.exists("/usr/lib/python3.11/test/test_signal.py")

    def command(self, part, tests):
        chosen = [word for test in tests for word in ("-m", test)]
        return [self.python, "-m", "test", "-v", "--fail-env-changed", "--junit-xml", "results.xml", "-i", self.hanging, *chosen, part]

    def outcomes(self, status, log, directory):
        found = {THE_RUN: {0: "completed", 2: "completed", 3: "environment changed"}.get(status, ending(status))}
        path = os.path.join(directory, "results.xml")
        if os.path.exists(path):
            for case in xml.etree.ElementTree.parse(path).iter("testcase"):
                found[case.get("name")] = self.outcome(case)
        # A subtest that fails is only in the log.
        for what, test in re.findall(r"^(FAIL|ERROR): \S+ \((\S+)\)", log, re.M):
            found[test] = "failed" if what == "FAIL" else "error"
        return found

    @staticmethod
    def outcome(case):
        for child, word in (("error", "error"), ("failure", "failed"), ("skipped", "skipped"), ("output", "failed as expected")):
            if case.find(child) is not None:
                return word
        return "passed"


class StressNg:
    """Kernel interfaces under load, with --verify: a part is a stressor, and one test."""

    name = "stress-ng"
    limit_s = 60
    directory = None
    parts = """signal sigabrt sigchld sigfd sigfpe sigio signest sigpending sigpipe sigq sigrt sigsegv sigsuspend sigtrap
        kill bad-altstack prctl set session pidfd ptrace
        fork vfork clone daemon exec spawn zombie wait vforkmany nice schedpolicy affinity exit-group
        pthread futex mutex membarrier peterson rseq yield switch sem sem-sysv shm shm-sysv mq msg
        timer timerfd hrtimers itimer clock nanosleep alarm sleep poll epoll eventfd
        inotify aio aiol io-uring pipe fifo sock sockpair sockfd sockmany udp dup fcntl flock lockf locka lockofd
        dynlib stack longjmp context stackmmap mprotect mmapfork madvise remap close rlimit procfs pty sysbadaddr
        env getrandom personality seccomp vdso userfaultfd unshare chroot""".split()
    quick = dict.fromkeys("sigsegv sigpending sigsuspend vfork itimer".split(), ())
    statuses = {0: "passed", 2: "failed", 3: "no resources", 4: "not implemented", 7: "metrics not to be trusted"}

    def is_there(self):
        return shutil.which("stress-ng") is not None

    def command(self, part, tests):
        return ["stress-ng", "--" + part, "2", "--timeout", "1", "--verify", "--oomable", "--temp-path", "."]

    def outcomes(self, status, log, directory):
        outcome = self.statuses.get(status, ending(status))
        if outcome == "passed" and re.search(r"skip|not implemented|no resource", log, re.I):
            outcome = "skipped"
        complaints = sorted(set(re.findall(r"(?:fail|error): *\[\d+\] (.*)", log)))
        return {THE_RUN: "; ".join([outcome, *(re.sub(r"0x[0-9a-f]+|\d+", "N", each) for each in complaints)])}


class Libuv:
    """The event loop under node: one part; each test is a process of its own, with helpers."""

    name = "libuv"
    limit_s = 400
    parts = ["all"]
    quick = {}
    directory = None

    def is_there(self):
        return self.directory is not None

    def command(self, part, tests):
        runner = os.path.join(self.directory, "build", "uv_run_tests")
        if not tests:
            return [runner]
        return ["sh", "-c", 'for test; do "$0" "$test" && echo "ok 1 - $test" || echo "not ok 1 - $test"; done', runner, *tests]

    def outcomes(self, status, log, directory):
        found = {THE_RUN: "completed" if status in (0, 1) else ending(status)}
        for no, test, skipped in re.findall(r"^(not )?ok \d+ - (\S+)( # SKIP)?", log, re.M):
            found[test] = "failed" if no else "skipped" if skipped else "passed"
        return found


def ending(status):
    if status is None:
        return TIMED_OUT
    return f"status {status}" if status >= 0 else signal.Signals(-status).name


class Runner:
    """Runs a part's command in a directory of its own, bare or profiled."""

    def __init__(self, options):
        self.options = options
        self.profiles = 0

    def run(self, suite, part, mode, tests=()):
        directory = tempfile.mkdtemp(prefix="transparency.")
        profiles = os.path.join(directory, "profiles")
        work = os.path.join(directory, "work")
        os.mkdir(profiles)
        os.mkdir(work)
        log = os.path.join(directory, "log")
        status = self.wait(suite, self.start(suite.command(part, tests), mode, suite.directory or work, profiles, log))
        with open(log, errors="replace") as file:
            text = file.read()
        found = suite.outcomes(status, text, work)
        written = len([name for name in os.listdir(profiles) if name.endswith(".pb.gz")])
        if mode != "bare" and not written:
            found[THE_RUN] += ", and no profile"  # as good as not compared
        self.profiles += written
        self.keep(suite, part, mode, log)
        shutil.rmtree(directory, ignore_errors=True)
        return found

    def start(self, command, mode, work, profiles, log):
        """Nothing of the caller's environment but the essential: what tests find there makes them differ."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "LOGNAME") if name in os.environ}
        environment.update(TMPDIR=os.path.dirname(log), UV_RUN_AS_ROOT="1", LC_ALL="C.UTF-8")
        if mode != "bare":
            environment.update(LD_PRELOAD=self.options.library, WALLPROF_OBSERVE=mode, WALLPROF_HZ=str(self.options.hz),
                               WALLPROF_OUT=os.path.join(profiles, "%p.pb.gz"))
        with open(log, "wb") as output:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment,
                                    cwd=work, start_new_session=True)

    @staticmethod
    def wait(suite, process):
        try:
            return process.wait(suite.limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what the tests have left behind, too
            except ProcessLookupError:
                pass
            process.wait()

    def keep(self, suite, part, mode, log):
        if not self.options.keep:
            return
        name = f"{suite.name}.{part}.{mode}"
        count = sum(each.startswith(name + ".") for each in os.listdir(self.options.keep))
        shutil.copy(log, os.path.join(self.options.keep, f"{name}.{count}.log"))


Difference = collections.namedtuple("Difference", "suite part test mode bare profiled bare_again profiled_again counts")


class Comparison:
    """What one suite's tests said, and where that differs."""

    def __init__(self, suite, runner, is_quick):
        self.suite, self.runner, self.is_quick = suite, runner, is_quick
        self.tests = self.stable = 0
        self.chosen = ()  # patterns of the tests to run of a part; all without
        self.flaky = []
        self.differences = []

    def compare(self, part):
        start = time.monotonic()
        self.chosen = self.suite.quick[part] if self.is_quick else ()
        bare = [self.run_bare(part) for _ in range(1 if self.is_quick else 2)]
        expected = bare[0]
        stable = {test for test in expected if all(each.get(test) == expected[test] for each in bare)}
        flaky = set().union(*bare) - stable
        found = [self.compare_mode(part, mode, expected, stable, flaky) for mode in MODES]
        self.tests += len(stable | flaky)
        self.flaky += [f"{part} {test}" for test in sorted(flaky)]
        for difference in (each for some in found for each in some):
            if difference.bare_again and not difference.counts:  # it was flaky all along
                stable.discard(difference.test)
            self.differences.append(difference)
        self.stable += len(stable)
        bad = sum(each.counts for some in found for each in some)
        print(f"{self.suite.name} {part}: {len(stable | flaky)} tests, {len(stable)} stable, {bad} different "
              f"({time.monotonic() - start:.0f} s)", flush=True)

    def run(self, part, mode, tests=()):
        return self.runner.run(self.suite, part, mode, tests or self.chosen)

    def run_bare(self, part):
        """One run that was cut short would set aside every test after the cut: it is made again."""
        for _ in range(BARE_ATTEMPTS):
            found = self.run(part, "bare")
            if found[THE_RUN] != TIMED_OUT:
                break
            self.flaky.append(f"{part}: a bare run was cut short")
            print("   ", self.flaky[-1], flush=True)
        return found

    def compare_mode(self, part, mode, expected, stable, flaky):
        got = self.run(part, mode)
        suspects = self.suspects(expected, got, stable, flaky)
        return [self.judge(part, mode, test, expected[test] if test in expected else ABSENT, got.get(test, ABSENT), again)
                for again in [self.repeat(part, mode, suspects)] for test in sorted(suspects)]

    @staticmethod
    def suspects(expected, got, stable, flaky):
        """A run that was cut short is one difference, not as many as there are tests after the cut."""
        is_whole = got[THE_RUN] == expected[THE_RUN]
        return {test for test in (stable | got.keys()) - flaky
                if got.get(test, ABSENT) != expected.get(test, ABSENT) and (is_whole or test in got)}

    def repeat(self, part, mode, suspects):
        """Outcomes of REPEATS runs, bare and profiled in turn: of those tests alone, if they can be had alone."""
        if not suspects:
            return []
        alone = [] if any("(" in test or " " in test for test in suspects) else sorted(suspects)
        return [(self.run(part, "bare", alone), self.run(part, mode, alone)) for _ in range(REPEATS)]

    def judge(self, part, mode, test, bare, profiled, again):
        bare_again = sum(each.get(test, ABSENT) != bare for each, _ in again)
        profiled_again = sum(each.get(test, ABSENT) != bare for _, each in again)
        counts = profiled_again > 0 if bare_again == 0 else profiled_again >= bare_again + MUCH_MORE_OFTEN
        difference = Difference(self.suite.name, part, test, mode, bare, profiled, bare_again, profiled_again, counts)
        print("   ", describe(difference), flush=True)
        return difference


def describe(difference):
    verdict = "DIFFERENT" if difference.counts else "flaky"
    return (f"{verdict} {difference.suite} {difference.part} {difference.test}, {difference.mode}: {difference.bare} bare, "
            f"{difference.profiled} profiled; again {difference.bare_again} and {difference.profiled_again} of {REPEATS} times")


def report(comparisons, runner):
    print("\n| suite | tests | stable bare | different under auto | different under signal |\n|---|---|---|---|---|")
    for each in comparisons:
        counts = [sum(d.counts and d.mode == mode for d in each.differences) for mode in MODES]
        print(f"| {each.suite.name} | {each.tests} | {each.stable} | {counts[0]} | {counts[1]} |")
    print(f"\n{runner.profiles} profiles were written.")
    for each in comparisons:
        for name in each.flaky:
            print(f"flaky bare, set aside: {each.suite.name} {name}")
        for difference in sorted(each.differences, key=lambda d: d.counts):
            print(describe(difference))


def chosen_parts(suite, options):
    """Of the suites and SUITE:PARTs that were asked for; all if none was."""
    parts = list(suite.quick) if options.quick else suite.parts
    words = [word.partition(":") for word in options.suites]
    named = [part for name, _, part in words if name == suite.name and part]
    is_whole = not words or any(name == suite.name and not part for name, _, part in words)
    return parts if is_whole else named


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--libuv")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--hz", type=int, default=1000)
    parser.add_argument("--keep")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # a shell's job would have the tests ignore them
    Libuv.directory = options.libuv
    runner = Runner(options)
    comparisons, queue = [], []
    for suite in (CPython(), StressNg(), Libuv()):
        parts = chosen_parts(suite, options)
        if parts and not suite.is_there():
            print(f"{suite.name}: not installed, skipped")
        elif parts:
            comparisons.append(Comparison(suite, runner, options.quick))
            queue += [(comparisons[-1], part) for part in parts]
    try:
        for comparison, part in queue:
            comparison.compare(part)
        is_whole = True
    except KeyboardInterrupt:
        is_whole = False
        print("interrupted: this is about what was compared until then")
    report(comparisons, runner)
    if not is_whole or not any(each.stable for each in comparisons):
        sys.exit(2)
    sys.exit(any(difference.counts for each in comparisons for difference in each.differences))


if __name__ == "__main__":
    main()
