#!/usr/bin/env python3
"""The reader itself: a good file passes, and each way to break a rule is found and named."""

import copy
import gzip
import os
import sys
import tempfile

from pprof_read import LAYOUTS, Broken, Profile, check

GOOD = {
    "sample_type": [{"type": 1, "unit": 2}, {"type": 3, "unit": 4}, {"type": 5, "unit": 4}, {"type": 6, "unit": 4}],
    "sample": [
        {"location_id": [1, 2], "value": [1, 2, 0, 2], "label": [{"key": 7, "str": 8}, {"key": 9, "num": 42}]},
        {"location_id": [2], "value": [1, 0, 3, 3], "label": [{"key": 7, "str": 8}, {"key": 9, "num": 42}]},
    ],
    "mapping": [
        {"id": 1, "memory_start": 0x1000, "memory_limit": 0x2000, "filename": 10, "build_id": 11, "has_functions": 1},
        {"id": 2, "memory_start": 0x5000, "memory_limit": 0x6000, "file_offset": 0x1000, "filename": 12},
    ],
    "location": [
        {"id": 1, "mapping_id": 2, "address": 0x5010, "line": [{"function_id": 1}]},
        {"id": 2, "mapping_id": 1, "address": 0x1010, "line": [{"function_id": 2}]},
    ],
    "function": [{"id": 1, "name": 13, "system_name": 13}, {"id": 2, "name": 14, "system_name": 14}],
    "string_table": [
        "", "samples", "count", "cpu", "nanoseconds", "offcpu", "wall", "thread", "main", "thread_id",
        "/bin/app", "00ff", "/lib/libc.so.6", "[libc.so.6+0x10]", "work", "for people", "AB", "7",
        "/lib/libwallprof.so",
    ],
    "time_nanos": 1_700_000_000 * 10**9,
    "duration_nanos": 5,
    "period_type": {"type": 6, "unit": 4},
    "period": 10,
    "comment": [15],
    "default_sample_type": 6,
}  # fmt: skip


def varint(number):
    number &= (1 << 64) - 1
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data + bytes([number]))


