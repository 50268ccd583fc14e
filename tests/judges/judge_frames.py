#!/usr/bin/env python3
"""judge_frames.py TOOL_FRAMES PROGRAM [DEBUG_FILE]: what wallprof says of 1,000 random addresses in the functions of a
program, held to what binutils' addr2line -i -f says: the chain of functions, their files (compared as normalised
paths) and lines. DEBUG_FILE is what addr2line gets to read where PROGRAM is stripped.

addr2line 2.40 looks up functions that have no linkage name (of a language whose functions have) in the symbol table by
the address that it was asked for: an inlined function is then called as the one around it, and the one around it, met as
a caller, by its short name. It also gives a line of a header as one of the file that includes it, now and then (seen
with DWARF 5). Such names and files are held to llvm-symbolizer instead, and counted.
"""
import bisect
import os
import random
import re
import subprocess
import sys

ADDRESSES = 1000
SHOWN = 5


def run(*command, text_in=None):
    done = subprocess.run(command, input=text_in, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def functions(path):
    """Start and size of every function in .text."""
    text = re.search(r"\[ *(\d+)\] \.text ", run("readelf", "-SW", path))[1]
    found = set()
    for line in run("readelf", "-sW", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[3] == "FUNC" and fields[6] == text and int(fields[2], 0) > 0:
            found.add((int(fields[1], 16), int(fields[2], 0)))
    return sorted(found)


def draw(path):
    """Each byte of a function is as likely as every other."""
    places, total, ends = functions(path), 0, []
    for _, size in places:
        total += size
        ends.append(total)
    chosen = set()
    while len(chosen) < min(ADDRESSES, total // 2):
        at = random.randrange(total)
        index = bisect.bisect_right(ends, at)
        chosen.add(places[index][0] + at - (ends[index] - places[index][1]))
    return sorted(chosen)


def place(text):
    file, _, line = re.sub(r" \(discriminator \d+\)$", "", text).rpartition(":")
    line = "0" if line == "?" else line
    path = os.path.normpath(file)
    if not path.startswith("/"):  # both references write a relative directory of compilation twice
        path = re.sub(r"^(.+?)/\1/", r"\1/", path)
    return (path if line != "0" else "??"), line


def answers(text):
    """By address: (function, (file, line)) of each frame."""
    found, frames, name = {}, None, None
    for line in text.splitlines():
        if re.fullmatch("0x[0-9a-f]{16}", line):
            frames = found.setdefault(int(line, 16), [])
        elif name is None:
            name = line
        else:
            frames.append((name, place(line)))
            name = None
    return found


def answers_of_llvm(debug, chosen):
    """As above; of no address without llvm-symbolizer."""
    try:
        text = run("llvm-symbolizer", "--functions=linkage", "--no-demangle", "--inlining", "-e", debug,
                   text_in="".join(f"{address:#x}\n" for address in chosen))
    except FileNotFoundError:
        return {}
    found = {}
    for address, block in zip(chosen, text.split("\n\n")):
        lines = block.splitlines()
        found[address] = [(name, place(at.rpartition(":")[0])) for name, at in zip(lines[::2], lines[1::2])]
    return found


def without_clones(frames):
    """A part of a function that the compiler has moved or changed (.cold, .isra.0) is that function."""
    return frames[:-1] + [(re.sub(r"(?<=.)\..*", "", frames[-1][0]), frames[-1][1])] if frames else frames


def is_excused(mine, other, judged):
    """Names, or files, where llvm-symbolizer says the same as we do. Never a line, never a frame."""
    names, places = [name for name, _ in mine], [at for _, at in mine]
    other_names, other_places = [name for name, _ in other], [at for _, at in other]
    if [line for _, line in places] != [line for _, line in other_places]:
        return False
    if judged is None:
        return places == other_places
    return (names == other_names or names == [name for name, _ in judged]) and (
        places == other_places or places == [at for _, at in judged])


def main():
    by_llvm = sys.argv[1] == "--llvm"
    tool, program, *rest = sys.argv[1 + by_llvm:]
    debug = rest[0] if rest else program
    random.seed(os.path.basename(program))
    chosen = draw(debug)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-nW", program))
    asked = "".join(f"{address:x}\n" for address in chosen)
    ours = answers(run(tool, program, *([build_id[1]] if build_id else []), text_in=asked))
    judged = answers_of_llvm(debug, chosen)
    theirs = judged if by_llvm else answers(run("addr2line", "-a", "-i", "-f", "-e", debug, text_in=asked))
    for found in ours, judged, theirs:
        found.update({address: without_clones(frames) for address, frames in found.items()})
    different = [address for address in chosen if ours[address] != theirs[address]]
    bad = [a for a in different if by_llvm or not is_excused(ours[a], theirs[a], judged.get(a))]
    for address in bad[:SHOWN]:
        print(f"{address:#x}")
        for who, frames in ("wallprof", ours[address]), ("reference", theirs[address]):
            for name, (file, line) in frames:
                print(f"    {who:10}{name} {file}:{line}")
    inlined = sum(len(frames) > 1 for frames in theirs.values())
    deepest = max(len(frames) for frames in theirs.values())
    print(f"{len(chosen)} addresses, {inlined} in inlined calls, up to {deepest} frames deep:"
          f" {len(bad)} differ from {'llvm-symbolizer' if by_llvm else 'addr2line'}"
          f" ({len(different) - len(bad)} others in a name or file, as llvm-symbolizer has it)")
    return len(bad) > 0 or len(chosen) < ADDRESSES


sys.exit(main())
