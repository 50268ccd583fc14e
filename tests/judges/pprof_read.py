#!/usr/bin/env python3
"""A small, strict reader of pprof files, independent of the writer under test and of pprof itself.

    pprof_read.py check FILE [--labels=both|name|none] [--main=PATH] [--full=yes]
    pprof_read.py totals FILE            TYPE VALUE
    pprof_read.py functions FILE         TYPE FLAT CUMULATIVE NAME
    pprof_read.py threads FILE           THREAD_ID THREAD SAMPLES CPU OFFCPU WALL
    pprof_read.py roots FILE             THREAD_ID THREAD SAMPLES SHARE ROOT
    pprof_read.py reached FILE [--min=SHARE]
    pprof_read.py comments FILE

check holds a file to every rule of the format that can be seen in it: first the wire format (message layout of
google/pprof's profile.proto), then what the readers of such files demand. It names the rule that is broken on
stderr and ends with status 1. full: the profile's memory was full. The other commands print what is in a file, without
judging it.

reached: at least SHARE (default 0.99) of each thread's samples must end in the thread's root: libc's start of a
thread, or the program's entry point called into libc. Time under a pseudo-frame that stands for no stack counts
as reached only if it is [unsampled], which holds time without a sample.
"""

import collections
import gzip
import os
import re
import sys

TYPES = [("samples", "count"), ("cpu", "nanoseconds"), ("offcpu", "nanoseconds"), ("wall", "nanoseconds")]
SAMPLES, CPU, OFFCPU, WALL = range(4)
# Between off-CPU and wall, where the kernel told it. It is read into sample.rundelay, so that the others keep their places.
RUNDELAY, RUNDELAY_AT = ("rundelay", "nanoseconds"), 3
# After that, before wall, where anybody was blamed. It is read into sample.blame.
BLAME = ("blame", "nanoseconds")
PSEUDO = {"[unsampled]", "[not responding]", "[truncated]", "[overflow]", "[stopped]", "[not observed]"}
NAMELESS = re.compile(r"^\[(.+\+0x[0-9a-f]+|anonymous code)\]$")
# What a thread's stack ends in, or one that makecontext made.
THREAD_STARTS = {"__start_context", "clone", "__clone", "clone3", "__clone3", "start_thread", "__clone_internal", "thread_start"}

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Broken(Exception):
    """A rule of the format is broken; the text says which and where."""


def require(condition, rule):
    if not condition:
        raise Broken(rule)


# ---- wire format ----