def block(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode_field(number, field, value):
    kind = field[1]
    if kind in "iub":
        return varint(number << 3) + varint(value)
    if kind in "IU":
        return block(number, b"".join(varint(item) for item in value))
    if kind == "m":
        return block(number, encode(field[2], value))
    if kind == "S":
        return b"".join(block(number, text.encode()) for text in value)
    return b"".join(block(number, encode(field[2], item)) for item in value)


def encode(layout, message):
    return b"".join(
        encode_field(number, field, message[field[0]])
        for number, field in LAYOUTS[layout].items()
        if field[0] in message
    )


def complaint(data):
    """What the reader says of a file with these bytes; empty when it is content."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(data)
    try:
        check(Profile(file.name))
    except Broken as broken:
        return str(broken)
    finally:
        os.unlink(file.name)
    return ""


def broken(*path_and_value):
    """The good profile with one place changed: keys and indices, then the new value (None removes)."""
    *path, last, value = path_and_value
    message = copy.deepcopy(GOOD)
    place = message
    for step in path:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return gzip.compress(encode("Profile", message))


# How the complaint begins, and the change that must cause it.
CASES = [
    ("1: string_table[0]", ("string_table", 0, "x")),
    ("1: strings stand", ("string_table", 16, "main")),
    ("1: mapping ids", ("mapping", 1, "id", 3)),
    ("1: location ids", ("location", 1, "id", 5)),
    ("1: function ids", ("function", 0, "id", 9)),
    ("1: sample 0", ("sample", 0, "value", [1, 2, 3])),
    ("1: sample 1", ("sample", 1, "location_id", [7])),
    ("1: location 1", ("location", 0, "mapping_id", 9)),
    ("2: sample types", ("sample_type", 3, "type", 5)),
    ("2: default_sample_type", ("default_sample_type", None)),
    ("2: there is no period_type", ("period_type", None)),
    ("2: period_type", ("period_type", "type", 3)),
    ("2: period is", ("period", 0)),
    ("3: time_nanos", ("time_nanos", 17)),
    ("3: duration_nanos", ("duration_nanos", None)),
    ("4: sample 0", ("sample", 0, "value", [1, 2, -1, 2])),
    ("4: sample 0", ("sample", 0, "value", [0, 0, 0, 0])),
    ("4: sample 1", ("sample", 1, "location_id", [1, 2])),
    ("5: location 1", ("location", 0, "address", 0x6000)),
    ("5: location 2", ("location", 1, "address", 0xFFF)),
    ("5: location 2", ("mapping", 0, "memory_limit", 0x1010)),
    ("6: mapping 1", ("mapping", 0, "memory_start", 0x1001)),
    ("6: mapping 2", ("mapping", 1, "file_offset", 0x10)),
    ("6: mapping 2", ("mapping", 1, "filename", 14)),
    ("6: mapping 1", ("mapping", 0, "build_id", 16)),
    ("6: mapping 1", ("mapping", 0, "filename", 12)),
    ("7: mapping 1", ("mapping", 0, "has_functions", 0)),
    ("7: mapping 2", ("mapping", 1, "has_functions", 1)),
    ("7: mapping 1", ("mapping", 0, "has_filenames", 1)),
    ("7: mapping 1", ("location", 1, "line", [{"function_id": 2, "line": 3}])),
    ("7: mapping 1", ("location", 1, "line", [{"function_id": 2}, {"function_id": 2}])),
    ("8: location 1", ("location", 0, "line", [])),
    ("8: location 1", ("location", 0, "line", [{"function_id": 4}])),
    ("8: function 1", ("function", 0, "name", 0)),
    ("8: sample 1", ("sample", 1, "location_id", [])),
    ("10: function 1", ("function", 0, "system_name", 0)),
    ("11: sample 0", ("sample", 0, "label", [{"key": 7, "str": 8}])),
    ("11: sample 0", ("sample", 0, "label", [{"key": 7, "str": 8}, {"key": 9, "num": 1}, {"key": 7, "str": 14}])),
    ("11: label thread_id", ("sample", 0, "label", [{"key": 7, "str": 8}, {"key": 9, "str": 17}])),
    ("11: label thread", ("sample", 0, "label", [{"key": 7, "num": 3}, {"key": 9, "num": 1}])),
    ("11: label work", ("sample", 0, "label", GOOD["sample"][0]["label"] + [{"key": 14, "str": 17}])),
    ("12: mapping 2", ("mapping", 1, "filename", 18)),
    ("12: drop_frames", ("drop_frames", 14)),
    ("13: there is no comment", ("comment", [])),
    ("13: 21 comments", ("comment", [15] * 21)),
    ("string index", ("function", 0, "name", 99)),
]


def main():
    good = gzip.compress(encode("Profile", GOOD))
    plain = gzip.decompress(good)
    wire = [
        ("", good),
        ("1: the file is not gzip'd", plain),
        ("1: the gzip stream is damaged", good[:-9]),
        ("wire: ", gzip.compress(plain[:-1])),
        ("wire: Profile has no field 16", gzip.compress(plain + varint(16 << 3) + b"\0")),
        ("wire: Profile.period stands twice", gzip.compress(plain + varint(12 << 3) + b"\1")),
        ("wire: Profile.period has wire type 2", gzip.compress(block(12, b"\1") + plain)),
        ("wire: Profile.string_table is not UTF-8", gzip.compress(plain + block(6, b"\xff"))),
        ("wire: a varint is longer", gzip.compress(plain + b"\xff" * 11)),
    ]
    failures = 0
    for expected, data in wire + [(expected, broken(*change)) for expected, change in CASES]:
        said = complaint(data)
        if not (said.startswith(expected) if expected else said == ""):
            failures += 1
            print(f"BAD  expected {expected!r}, the reader says {said!r}")
    print(f"{len(wire) + len(CASES)} files, {failures} misjudged")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
