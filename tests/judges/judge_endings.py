#!/usr/bin/env python3
"""However a process ends, there is a profile of it, it is true, and the end is what it would have been without us.

    judge_endings.py matrix preload|run DIRECTORY THREADS|child [ENDING...]
    judge_endings.py kills DIRECTORY COUNT

For e2e_endings.sh, with what e2e.sh sets in the environment: BUILD, PPROF. matrix: each ending of target_endings is
run without and with the profiler; of both, output, status and core dump must be the same. The wall time of each
thread must be what the program logged of it; of a process that was killed, up to its last tick.
kills: so many processes are killed at random moments, each leaves a store that can be read.
preload: the library alone, with a store; what was left of those that could not write is recovered. run: under
wallprof-run, which sees to that itself.
"""

import concurrent.futures
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import time

import pprof_read

BUILD, PPROF = os.environ["BUILD"], os.environ["PPROF"]
TARGET, TOOL, LIBRARY = f"{BUILD}/tests/targets/target_endings", f"{BUILD}/wallprof", f"{BUILD}/libwallprof.so"
MEMORY_GROUPS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")
MEMORY_LIMIT = 96 << 20


class Wrong(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Wrong(what)


# ---- running ----


class Run:
    """One run of the target, and what came of it."""

    def __init__(self, directory, launcher, environment, arguments, has_core):
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(f"{directory}/cwd")
        os.makedirs(f"{directory}/stores")
        self.directory, self.before_ns = directory, time.monotonic_ns()
        core = resource.RLIM_INFINITY if has_core else 0
        if arguments[0] == "out-of-memory": # the process that will ask for it joins it
            environment = {**environment, "ENDINGS_MEMORY_GROUP": memory_group()}

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (core, resource.getrlimit(resource.RLIMIT_CORE)[1]))

        done = subprocess.run(
            [*launcher, TARGET, *arguments[:2], f"{directory}/log", *arguments[2:]], cwd=f"{directory}/cwd",
            env={"PATH": os.environ["PATH"], **environment}, preexec_fn=prepare, timeout=120, capture_output=True)
        self.after_ns = time.monotonic_ns()
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        if self.status < 0: # as a shell says it
            self.status = 128 - self.status
        self.cores = len([name for name in os.listdir(f"{directory}/cwd") if name.startswith("core")])
        self.log = read_log(f"{directory}/log")

    def files(self, ending):
        return [f"{self.directory}/stores/{name}" for name in os.listdir(f"{self.directory}/stores")
                if name.endswith(ending)]


def memory_group():
    """A group with little memory; None where none can be made."""
    for parent in MEMORY_GROUPS:
        path = f"{parent}/wallprof-endings-{os.getpid()}"
        for name in ("memory.limit_in_bytes", "memory.max"):
            try:
                os.makedirs(path, exist_ok=True)
                with open(f"{path}/{name}", "w", encoding="ascii") as file:
                    file.write(str(MEMORY_LIMIT))
                return path
            except OSError:
                pass
    return None


def drop_memory_group():
    for parent in MEMORY_GROUPS:
        path = f"{parent}/wallprof-endings-{os.getpid()}"
        if os.path.isdir(path):
            try:
                os.rmdir(path)
            except OSError:
                pass


def read_log(path):
    with open(path, "rb") as file:
        data = file.read()
    pid, ticked, ending, count = struct.unpack_from("=QQQQ", data)
    return pid, ticked, ending, [struct.unpack_from("=QQQ", data, 32 + 24 * i) for i in range(count)]


# ---- judging ----


def check_same(bare, run, what):
    for name in ("status", "out", "cores"):
        with_us, without = getattr(run, name), getattr(bare, name)
        expect(with_us == without, f"{what}: {name} is {with_us!r}, without us {without!r}")
    lines = [line for line in run.err.splitlines() if not line.startswith(b"wallprof")]
    expect(lines == bare.err.splitlines(), f"{what}: stderr is {run.err!r}, without us {bare.err!r}")


def check_profile(path):
    profile = pprof_read.Profile(path)
    try:
        pprof_read.check(profile)
    except pprof_read.Broken as broken:
        raise Wrong(f"{path}: {broken}") from broken
    done = subprocess.run([PPROF, "-symbolize=none", "-top", path], capture_output=True, check=False)
    expect(done.returncode == 0, f"pprof cannot read {path}: {done.stderr!r}")
    return profile


def check_times(profile, run, is_ordinary):
    """Each thread from its start to the end: what is logged is within what was, on either side. What is left of a
    process that was killed says how it was at its last tick."""
    _, ticked, ending, threads = run.log
    expect(threads and ending, "the program did not get so far")
    last = ending if is_ordinary else ticked
    walls = {}
    for (tid, _), values in profile.threads().items():
        walls[int(tid)] = walls.get(int(tid), 0) + values[-1]
    for tid, created, started in threads:
        least, most = last - started, run.after_ns - (created or run.before_ns)
        expect(tid in walls, f"thread {tid} is not in the profile")
        expect(walls[tid] >= least, f"thread {tid} has {walls[tid]} ns, {least} at least")
        expect(walls[tid] <= most, f"thread {tid} has {walls[tid]} ns, of {most} at most")


