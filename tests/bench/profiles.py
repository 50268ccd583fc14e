"""What a profile says about its own making: how many samples, of how many stacks, at what cost."""

import re
import struct

from measure import Failed
from pprof_read import Broken, Profile


def number_before(text, pattern, comments):
    match = re.search(pattern, comments)
    if not match:
        raise Failed(f"the profile's comments do not name {text}:\n{comments}")
    return float(match.group(1))


def add_samples(variant, report):
    """The number of samples, from the profile itself; of ours also the CPU time of the sampler."""
    if not variant.output:
        return
    if "file_bytes" not in report:
        raise Failed(f"{variant.name} left no profile")
    if not report["file_bytes"]:
        raise Failed(f"{variant.name} left an empty profile")
    if variant.output.name.startswith("gperftools"):
        report["samples"], report["stacks"] = read_legacy(variant.output)
        report["duration_ns"] = report["reaped_ns"] - report["started_ns"]
        return
    profile = read_profile(variant)
    comments = "\n".join(profile.comments())
    report["samples"] = number_before("samples", r"(\d+) samples", comments)
    report["sampler_cpu_ns"] = number_before("the sampler's CPU time", r"used ([\d.]+) s of CPU", comments) * 1e9
    report["stacks"] = len(profile.message.sample)
    report["duration_ns"] = profile.message.duration_nanos


def read_profile(variant):
    try:
        return Profile(variant.output)
    except (OSError, Broken) as error:
        raise Failed(f"the profile of {variant.name} cannot be read: {error}") from error


def read_legacy(path):
    """Samples and distinct stacks of the format of gperftools: a header, then (count, depth, addresses) up to a count
    of 0."""
    data = path.read_bytes()
    words = struct.unpack(f"{len(data) // 8}Q", data[: len(data) // 8 * 8])
    at, samples, stacks = 2 + words[1], 0, set()
    while at + 1 < len(words) and words[at] != 0:
        count, depth = words[at], words[at + 1]
        stacks.add(words[at + 2 : at + 2 + depth])
        samples += count
        at += 2 + depth
    return samples, len(stacks)
