#!/usr/bin/env python3
"""Compares what `wallprof top --json` says of target_requests with what its threads measured of themselves.

    judge_requests.py REPORT.json TRUTH [killed]

Every request is counted, alone or merged, with at least the time that it measured. The newcomer has its time, and what
it does is seen. No time is in [overflow]. With little memory many requests are merged.

killed: what the last thread did right before is not known.
"""

import json
import sys


def main(report_path, truth_path, killed=None):
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    with open(truth_path, encoding="utf-8") as file:
        truth = {words[0]: [int(word) for word in words[1:]] for words in map(str.split, file)}
    requests = [thread for thread in report["threads"] if thread["name"] == "request"]
    newcomers = [thread for thread in report["threads"] if thread["name"] == "newcomer"]
    merged = sum(thread["merged_threads"] for thread in requests)
    # All but the main thread and the newcomer. (A thread may end before it has its name.)
    count = sum(1 + thread["merged_threads"] for thread in report["threads"]) - 2
    wall = sum(thread["total"]["wall_ns"] for thread in requests)
    rows = {row["name"]: row["cum"] for row in report["rows"]}
    print(f"{len(requests)} threads, {merged} merged into them; {count} requests in all; wall {wall / 1e9:.6f} s, "
          f"truth {truth['requests'][1] / 1e9:.6f} s")
    checks = {
        "each request is counted": count == truth["requests"][0],
        "many are merged": merged > truth["requests"][0] / 4,
        "the requests' time": wall >= truth["requests"][1],
        "one newcomer": len(newcomers) == 1 and newcomers[0]["merged_threads"] == 0,
        "the newcomer's time": sum(thread["total"]["wall_ns"] for thread in newcomers) >= (0 if killed else truth["newcomer"][0]),
        "what the newcomer does": rows.get("newcomer_work", {}).get("cpu_ns", 0) >= 0.5e9,
        "nothing is in [overflow]": report["pseudo"]["[overflow]"]["wall_ns"] == 0,
    }
    wrong = [what for what, is_right in checks.items() if not is_right]
    for what in wrong:
        print(f"not so: {what}")
    sys.exit(bool(wrong))


main(*sys.argv[1:])