def profile_of(run, mode, is_ordinary):
    """Of the process that ended: by itself, or by what is done of its store."""
    pid = run.log[0]
    stores, path = run.files(".live.store"), f"{run.directory}/{pid}.pb.gz"
    if mode == "run":
        left = os.listdir(f"{run.directory}/stores")
        expect(not left, f"of the run {left} are left")
    elif is_ordinary:
        expect(not stores, f"a store is left: {stores}")
    else:
        expect(not os.path.exists(path), "there is a profile already")
        expect(len(stores) == 1, f"there are {len(stores)} stores, not one")
        done = subprocess.run([TOOL, "recover", f"{run.directory}/stores"], capture_output=True, check=False)
        expect(done.returncode == 0, f"not recovered: {done.stdout!r} {done.stderr!r}")
        expect(not run.files(".live.store"), "the store is still there")
    expect(os.path.exists(path), f"there is no profile {path}: {os.listdir(run.directory)}")
    return path


def launch(mode, directory):
    where = {"WALLPROF_OUT": f"{directory}/%p.pb.gz"}
    if mode == "run":
        return [f"{BUILD}/../../scripts/wallprof-run", "--quiet", "--store", "auto"], {**where, "TMPDIR": f"{directory}/stores"}
    return [], {**where, "LD_PRELOAD": LIBRARY, "WALLPROF_STORE": f"{directory}/stores/"}


def judge(directory, mode, ending, is_ordinary, shape):
    arguments = [ending, "4", "child"] if shape == "child" else [ending, shape]
    what = f"{ending}, {shape}"
    has_core = shape == "1"
    bare = Run(f"{directory}/bare", [], {}, arguments, has_core)
    launcher, environment = launch(mode, f"{directory}/run")
    run = Run(f"{directory}/run", launcher, environment, arguments, has_core)
    check_same(bare, run, what)
    try:
        profile = check_profile(profile_of(run, mode, is_ordinary))
        check_times(profile, run, is_ordinary)
    except Wrong as wrong:
        raise Wrong(f"{what}: {wrong}; it said {run.err!r}") from wrong
    if shape == "child":
        expect(len(os.listdir(f"{directory}/run")) == 5, f"{what}: there is no profile of the parent")


def matrix(mode, directory, shape, wanted):
    listed = subprocess.run([TARGET, "list"], capture_output=True, check=True, text=True).stdout
    bad = 0
    for line in listed.splitlines():
        ending, is_ordinary = line.split()
        if ending == "lives-on" or (wanted and ending not in wanted):
            continue
        if ending == "out-of-memory" and not memory_group():
            print(f"LEFT OUT: {ending}: no memory group can be had")
            continue
        try:
            judge(directory, mode, ending, is_ordinary == "1", shape)
            print(f"{ending}, {shape}: as it should be", flush=True)
        except Wrong as wrong:
            print(f"FAIL: {wrong}", flush=True)
            bad = 1
    drop_memory_group()
    return bad


# ---- killed at random moments ----


def kill_one(directory, generator):
    """From the moment on that there is a store of it."""
    os.makedirs(f"{directory}/stores")
    _, environment = launch("preload", directory)
    before = time.monotonic_ns()
    process = subprocess.Popen([TARGET, "lives-on", "3", f"{directory}/log"], env=environment)
    stores = []
    while not stores:
        stores = [name for name in os.listdir(f"{directory}/stores")
                  if os.path.getsize(f"{directory}/stores/{name}") > 4096 and
                  open(f"{directory}/stores/{name}", "rb").read(8) == b"wpstore\n"]
        expect(time.monotonic_ns() < before + 20e9 and process.poll() is None, "it begins no store")
    time.sleep(generator.random() * 0.05)
    process.kill()
    process.wait()
    path = f"{directory}/profile.pb.gz"
    done = subprocess.run([TOOL, "export", f"{directory}/stores/{stores[0]}", "-o", path],
                          env={"PATH": os.environ["PATH"], "HOME": directory}, capture_output=True, check=False)
    expect(done.returncode == 0, f"the store cannot be read: {done.stderr!r}")
    profile = pprof_read.Profile(path)
    pprof_read.check(profile)
    most = time.monotonic_ns() - before
    for (tid, _), values in profile.threads().items():
        expect(values[-1] <= most, f"thread {tid} has {values[-1]} ns, of {most} at most")
    expect(profile.threads(), "there is no thread in it")


def kills(directory, count):
    generator, bad = random.Random(), 0

    def one(number):
        kill_one(f"{directory}/kill-{number}", generator)
        shutil.rmtree(f"{directory}/kill-{number}")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for killed in [pool.submit(one, number) for number in range(count)]:
            if killed.exception():
                print(f"FAIL: {killed.exception()!r}")
                bad += 1
    print(f"{count} processes killed, {count - bad} profiles")
    return bad > 0


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "kills":
        return kills(arguments[1], int(arguments[2]))
    if len(arguments) >= 4 and arguments[0] == "matrix":
        return matrix(arguments[1], arguments[2], arguments[3], arguments[4:])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
