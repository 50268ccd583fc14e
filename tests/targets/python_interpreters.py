"""A thread that waits and one that computes, each in an interpreter of its own, begun one after the other: all others sleep
meanwhile. Writes what python_frames.py writes.

    python_interpreters.py FILE SECONDS
"""
import json
import os
import sys
import threading
import time

try:
    import _interpreters
    run = _interpreters.exec
except ImportError:
    import _xxsubinterpreters as _interpreters
    run = _interpreters.run_string

INSIDE = """import os, time

def rest():
    time.sleep(3600)

def spin():
    total = 0
    while True:
        for i in range(1000):
            total += i * i % 7

os.write({pipe}, b"x")
sorted([2, 1], key=lambda value: {function}())
"""
FILE = "<script>" if sys.version_info >= (3, 14) else "<string>"
INNER = [["<lambda>", FILE, 13], ["<module>", FILE, 13]]
begun, tell = os.pipe()


def in_interpreter(function):
    run(_interpreters.create(), INSIDE.format(function=function, pipe=tell))


def stack_of(frame):
    stack = []
    while frame:
        stack.append([frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def begin(function):
    thread = threading.Thread(target=in_interpreter, args=[function], daemon=True)
    thread.start()
    os.read(begun, 1)
    return {thread.native_id: INNER + stack_of(sys._current_frames()[thread.ident])}


waiting = {tid: [["rest", FILE, 4]] + stack for tid, stack in begin("rest").items()}
time.sleep(0.2)
running = begin("spin")
with open(sys.argv[1], "w") as file:
    json.dump({"waiting": waiting, "running": running}, file)
time.sleep(float(sys.argv[2]))
os._exit(0)
