"""Threads that wait for a lock, and for work.

python_lock.py MS: they wait for so long. Prints what a profile calls each of what they wait for.
"""
import queue
import sys
import threading
import time

lock = threading.Lock()
work = queue.Queue()


def take_lock():
    with lock:
        pass


def take_work():
    work.get()  # waits in functions of the library


def main():
    lock.acquire()
    threads = [threading.Thread(target=function) for function in (take_lock, take_work)]
    for thread in threads:
        thread.start()
    time.sleep(float(sys.argv[1]) / 1000)
    lock.release()
    work.put(None)
    for thread in threads:
        thread.join()
    for function in (take_lock, take_work):
        print(f"sem in {function.__name__} python_lock.py:{function.__code__.co_firstlineno}")


main()
