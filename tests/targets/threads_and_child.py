"""Threads that work and wait, and a program that the C library starts; with an argument a forked child as well."""

import os
import sys
import threading
import time


def work():
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(0.05)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(os.system("true"))
if sys.argv[1:]:
    sys.stdout.flush()
    child = os.fork()
    work()
    if child == 0:
        raise SystemExit(0)
    os.waitpid(child, 0)
