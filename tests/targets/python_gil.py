"""Two threads and the interpreter's lock, for SECONDS: gil-a holds it for 200 ms in a C function that keeps it, and lets it go for
50 ms; gil-b computes whenever it gets it. So each can only wait for the other. The kernel knows both by these names.

    python_gil.py SECONDS
"""

import ctypes
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[1])


def name_thread(name):
    with open("/proc/thread-self/comm", "w", encoding="ascii") as comm:
        comm.write(name)


def keep():
    name_thread("gil-a")
    keeps_lock = ctypes.PyDLL(None).usleep
    while time.monotonic() < end:
        keeps_lock(200000)
        time.sleep(0.05)


def compute():
    name_thread("gil-b")
    while time.monotonic() < end:
        sum(range(1000))


threads = [threading.Thread(target=function) for function in (keep, compute)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
