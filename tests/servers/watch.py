#!/usr/bin/env python3
"""Runs a server and notes from outside what its profiles will be held to.

    watch.py REPORT [--preload=LIBRARY --out=PROFILE] [--stop=COMMAND] [--user=NAME] -- SERVER ARGUMENTS...

Five times a second every thread of the server and of the processes it starts is looked at in /proc: name, start, what
system call it waits in, how long it has used a CPU and waited for one. SIGUSR1 is the request to stop: all threads are
looked at once more, and the server is told to end by COMMAND, or by SIGTERM. REPORT (JSON) is written when the server
has ended; SIGTERM kills it and whatever it has started, at once.

The profiler is loaded into the server only, and only with --preload. Its own thread is told apart by name: what it used
is no CPU time of the program. It is looked at more often at the end, when it writes the profile.
"""

import ctypes
import json
import os
import pwd
import signal
import subprocess
import sys
import time

PERIOD_S = 0.2
STEP_S = 0.005
PATIENCE_S = 60  # then it is killed
OURS = "wallprof"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
prctl = ctypes.CDLL(None).prctl


def now():
    """The clock that /proc's start times are in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read(path):
    """A file of /proc, "" when its thread has gone."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def entries(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


class Thread:
    """One thread from when it was first seen: a later thread with its id is another one."""

    def __init__(self, pid, tid, stat):
        self.pid, self.tid = pid, tid
        self.path = f"/proc/{pid}/task/{tid}"
        self.start_s = start_of(stat)
        self.seen_s = self.seen_before_s = now()
        self.name = name_of(stat)
        self.calls = {}
        self.cpu_s = self.waited_s = self.switches = None

    def look(self):
        """False when it has gone."""
        call = read(self.path + "/syscall").split()
        stat = read(self.path + "/stat")
        if start_of(stat) != self.start_s:
            return False
        self.name, self.seen_before_s = name_of(stat), self.seen_s
        if call:
            self.calls[call[0]] = self.calls.get(call[0], 0) + 1
        self.look_at_cpu()
        return True

    def look_at_cpu(self):
        numbers = read(self.path + "/schedstat").split()
        if len(numbers) == 3:
            self.seen_s, self.cpu_s, self.waited_s = now(), int(numbers[0]) / 1e9, int(numbers[1]) / 1e9
        if self.name == OURS:
            self.look_at_switches()

    def look_at_switches(self):
        for line in read(self.path + "/status").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                self.switches = int(line.split()[1])

    def report(self):
        kept = ("tid", "name", "start_s", "seen_s", "seen_before_s", "calls", "cpu_s", "waited_s", "switches")
        return {key: getattr(self, key) for key in kept}


def start_of(stat):
    words = stat.rpartition(")")[2].split()
    return int(words[19]) * TICK_S if len(words) > 19 else None


def name_of(stat):
    return stat.partition("(")[2].rpartition(")")[0]


class Watch:
    def __init__(self, server, environment, user):
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.threads = {}  # by (pid, tid): those alive; the others are in `gone`
        self.gone = []
        self.stop_requested = False
        signal.signal(signal.SIGUSR1, self._ask_to_stop)
        signal.signal(signal.SIGTERM, lambda *_: self.kill_all() or sys.exit(143))
        # Should this program die, the server must not stay behind.
        self.server = subprocess.Popen(
            server,
            env=environment,
            preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
            **as_user(user),
        )

    def _ask_to_stop(self, *_):
        self.stop_requested = True

    def processes(self):
        """The server and everything below it."""
        found, left = [], [self.server.pid]
        while left:
            pid = left.pop()
            found.append(pid)
            for tid in entries(f"/proc/{pid}/task"):
                left.extend(int(child) for child in read(f"/proc/{pid}/task/{tid}/children").split())
        return found

    def look(self):
        met = set()
        for pid in self.processes():
            for tid in map(int, entries(f"/proc/{pid}/task")):
                met.add((pid, tid))
                self._look_at(pid, tid)
        for key in set(self.threads) - met:
            self.gone.append(self.threads.pop(key))

    def _look_at(self, pid, tid):
        thread = self.threads.get((pid, tid))
        if thread and thread.look():
            return
        if thread:
            self.gone.append(self.threads.pop((pid, tid)))
        stat = read(f"/proc/{pid}/task/{tid}/stat")
        if start_of(stat) is not None:
            self.threads[pid, tid] = Thread(pid, tid, stat)

    def look_at_ours(self):
        for thread in self.threads.values():
            if thread.name == OURS:
                thread.look_at_cpu()

    def has_ended(self):
        """Whether the server is dead, but not yet waited for."""
        return os.waitid(os.P_PID, self.server.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def run(self, stop):
        while not self.stop_requested and not self.has_ended():
            self.look()
            self.pause(lambda: self.stop_requested)
        self.look()
        self.stopped_s = now()
        if not self.has_ended():
            stop(self.server.pid)
        while not self.has_ended():
            if now() - self.stopped_s > PATIENCE_S:
                self.server.kill()
            self.look()
            self.pause(self.has_ended)
        self.ended_s = now()
        _, status, self.usage = os.wait4(self.server.pid, 0)
        self.server.returncode = os.waitstatus_to_exitcode(status)

    def pause(self, is_over):
        """Until it is time for the next look."""
        end = time.monotonic() + PERIOD_S
        while not is_over() and time.monotonic() < end:
            time.sleep(STEP_S)
            if self.stop_requested:
                self.look_at_ours()

    def kill_all(self):
        """What is left behind comes to this process: it is the reaper of all below it."""
        while True:
            left = read(f"/proc/{os.getpid()}/task/{os.getpid()}/children").split()
            for pid in map(int, left):
                os.kill(pid, signal.SIGKILL)
            try:
                os.wait()
            except ChildProcessError:
                return

    def report(self):
        processes = {}
        for thread in self.gone + list(self.threads.values()):
            processes.setdefault(thread.pid, []).append(thread.report())
        return {
            "pid": self.server.pid,
            "status": self.server.returncode,
            "stopped_s": self.stopped_s,
            "ended_s": self.ended_s,
            "cpu_s": self.usage.ru_utime + self.usage.ru_stime,
            "switches": self.usage.ru_nvcsw,
            "processes": processes,
        }


def as_user(name):
    if name is None:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def stop_by(command):
    if command:
        return lambda _: subprocess.run(command, shell=True, stdout=sys.stderr, check=True)
    return lambda pid: os.kill(pid, signal.SIGTERM)


def main(arguments):
    split = arguments.index("--")
    words, server = arguments[:split], arguments[split + 1 :]
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    environment = dict(os.environ)
    if "preload" in options:
        environment.update(LD_PRELOAD=options["preload"], WALLPROF_OUT=options["out"])
    else:  # settings of the profiler are for the profiled
        environment = {key: value for key, value in environment.items() if not key.startswith("WALLPROF_")}
    watch = Watch(server, environment, options.get("user"))
    try:
        watch.run(stop_by(options.get("stop")))
    finally:
        watch.kill_all()
    with open(words[0], "w", encoding="utf-8") as file:
        json.dump(watch.report(), file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