def varint(data, at):
    """The varint at a position and the position after it."""
    value = shift = 0
    while True:
        require(at < len(data), "wire: a varint ends before the message does")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            require(value < 1 << 64, "wire: a varint does not fit 64 bits")
            return value, at
        shift += 7
        require(shift < 70, "wire: a varint is longer than ten bytes")


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data):
    """The (number, wire type, value) of a message; values are ints or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        require(number > 0, "wire: field number 0")
        if wire == VARINT:
            value, at = varint(data, at)
        else:
            require(wire == BYTES, f"wire: field {number} has wire type {wire}, which profile.proto does not use")
            size, at = varint(data, at)
            require(at + size <= len(data), f"wire: field {number} ends after its message")
            value, at = data[at : at + size], at + size
        yield number, wire, value


def numbers_of(wire, value):
    """A repeated integer field, packed or not."""
    if wire == VARINT:
        return [value]
    result, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        result.append(number)
    return result


# What the fields of a message are: i signed, u unsigned, b bool; I, U repeated; m, M message, repeated message; s bytes.
LAYOUTS = {
    "ValueType": {1: ("type", "i"), 2: ("unit", "i")},
    "Label": {1: ("key", "i"), 2: ("str", "i"), 3: ("num", "i"), 4: ("num_unit", "i")},
    "Sample": {1: ("location_id", "U"), 2: ("value", "I"), 3: ("label", "M", "Label"), 100: ("changes", "U")},
    "Mapping": {
        1: ("id", "u"),
        2: ("memory_start", "u"),
        3: ("memory_limit", "u"),
        4: ("file_offset", "u"),
        5: ("filename", "i"),
        6: ("build_id", "i"),
        7: ("has_functions", "b"),
        8: ("has_filenames", "b"),
        9: ("has_line_numbers", "b"),
        10: ("has_inline_frames", "b"),
    },
    "Line": {1: ("function_id", "u"), 2: ("line", "i"), 3: ("column", "i")},
    "Location": {
        1: ("id", "u"),
        2: ("mapping_id", "u"),
        3: ("address", "u"),
        4: ("line", "M", "Line"),
        5: ("is_folded", "b"),
    },
    "Function": {
        1: ("id", "u"),
        2: ("name", "i"),
        3: ("system_name", "i"),
        4: ("filename", "i"),
        5: ("start_line", "i"),
    },
    "Profile": {
        1: ("sample_type", "M", "ValueType"),
        2: ("sample", "M", "Sample"),
        3: ("mapping", "M", "Mapping"),
        4: ("location", "M", "Location"),
        5: ("function", "M", "Function"),
        6: ("string_table", "S"),
        7: ("drop_frames", "i"),
        8: ("keep_frames", "i"),
        9: ("time_nanos", "i"),
        10: ("duration_nanos", "i"),
        11: ("period_type", "m", "ValueType"),
        12: ("period", "i"),
        13: ("comment", "I"),
        14: ("default_sample_type", "i"),
        15: ("doc_url", "i"),
    },
}

DEFAULTS = {"i": 0, "u": 0, "b": False, "m": None}


class Message:
    """One decoded message: an attribute for every field of its layout."""

    def __init__(self, layout, data):
        self.layout = layout
        for name, kind, *_ in LAYOUTS[layout].values():
            setattr(self, name, DEFAULTS[kind] if kind in DEFAULTS else [])
        self.given = set()
        for number, wire, value in fields(data):
            require(number in LAYOUTS[layout], f"wire: {layout} has no field {number}")
            self._take(LAYOUTS[layout][number], wire, value)

    def _take(self, field, wire, value):
        name, kind = field[0], field[1]
        where = f"{self.layout}.{name}"
        require(wire == (VARINT if kind in "iub" else BYTES) or kind in "IU", f"wire: {where} has wire type {wire}")
        if kind in "IU":
            convert = signed if kind == "I" else int
            getattr(self, name).extend(convert(number) for number in numbers_of(wire, value))
        elif kind == "S":
            getattr(self, name).append(utf8(value, where))
        elif kind == "M":
            getattr(self, name).append(Message(field[2], value))
        else:
            require(name not in self.given, f"wire: {where} stands twice in one message")
            self.given.add(name)
            setattr(self, name, single(field, value, where))


def single(field, value, where):
    kind = field[1]
    if kind == "m":
        return Message(field[2], value)
    if kind == "b":
        require(value in (0, 1), f"wire: {where} is {value}, not a bool")
        return bool(value)
    return signed(value) if kind == "i" else value


def utf8(value, where):
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Broken(f"wire: {where} is not UTF-8: {value!r}") from error


# ---- the profile ----


class Profile:
    """A decoded file with names looked up. Raises Broken where it cannot even be read."""

    def __init__(self, path):
        with open(path, "rb") as file:
            raw = file.read()
        require(raw[:2] == b"\x1f\x8b", "1: the file is not gzip'd")
        try:
            data = gzip.decompress(raw)
        except (OSError, EOFError) as error:
            raise Broken(f"1: the gzip stream is damaged: {error}") from error
        self.path = path
        self.message = Message("Profile", data)
        self.strings = self.message.string_table
        self.mappings = {mapping.id: mapping for mapping in self.message.mapping}
        self.locations = {location.id: location for location in self.message.location}
        self.functions = {function.id: function for function in self.message.function}
        self.take_rundelay()

    def take_rundelay(self):
        types = [(self.text(type.type), self.text(type.unit)) for type in self.message.sample_type]
        self.has_rundelay = types[RUNDELAY_AT : RUNDELAY_AT + 1] == [RUNDELAY]
        self.has_blame = BLAME in types
        for sample in self.message.sample:
            sample.rundelay = 0
            if self.has_rundelay and len(sample.value) == len(types):
                sample.rundelay = sample.value.pop(RUNDELAY_AT)
            sample.blame = sample.value.pop(-2) if self.has_blame and len(sample.value) > len(TYPES) else 0

    def text(self, index):
        require(0 <= index < len(self.strings), f"string index {index} is outside the string table")
        return self.strings[index]

    def file_of(self, location):
        mapping = self.mappings.get(location.mapping_id)
        return self.text(mapping.filename) if mapping else ""

    def file_of_main(self):
        """The program's file: that of the first mapping."""
        return self.text(self.message.mapping[0].filename) if self.message.mapping else ""

    def names_of(self, location):
        """Innermost first; one name unless something was inlined."""
        return [self.text(self.functions[line.function_id].name) for line in location.line]

    def stack(self, sample):
        """All function names of a sample, innermost first."""
        return [name for id in sample.location_id for name in self.names_of(self.locations[id])]

    def label(self, sample, key):
        for label in sample.label:
            if self.text(label.key) == key:
                return self.text(label.str) if label.str else label.num
        return None

    def thread(self, sample):
        return self.label(sample, "thread_id") or 0, self.label(sample, "thread") or ""

    def comments(self):
        return [self.text(index) for index in self.message.comment]

    def totals(self):
        return [sum(sample.value[type] for sample in self.message.sample) for type in range(len(TYPES))]

    def rundelay(self):
        return sum(sample.rundelay for sample in self.message.sample)

    def threads(self):
        """Values per (thread_id, thread)."""
        sums = collections.defaultdict(lambda: [0] * len(TYPES))
        for sample in self.message.sample:
            add(sums[self.thread(sample)], sample.value)
        return dict(sums)

    def leave_out_emulator(self):
        """qemu-user has a thread of its own in each process, which blocks every signal. It is found in /proc like
        any other, but the program knows nothing of it. Under emulation (EMULATED is set) its samples are dropped."""
        own = self.emulator_threads() if os.environ.get("EMULATED") else set()
        self.message.sample = [sample for sample in self.message.sample if self.thread(sample) not in own]

    def emulator_threads(self):
        stacks = collections.defaultdict(set)
        for sample in self.message.sample:
            stacks[self.thread(sample)].update(self.stack(sample))
        return {
            thread
            for thread, names in stacks.items()
            if thread[1].startswith("qemu-") and "[not responding]" in names and names <= PSEUDO
        }

    def flat(self):
        sums = collections.defaultdict(lambda: [0] * len(TYPES))
        for sample in self.message.sample:
            stack = self.stack(sample)
            if stack:
                add(sums[stack[0]], sample.value)
        return dict(sums)

    def cumulative(self):
        """Inclusive values per function; a recursive function counts once per sample."""
        sums = collections.defaultdict(lambda: [0] * len(TYPES))
        for sample in self.message.sample:
            for name in set(self.stack(sample)):
                add(sums[name], sample.value)
        return dict(sums)

    def root_name(self, sample):
        return (self.stack(sample) or ["(empty stack)"])[-1]

    def roots(self):
        """Numbers of samples per (thread_id, thread), then per name of the outermost frame."""
        counts = collections.defaultdict(collections.Counter)
        for sample in self.message.sample:
            counts[self.thread(sample)][self.root_name(sample)] += sample.value[SAMPLES]
        return dict(counts)

    def reaches_root(self, sample):
        """Whether the stack goes back to where its thread began."""
        names = self.stack(sample)
        if os.environ.get("EMULATED") and names == ["[not responding]"]:
            return True  # qemu-user blocks every signal around work of its own, on a busy machine for long
        if not sample.location_id or PSEUDO & set(names):
            return False
        outer_file = self.file_of(self.locations[sample.location_id[-1]])
        if is_libc(outer_file):  # it may be all there is, of a thread that has just begun
            return names[-1] in THREAD_STARTS or NAMELESS.match(names[-1]) is not None
        if is_loader(outer_file):  # constructors run before the program's entry point
            return True
        if len(sample.location_id) < 2:
            return False
        inner_file = self.file_of(self.locations[sample.location_id[-2]])
        # On aarch64 the entry point's call goes through the loader the first time: lazy binding.
        return outer_file == self.file_of_main() and (is_libc(inner_file) or is_loader(inner_file))


