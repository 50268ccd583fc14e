#!/usr/bin/python3
"""Acts as another user in a directory that every user may write to: planted.py USER DIRECTORY NAME SECRET LOOT

As that user, and until it is ended, puts one thing after the other under NAME, as fast as it can: a link to SECRET, which
it cannot read itself, one to LOOT, a file of its own, a FIFO without a reader, and nothing. Says "ready" once it does.
"""

import itertools
import os
import sys


def main():
    user, directory, name, secret, loot = sys.argv[1:]
    os.setgid(int(user))
    os.setuid(int(user))
    os.chdir(directory)
    makers = [
        lambda place: os.symlink(secret, place),
        lambda place: os.symlink(loot, place),
        lambda place: os.mkfifo(place),
    ]
    new = f".planted-{name}"
    for round_number, make in enumerate(itertools.cycle(makers)):
        try:
            make(new)
            os.rename(new, name)
            os.unlink(name)
        except OSError:
            pass
        if os.path.lexists(new):
            os.unlink(new)
        if round_number == 10:
            print("ready", flush=True)


if __name__ == "__main__":
    main()
