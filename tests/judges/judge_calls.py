#!/usr/bin/python3
"""System calls that are made for the profiler: what is documented, what is listed, and what was traced.

    judge_calls.py ROOT lists                   the lists in preload/hook_seccomp.c are the table's
    judge_calls.py ROOT names threads|all       prints what running threads of the program call; what ours does
    judge_calls.py ROOT names strict            ... what the program calls in strict mode, and what ours does
    judge_calls.py ROOT traces BARE PROFILED    traces of strace -f: what is new is in the table
"""
import re
import sys


# The kernel's, where strace has stopped a thread that was in a call with a time limit.
OF_STRACE = {"restart_syscall"}


def table(root):
    """The rows: {when: (of threads, of ours)}, each {name: whether it is in bold}."""
    with open(f"{root}/docs/transparency.md", encoding="utf-8") as file:
        section = file.read().split("\n## seccomp\n")[1].split("\n## ")[0]
    rows = {}
    for line in section.splitlines():
        if line.startswith("|") and "`" in line:
            when, threads, ours = (cell.strip() for cell in line.strip("|").split("|"))
            rows[when.split(":")[0].split(" ")[0]] = tuple(
                {name: bool(bold) for bold, name in re.findall(r"(\*\*)?`(\w+)`", cell)} for cell in (threads, ours))
    return rows


def merged(rows, column, whens):
    return {name: bold for when in whens for name, bold in rows[when][column].items()}


def of_running_threads(rows):
    return merged(rows, 0, ["running", "where", "end"])


def of_ours(rows):
    return merged(rows, 1, rows)


def lists(root):
    """{list: names} of the source."""
    with open(f"{root}/preload/hook_seccomp.c", encoding="utf-8") as file:
        text = file.read()
    return {name: set(re.findall(r"\{SYS_(\w+)", body))
            for name, body in re.findall(r"struct call (\w+)\[\] = \{(.*?)\n\};", text, re.DOTALL)}


def check_lists(root):
    rows, listed = table(root), lists(root)
    threads, ours = of_running_threads(rows), of_ours(rows)
    found = {kind: set().union(*(names for name, names in listed.items() if name.endswith(kind)))
             for kind in ("of_threads", "of_sampler")}
    exotic = set().union(*(names for name, names in listed.items() if name.startswith("exotic")))
    problems = []

    def compare(what, left, right):
        if left != right:
            problems.append(f"{what}: only in the source {sorted(left - right)}, only in the table {sorted(right - left)}")

    compare("threads of the program", found["of_threads"], set(threads))
    # Ours makes what threads do, too, and what creates one is made where that is.
    start = merged(rows, 0, ["start"])
    compare("our thread", (found["of_sampler"] | {"clone"}) - set(threads), (set(ours) | set(start)) - set(threads))
    compare("in bold", exotic, {name for name, bold in {**threads, **ours, **start}.items() if bold})
    return problems


def names(root, which):
    rows = table(root)
    if which == "threads":
        return sorted(of_running_threads(rows))
    if which == "all":
        return sorted(of_ours(rows))
    everything = {**of_running_threads(rows), **of_ours(rows), **merged(rows, 0, ["start"])}
    return sorted(name for name, bold in everything.items() if not bold)


LINE = re.compile(r"(\d+) +(?:(?P<end>\+\+\+ )|(?P<begun>\w+)\(.*<unfinished \.\.\.>$|<\.\.\. (?P<resumed>\w+) resumed>|(?P<whole>\w+)\()")


NEVER_RETURN = {"exit", "exit_group"}
OF_LAST_THREAD = {"exit_group"}  # by the C library; it may be ours


def calls(path):
    """{thread: {name: line}} of a trace, and those threads that are ours.

    A number that is used again is another thread. A call that does not return ("= ?") is not counted: when another thread
    ends the process strace reads the registers of one that is gone, and names a call by what it finds there.
    """
    made, ours, lives = {}, set(), {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = LINE.match(line)
            if not match:
                continue
            thread = (match[1], lives.get(match[1], 0))
            if match["end"]:
                lives[match[1]] = thread[1] + 1
                continue
            name = match["resumed"] or match["whole"]
            if name and (name in NEVER_RETURN or not line.endswith("= ?\n")):
                made.setdefault(thread, {}).setdefault(name, line.strip())
            if 'prctl(PR_SET_NAME, "wallprof"' in line:
                ours.add(thread)
                made.setdefault(thread, {})
    return made, ours


def check_traces(root, bare, profiled):
    rows = table(root)
    before = set().union(*calls(bare)[0].values())
    made, ours = calls(profiled)
    problems = []
    if not ours:
        problems.append("there is no thread of ours")
    for thread, lines in made.items():
        is_ours = thread in ours
        known = set(of_ours(rows)) | OF_LAST_THREAD if is_ours else before | set(merged(rows, 0, rows))
        for name in sorted(set(lines) - known - OF_STRACE):
            problems.append(f"{'our thread' if is_ours else 'a thread of the program'} calls {name}: {lines[name]}")
    return problems


def main():
    root, command, *arguments = sys.argv[1:]
    if command == "names":
        print(*names(root, *arguments))
        return 0
    problems = check_lists(root) if command == "lists" else check_traces(root, *arguments)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
