#!/usr/bin/env python3
"""A server of many threads, and the load on it.

    threads.py serve SOCKET            until SIGTERM; status 0 if none of its threads met anything odd
    threads.py load SOCKET SECONDS     80 connections; prints ops, seconds, errors
"""

import queue
import select
import selectors
import signal
import socket
import sys
import threading
import time
import zlib

CONNECTIONS = 80
SLEEPERS, WORKERS, FEEDERS, WATCHERS, BUSY = 50, 60, 4, 4, 4
MESSAGE = 64
ITEM = b"x" * 1000
CHECKSUM = zlib.crc32(ITEM)


class Server:
    def __init__(self):
        self.stop = threading.Event()
        self.errors = []
        self.work = queue.Queue(100)
        self.done = 0

    def guard(self, target, arguments):
        try:
            target(*arguments)
        except Exception as error:  # whatever it is, the server must not end with status 0
            self.errors.append(repr(error))

    def start(self, target, *arguments):
        thread = threading.Thread(target=self.guard, args=(target, arguments))
        thread.start()
        return thread

    def sleep(self, seconds):
        """Nobody wakes it early."""
        while not self.stop.is_set():
            start = time.monotonic()
            time.sleep(seconds)
            if time.monotonic() - start < seconds:
                raise RuntimeError("slept for less than was asked")

    def feed(self):
        while not self.stop.wait(0.002):
            self.work.put(ITEM)
        for _ in range(WORKERS // FEEDERS):
            self.work.put(None)

    def take(self):
        while (item := self.work.get()) is not None:
            if zlib.crc32(item) != CHECKSUM:
                raise RuntimeError("wrong checksum")
            self.done += 1

    def watch(self, use_poll):
        """Waits for what does not come, with a time-out."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            poll = select.poll()
            poll.register(ours, select.POLLIN)
            while not self.stop.is_set():
                ready = poll.poll(100) if use_poll else select.select([ours], [], [], 0.1)[0]
                if ready:
                    raise RuntimeError("nothing was sent")

    def compute(self, compresses):
        text = bytes(range(256)) * 1000
        while not self.stop.is_set():
            if compresses:
                zlib.compress(text, 9)
            else:
                sum(number * number % 7 for number in range(2000))
            self.stop.wait(0.01)

    def echo(self, connection):
        with connection:
            while data := connection.recv(MESSAGE, socket.MSG_WAITALL):
                connection.sendall(data[::-1])

    def accept(self, listener):
        while not self.stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.settimeout(None)
            self.start(self.echo, connection)

    def run(self, path):
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, lambda *_: self.stop.set())
        threads = [self.start(self.sleep, 0.005 * number) for number in range(1, SLEEPERS + 1)]
        threads += [self.start(self.take) for _ in range(WORKERS)]
        threads += [self.start(self.feed) for _ in range(FEEDERS)]
        threads += [self.start(self.watch, number % 2) for number in range(WATCHERS)]
        threads += [self.start(self.compute, number % 2) for number in range(BUSY)]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(CONNECTIONS)
            listener.settimeout(0.2)
            threads.append(self.start(self.accept, listener))
            self.stop.wait()
            for thread in threads:
                thread.join()
        print(self.done, "items of work")
        for error in self.errors:
            print(error, file=sys.stderr)
        return 1 if self.errors or not self.done else 0


def load(path, seconds):
    selector = selectors.DefaultSelector()
    message = bytes(range(MESSAGE))
    ops = errors = 0
    for _ in range(CONNECTIONS):
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        client.sendall(message)
        selector.register(client, selectors.EVENT_READ)
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        for key, _ in selector.select(1.0):
            answer = key.fileobj.recv(MESSAGE, socket.MSG_WAITALL)
            errors += answer != message[::-1]
            ops += 1
            key.fileobj.sendall(message)
    for key in selector.get_map().values():
        errors += key.fileobj.recv(MESSAGE, socket.MSG_WAITALL) != message[::-1]
    print("ops", ops)
    print("seconds", time.monotonic() - start)
    print("errors", errors)


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(sys.argv[2], float(sys.argv[3]))
    else:
        sys.exit(Server().run(sys.argv[2]))