def add(sums, values):
    for type, value in enumerate(values):
        sums[type] += value


def is_libc(path):
    return re.match(r"^(libc\.so|libc-|libpthread)", os.path.basename(path)) is not None


def is_loader(path):
    return re.match(r"^ld(-linux|-[0-9])", os.path.basename(path)) is not None


# ---- the rules ----


def check_strings(profile):
    strings = profile.strings
    require(strings and strings[0] == "", '1: string_table[0] is not ""')
    twice = [text for text, count in collections.Counter(strings).items() if count > 1]
    require(not twice, f"1: strings stand in the table twice: {twice[:3]}")


def check_ids(profile):
    for kind in ("mapping", "location", "function"):
        ids = [entry.id for entry in getattr(profile.message, kind)]
        require(ids == list(range(1, len(ids) + 1)), f"1: {kind} ids do not run 1..N in table order")


def check_types(profile):
    message = profile.message
    types = [(profile.text(type.type), profile.text(type.unit)) for type in message.sample_type]
    if profile.has_rundelay:
        del types[RUNDELAY_AT]
    if types[-2] == BLAME:
        del types[-2]
    require(types == TYPES, f"2: sample types are {types}, not {TYPES}")
    require(profile.text(message.default_sample_type) == "wall", "2: default_sample_type is not wall")
    require(message.period_type is not None, "2: there is no period_type")
    period = (profile.text(message.period_type.type), profile.text(message.period_type.unit))
    require(period == ("wall", "nanoseconds"), f"2: period_type is {period}, not wall/nanoseconds")
    require(message.period > 0, f"2: period is {message.period} ns")


