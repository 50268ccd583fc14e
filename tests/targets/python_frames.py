"""Threads that wait, and threads that compute, in known places of Python. Writes their stacks, as Python itself tells
them while all of them are there, as JSON: {"waiting": {tid: stack}, "running": {tid: stack}}, where a stack is a list of
[function, file, line], innermost first. The stack of a thread that computes is without the function spin and what it
calls.

    python_frames.py FILE SECONDS
"""
import contextlib
import ctypes
import functools
import json
import os
import queue
import select
import socket
import sqlite3
import sys
import threading
import time

try:
    import greenlet
except ImportError:
    greenlet = None

HOLD_S = float(sys.argv[2])
never = threading.Event()


# ---- places to wait in ----

def rest():
    time.sleep(3600)


def in_sleep():
    rest()


def in_lock():
    lock = threading.Lock()
    lock.acquire()
    with lock:
        pass


def in_queue():
    queue.Queue().get()


def in_event():
    never.wait()


def in_join():
    thread = threading.Thread(target=rest, daemon=True)
    thread.start()
    thread.join()


def in_recursion(depth=150):
    if depth == 0:
        return rest()
    return in_recursion(depth - 1) or depth


def numbers():
    yield 1
    rest()
    yield 2


def delegate():
    yield from numbers()


def in_generator():
    for _ in delegate():
        pass


def in_generator_expression():
    return sum(rest() or number for number in [1, 2])


def in_comprehension():
    return [rest() for _ in range(2)]


def by_key(value):
    rest()
    return value


def in_sorted():
    sorted([3, 1, 2], key=by_key)


def in_map():
    return list(map(lambda value: by_key(value), [1, 2]))


def in_partial():
    functools.partial(by_key, 5)()


@functools.lru_cache
def cached(value):
    return by_key(value)


def in_cache():
    cached(7)


def in_min_of_min():
    min([1, 2], key=lambda value: max([value, 1], key=by_key))


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def in_c_callback():
    def compare(left, right):
        rest()
        return 0

    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, COMPARE(compare))


class Waiter:
    def __init__(self, is_first=True):
        if is_first:
            type(self)(False)
        self.value = rest()

    def __getattr__(self, name):
        return rest()

    def __len__(self):
        return rest()

    @property
    def slow(self):
        return rest()

    @staticmethod
    def rest_static():
        rest()

    class Inner:
        def method(self):
            rest()


def in_init():
    Waiter()


def without_init():
    return Waiter.__new__(Waiter)


def in_getattr():
    without_init().missing


def in_len():
    len(without_init())


def in_property():
    without_init().slow


def in_static():
    Waiter.rest_static()


def in_nested_class():
    Waiter.Inner().method()


def in_exec():
    exec(compile("def made():\n    rest()\nmade()\n", "<made up>", "exec"), {"rest": rest})


def in_handler():
    try:
        raise ValueError
    except ValueError:
        rest()


def in_finally():
    try:
        return 1
    finally:
        rest()


@contextlib.contextmanager
def context():
    yield
    rest()


def in_context():
    with context():
        pass


async def awaited():
    rest()


async def awaiting():
    await awaited()


def in_coroutine():
    awaiting().send(None)


def in_closure():
    def outer():
        def inner():
            rest()
        return inner

    outer()()


def in_many_lines():
    rest(
    ) if (
        True
    ) else None


def in_sqlite():
    path = sys.argv[1] + ".base"
    first = sqlite3.connect(path)
    first.execute("begin exclusive")
    sqlite3.connect(path, timeout=3600).execute("create table one (a)")


def in_sqlite_function():
    base = sqlite3.connect(":memory:")
    base.create_function("slow", 1, by_key)
    base.execute("select slow(5)").fetchall()


def in_socket():
    left, right = socket.socketpair()
    left.recv(1)
    right.close()


def in_select():
    left, right = socket.socketpair()
    select.select([left], [], [])
    right.close()


def in_größe():
    rest()


if greenlet:
    def in_first_greenlet():
        greenlet.greenlet(lambda: by_key(5)).switch()

    def in_inner_greenlet():
        inner = greenlet.greenlet(lambda: sorted([2, 1], key=by_key))
        outer = greenlet.greenlet(lambda: max([1, 2], key=lambda value: inner.switch()))
        outer.switch()

    def in_greenlet_again():
        """Its native stack was put away for another's, and back."""
        def begin():
            other.switch()
            rest()

        one = greenlet.greenlet(lambda: list(map(lambda _: begin(), [1])))
        other = greenlet.greenlet(lambda: min([1, 2], key=lambda _: one.switch()))
        one.switch()


# ---- places to compute in ----

def spin():
    total = 0
    while True:
        for i in range(1000):
            total += i * i % 7


def spin_directly():
    spin()


def spin_deep(depth=40):
    return spin() if depth == 0 else spin_deep(depth - 1)


def key_that_spins(value):
    spin()


def spin_in_sorted():
    sorted([2, 1], key=key_that_spins)


def spin_in_generator():
    def generate():
        spin()
        yield 1

    list(generate())


if greenlet:
    def spin_in_greenlet():
        greenlet.greenlet(spin_in_sorted).switch()


# ---- what Python says ----

def stack_of(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def without_spin(stack):
    at = [name for name, _, _ in stack].index("spin")
    return stack[at + 1:]


def sleeps(tid):
    with open(f"/proc/self/task/{tid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


def look(threads):
    frames = sys._current_frames()
    return {thread.native_id: stack_of(frames[thread.ident]) for thread in threads}


def look_at_waiting(threads):
    """Their stacks, when all of them wait and have not moved for a while."""
    before = None
    while True:
        now = look(threads)
        is_at_rest = all(sleeps(thread.native_id) for thread in threads)
        if is_at_rest and now == before:
            return now
        before = now if is_at_rest else None
        time.sleep(0.3)


def look_at_running(threads):
    while True:
        stacks = look(threads)
        if all(any(name == "spin" for name, _, _ in stack) for stack in stacks.values()):
            return {tid: without_spin(stack) for tid, stack in stacks.items()}
        time.sleep(0.1)


def start(prefix):
    threads = [threading.Thread(target=function, daemon=True, name=name[:15])
               for name, function in list(globals().items()) if name.startswith(prefix)]
    for thread in threads:
        thread.start()
    return threads


def main():
    waiting = look_at_waiting(start("in_"))
    running = look_at_running(start("spin_"))
    with open(sys.argv[1], "w") as file:
        json.dump({"waiting": waiting, "running": running}, file)
    time.sleep(HOLD_S)
    os._exit(0)


main()
