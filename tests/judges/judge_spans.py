#!/usr/bin/env python3
"""Whether a thread that lives all the while has as much wall time as was recorded, to the nanosecond.

    judge_spans.py FILE...

Of each FILE the main thread, which was there from the beginning to the end. The sums of all files are printed: of each
thread id its wall and CPU time.
"""

import collections
import sys

import pprof_read


def main():
    sums = collections.defaultdict(lambda: [0, 0])
    for path in sys.argv[1:]:
        profile = pprof_read.Profile(path)
        threads = {tid: values for (tid, _), values in profile.threads().items()}
        longest = max((values[pprof_read.WALL] for values in threads.values()), default=0)
        if longest != profile.message.duration_nanos:
            print(f"{path}: {longest} ns of wall time in {profile.message.duration_nanos} ns")
            return 1
        for tid, values in threads.items():
            sums[tid][0] += values[pprof_read.WALL]
            sums[tid][1] += values[pprof_read.CPU]
    for tid, (wall, cpu) in sorted(sums.items()):
        print(tid, wall, cpu)
    return 0


sys.exit(main())