def check_times(profile):
    message = profile.message
    require(message.time_nanos > 1_500_000_000 * 10**9, f"3: time_nanos is {message.time_nanos}: no UTC time of today")
    require(message.duration_nanos > 0, f"3: duration_nanos is {message.duration_nanos}")


def check_samples(profile):
    seen = set()
    for number, sample in enumerate(profile.message.sample):
        where = f"sample {number} {profile.path}"
        require(len(sample.value) == len(TYPES), f"1: {where} has {len(sample.value)} values")
        require(sample.value[WALL] == sample.value[CPU] + sample.value[OFFCPU], f"4: {where} does not add up: {sample.value}")
        require(0 <= sample.rundelay <= sample.value[OFFCPU], f"4: {where} waits for a CPU for longer than it waits")
        require(min(sample.value) >= 0, f"4: {where} has a negative value: {sample.value}")
        require(any(sample.value) or sample.blame, f"4: {where} has only zeros")
        require(sample.blame >= 0, f"4: {where} has less than no blame: {sample.blame}")
        require(sample.location_id, f"8: {where} has no frame")
        for id in sample.location_id:
            require(id in profile.locations, f"1: {where} names location {id}, which does not exist")
        labels = tuple(sorted((label.key, label.str, label.num) for label in sample.label))
        key = (tuple(sample.location_id), labels)
        require(key not in seen, f"4: {where} has the stack and labels of another sample: {profile.stack(sample)[:3]}")
        seen.add(key)


def check_mappings(profile, main):
    for mapping in profile.message.mapping:
        name = profile.text(mapping.filename)
        where = f"mapping {mapping.id} ({name})"
        require(mapping.memory_start < mapping.memory_limit, f"6: {where} is empty")
        require(mapping.memory_start % 4096 == 0, f"6: {where} does not start at a page")
        require(mapping.file_offset % 4096 == 0, f"6: {where} has file offset {mapping.file_offset:#x}: not a page")
        require(re.match(r"^(/|\[)", name), f"6: {where} has no absolute path")
        build_id = profile.text(mapping.build_id)
        require(re.fullmatch(r"([0-9a-f]{2})*", build_id), f"6: {where} has build id {build_id!r}: not lowercase hex")
        require(not os.path.basename(name).startswith("libwallprof.so"), f"12: {where} is the profiler's own")
    check_main_mapping(profile, main)


