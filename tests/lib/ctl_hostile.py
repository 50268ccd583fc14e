#!/usr/bin/env python3
"""What a malicious process of the same user can do to a recorded one by the page that wallprof ctl writes.

    ctl_hostile.py TASK FILE      /proc/PID/task/TID of its sampler; a file that must stay as it is
"""

import mmap
import os
import random
import struct
import sys
import time

LAYOUT = struct.Struct("=IIIIIi")  # layout, wake, request_number, reply_number, kind, result
PATH_AT, PATH_BYTES, STATUS = LAYOUT.size, 4096, 4


def find(task):
    for entry in os.listdir(f"{task}/fd"):
        path = f"{task}/fd/{entry}"
        if os.readlink(path).startswith("/memfd:wallprof-control"):
            return os.open(path, os.O_RDWR)
    sys.exit("there is no page")


def is_refused(what):
    try:
        what()
    except OSError:
        return True
    return False


def wait_for_reply(page, number):
    for _ in range(2000):
        if struct.unpack_from("=I", page, 12)[0] == number:
            return
        page[4:8] = struct.pack("=I", struct.unpack_from("=I", page, 4)[0] + 1)
        time.sleep(0.005)
    sys.exit("no reply")


def main():
    task, kept = sys.argv[1:]
    fd = find(task)
    with open(kept, "rb") as file:
        before = file.read()
    if not is_refused(lambda: os.ftruncate(fd, 0)) or not is_refused(lambda: os.ftruncate(fd, 1 << 20)):
        sys.exit("the page can be made smaller, or larger")
    page = mmap.mmap(fd, os.fstat(fd).st_size)
    rng = random.Random(1)
    for number in range(200):
        noise = rng.randbytes(len(page) - PATH_AT)
        if number % 4 == 0:  # a path without an end, not from the root
            noise = b"x" * len(noise)
        page[PATH_AT:] = noise
        kind = rng.choice([0, 3, 4, 5, 0x7FFFFFFF, 0xFFFFFFFF])
        request = rng.getrandbits(32) | 1
        page[16:20] = struct.pack("=I", kind)
        page[8:12] = struct.pack("=I", request)
        wait_for_reply(page, request)
    page[0:4] = struct.pack("=I", LAYOUT_NUMBER)
    with open(kept, "rb") as file:
        if file.read() != before:
            sys.exit(f"{kept} is another now")


LAYOUT_NUMBER = 0x77700001
main()