def check_main_mapping(profile, main):
    require(profile.message.mapping, "6: there is no mapping")
    first = profile.text(profile.message.mapping[0].filename)
    require(first.startswith("/"), f"6: mapping 1 is {first}, not the main binary")
    require(not re.search(r"\.so(\.[0-9.]+)?$", first), f"6: mapping 1 is {first}, a library, not the main binary")
    if main:
        require(first == os.path.realpath(main), f"6: mapping 1 is {first}, not {os.path.realpath(main)}")


def check_locations(profile):
    for location in profile.message.location:
        where = f"location {location.id} at {location.address:#x}"
        require(location.line, f"8: {where} has no line")
        for line in location.line:
            require(line.function_id in profile.functions, f"8: {where} names function {line.function_id}: not there")
        if location.mapping_id:
            mapping = profile.mappings.get(location.mapping_id)
            require(mapping, f"1: {where} names mapping {location.mapping_id}, which does not exist")
            inside = mapping.memory_start <= location.address < mapping.memory_limit
            require(inside, f"5: {where} lies outside its mapping {profile.file_of(location)}")


def check_functions(profile):
    for function in profile.message.function:
        require(profile.text(function.name), f"8: function {function.id} has no name")
        require(profile.text(function.system_name), f"10: function {function.id} has no system name")
        profile.text(function.filename)


def check_flags(profile):
    """Each flag says exactly what the locations of the mapping hold."""
    held = collections.defaultdict(set)
    for location in profile.message.location:
        flags = held[location.mapping_id]
        if len(location.line) > 1:
            flags.add("has_inline_frames")
        for line in location.line:
            function = profile.functions[line.function_id]
            if not NAMELESS.match(profile.text(function.name)):
                flags.add("has_functions")
            if function.filename:
                flags.add("has_filenames")
            if line.line:
                flags.add("has_line_numbers")
    for mapping in profile.message.mapping:
        for flag in ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"):
            claimed, real = getattr(mapping, flag), flag in held[mapping.id]
            name = profile.text(mapping.filename)
            require(claimed == real, f"7: mapping {mapping.id} ({name}) says {flag} {claimed}, its locations {real}")


def check_labels(profile, wanted, is_full):
    """In a full profile the time of threads there was no room for has no label, and no stack.

    Threads that were merged have no id.
    """
    has_merged = any(comment.startswith("memory: full") for comment in profile.comments())
    expected = {"both": {"thread", "thread_id"}, "name": {"thread"}, "none": set()}[wanted]
    for number, sample in enumerate(profile.message.sample):
        keys = [profile.text(label.key) for label in sample.label]
        require(len(keys) == len(set(keys)), f"11: sample {number} has two labels of one key: {keys}")
        ours = expected & set(keys) if wanted == "both" else {"thread", "thread_id"} & set(keys)
        if is_full and not keys and set(profile.stack(sample)) <= PSEUDO:
            continue
        is_merged = has_merged and ours == {"thread"}
        require(ours == expected or is_merged, f"11: sample {number} has the labels {keys}, not {sorted(expected)}")
        for label in sample.label:
            check_label(profile, label, f"sample {number}")
        require("wait" not in keys or not sample.value[CPU], f"11: sample {number} has CPU time in a wait")


def check_label(profile, label, where):
    key, text = profile.text(label.key), profile.text(label.str)
    require(key, f"11: a label of {where} has no key")
    require(not (label.str and label.num), f"11: label {key} of {where} is a string and a number")
    if key == "thread":
        require(label.str and not label.num, f"11: label thread of {where} is not a string")
    elif key == "thread_id":
        require(label.num > 0 and not label.str, f"11: label thread_id of {where} is not a number above 0")
    else:
        require(not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text), f"11: label {key} of {where} is a number in a string")


def check_rest(profile):
    message = profile.message
    require(not message.drop_frames and not message.keep_frames, "12: drop_frames or keep_frames is set")
    comments = profile.comments()
    require(comments and all(comments), "13: there is no comment, or an empty one")
    require(len(comments) <= 20, f"13: {len(comments)} comments are not few")


def check(profile, labels="both", main=None, is_full=False):
    """Raises Broken when a rule of the format is broken."""
    check_strings(profile)
    check_ids(profile)
    check_types(profile)
    check_times(profile)
    check_locations(profile)
    check_functions(profile)
    check_samples(profile)
    check_mappings(profile, main)
    check_flags(profile)
    check_labels(profile, labels, is_full)
    check_rest(profile)


# ---- commands ----


def print_totals(profile):
    totals = [(name, total) for (name, _), total in zip(TYPES, profile.totals())]
    if profile.has_rundelay:
        totals.insert(RUNDELAY_AT, ("rundelay", profile.rundelay()))
    if profile.has_blame:
        totals.insert(-1, ("blame", sum(sample.blame for sample in profile.message.sample)))
    for name, total in totals:
        print(name, total)


def print_functions(profile):
    flat = profile.flat()
    for name, values in sorted(profile.cumulative().items(), key=lambda item: -item[1][WALL]):
        for type, (type_name, _) in enumerate(TYPES):
            print(type_name, flat.get(name, [0] * len(TYPES))[type], values[type], name)


def print_threads(profile):
    for (tid, name), values in sorted(profile.threads().items()):
        print(tid, name.replace(" ", "_"), *values)


def print_roots(profile):
    for (tid, name), counts in sorted(profile.roots().items()):
        total = sum(counts.values()) or 1
        for root, count in counts.most_common():
            print(tid, name.replace(" ", "_"), count, f"{count / total:.4f}", root)


def may_be_lost(lost, total, least):
    """Of few samples the share may be less: two that were taken at a bad moment say nothing of the others."""
    return lost <= max(2, (1 - least) * total + 1e-9)


def print_reached(profile, least):
    """One line per thread: samples, share that reaches the root. False when a thread falls below the least share, or all
    of them together do."""
    counts = collections.defaultdict(lambda: [0, 0])
    lost = collections.Counter()
    for sample in profile.message.sample:
        pair, samples = counts[profile.thread(sample)], sample.value[SAMPLES]
        pair[0] += samples
        if profile.reaches_root(sample):
            pair[1] += samples
        elif samples:
            lost[(profile.thread(sample), " < ".join(profile.stack(sample)[-3:]))] += samples
    good = True
    for (tid, name), (total, reached) in sorted(counts.items()):
        share, is_good = reached / total if total else 1.0, may_be_lost(total - reached, total, least)
        good = good and is_good
        print(tid, name.replace(" ", "_"), total, f"{share:.4f}", "" if is_good else "BELOW")
    for ((tid, name), outermost), count in lost.most_common(20):
        print(f"  not at its root: {count} of {tid} {name}: .. {outermost}")
    whole = sum(total for total, _ in counts.values())
    if not may_be_lost(lost.total(), whole, least):
        print(f"{lost.total()} of {whole} samples of all threads are not at their roots: BELOW")
        good = False
    return good


def run(command, path, options):
    profile = Profile(path)
    if command in ("threads", "reached"):
        profile.leave_out_emulator()
    if command == "check":
        check(profile, options.get("labels", "both"), options.get("main"), "full" in options)
    elif command == "totals":
        print_totals(profile)
    elif command == "functions":
        print_functions(profile)
    elif command == "threads":
        print_threads(profile)
    elif command == "roots":
        print_roots(profile)
    elif command == "reached":
        require(print_reached(profile, float(options.get("min", "0.99"))), "stacks do not reach their thread's root")
    elif command == "comments":
        print("\n".join(profile.comments()))
    else:
        sys.exit(__doc__)


def main(arguments):
    options = dict(argument[2:].split("=", 1) for argument in arguments if argument.startswith("--"))
    words = [argument for argument in arguments if not argument.startswith("--")]
    if len(words) != 2:
        sys.exit(__doc__)
    try:
        run(words[0], words[1], options)
    except Broken as broken:
        print(f"{words[1]}: {broken}", file=sys.stderr)
        return 1
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
