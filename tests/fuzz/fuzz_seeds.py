#!/usr/bin/env python3
"""fuzz_seeds.py DIRECTORY: inputs for the fuzzers out of what this machine has (scripts/fuzz seed).

fuzz_cfi: unwind table entries of the C library, the loader, the vDSO and other libraries, one for each
combination of augmentation and instructions, cut down to what tests/fuzz/fuzz_cfi.c reads as raw tables.
fuzz_elf: small shared objects, as raw images.
fuzz_tool_debug: the debug sections of a small shared object, in several versions of DWARF.
fuzz_stack: whole stacks, several walks each, of which the outer parts stay.
fuzz_tool_pprof: profiles of small programs, unpacked. The library must have been built.
"""
import ctypes
import glob
import gzip
import os
import struct
import subprocess
import sys
import tempfile

LIBRARIES = ["libc.so.6", "ld-linux-x86-64.so.2", "libcrypto.so.3", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"]
CODE_DISTANCE = 0x20000  # as in tests/fuzz/fuzz_tables.h
FDE_MAX_BYTES = 600


def vdso():
    """The image in memory, until the end of its mapping."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith("[vdso]"):
                low, high = (int(part, 16) for part in line.split()[0].split("-"))
                return ctypes.string_at(low, high - low)
    return b""


def images():
    yield vdso()
    for name in LIBRARIES:
        for path in glob.glob("/lib*/x86_64-linux-gnu/" + name) + glob.glob("/usr/lib/x86_64-linux-gnu/" + name):
            with open(path, "rb") as file:
                yield file.read()
            break


def eh_frame_hdr(image):
    """Offset in the file and address of the program header's .eh_frame_hdr, and a function from address to offset."""
    offset, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", image, offset + i * size) for i in range(count)]

    def offset_of(address):
        for kind, _, at, start, _, bytes_, _, _ in segments:
            if kind == 1 and start <= address < start + bytes_:
                return address - start + at
        raise ValueError(hex(address))

    for kind, _, at, start, *_ in segments:
        if kind == 0x6474E550:
            return at, start, offset_of
    raise ValueError("no .eh_frame_hdr")


def entries(image):
    """(CIE, FDE) of every function, whole, with their lengths."""
    if image[:4] != b"\x7fELF":
        return
    at, address, offset_of = eh_frame_hdr(image)
    if image[at:at + 4] not in (b"\x01\x1b\x03\x3b",):
        return
    count, = struct.unpack_from("<I", image, at + 8)
    for i in range(count):
        _, fde_distance = struct.unpack_from("<ii", image, at + 12 + 8 * i)
        fde_at = offset_of(address + fde_distance)
        length, cie_distance = struct.unpack_from("<II", image, fde_at)
        cie_at = fde_at + 4 - cie_distance
        cie_length, = struct.unpack_from("<I", image, cie_at)
        yield image[cie_at:cie_at + 4 + cie_length], image[fde_at:fde_at + 4 + length]


def leb_end(data, at):
    while data[at] & 0x80:
        at += 1
    return at + 1


def instructions(data, at):
    """The opcodes, and those of expressions, as a set; what is not understood ends it."""
    seen = set()
    operands = {0x02: 1, 0x03: 2, 0x04: 4}
    lebs = {0x05: 2, 0x06: 1, 0x07: 1, 0x08: 1, 0x09: 2, 0x0c: 2, 0x0d: 1, 0x0e: 1, 0x11: 2, 0x12: 2, 0x13: 1, 0x2e: 1}
    while at < len(data):
        op = data[at]
        at += 1
        key = op & 0xC0 or op
        seen.add(key)
        if key == 0x80:
            seen.add((key, op & 0x3F))
            at = leb_end(data, at)
        elif op in operands:
            at += operands[op]
        elif op in lebs:
            if op in (0x0c, 0x0d):
                seen.add((op, data[at]))
            for _ in range(lebs[op]):
                at = leb_end(data, at)
        elif op in (0x0f, 0x10, 0x16):
            if op != 0x0f:
                at = leb_end(data, at)
            seen.add((op, bytes(data[at + 1:at + 1 + data[at]])))
            at += 1 + data[at]
        elif key == op and op not in (0x00, 0x0a, 0x0b):
            break
    return seen


def table(cie, fde):
    """A search table of one entry, the CIE and the FDE, whose function is the first of the code."""
    header = struct.pack("<4sII", b"\x01\x1b\x03\x3b", 16, 1)
    cie_at = len(header) + 8
    fde_at = cie_at + len(cie)
    search = struct.pack("<ii", CODE_DISTANCE, fde_at)
    patched = bytearray(fde)
    struct.pack_into("<Ii", patched, 4, fde_at + 4 - cie_at, CODE_DISTANCE - (fde_at + 8))
    return header + search + cie + bytes(patched)


def cfi_seeds():
    found = {}
    for image in images():
        for cie, fde in entries(image):
            end = cie.index(b"\0", 9)
            augmentation = cie[9:end]
            key = (augmentation, frozenset(instructions(fde, 17)))
            if len(fde) <= FDE_MAX_BYTES and augmentation[:1] == b"z" and len(fde) < len(found.get(key, (b"", b"x" * 999))[1]):
                found[key] = cie, fde
    covered = set()
    for (augmentation, seen), (cie, fde) in sorted(found.items(), key=lambda item: len(item[1][1])):
        new = {(augmentation, op) for op in seen} - covered
        if not new:
            continue
        covered |= new
        size, = struct.unpack_from("<I", fde, 12)
        pcs = [0, min(size // 3, 0x7FFF), min(2 * size // 3, 0x7FFF), min(size - 1, 0x7FFF)]
        for placement in (1, 3):
            yield struct.pack("<BB4H", placement, 0, *pcs) + table(cie, fde)


SOURCE = """
extern int puts(const char *);
__attribute__((visibility("default"))) int first(void) { return puts("x") + 1; }
static __attribute__((noinline, used)) int second(int n) { return n * 3; }
__attribute__((weak)) int third(void) { return second(4); }
__asm__(".text\\nlabel:\\n.nops 16\\n");
"""


def elf_seeds():
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "a.c")
        with open(source, "w") as file:
            file.write(SOURCE)
        for more in (["-Wl,-z,lazy"], ["-Wl,-z,now", "-fcf-protection", "-Wl,-z,ibtplt"], ["-s"]):
            out = os.path.join(directory, "a.so")
            subprocess.run(["gcc", "-shared", "-nostdlib", "-Os", "-fno-asynchronous-unwind-tables", "-Wl,--build-id",
                            "-Wl,-z,noseparate-code,-z,norelro,-z,max-page-size=16,-z,common-page-size=16",
                            "-Wl,--hash-style=gnu", *more, "-o", out, source], check=True)
            subprocess.run(["objcopy", "--remove-section=.comment", out], check=True)
            with open(out, "rb") as file:
                image = file.read()
            yield struct.pack("<BB", 1, 16) + struct.pack("<16H", *[0] + [16] * 15) + image


# As section_names[] of tests/fuzz/fuzz_tool_debug.c.
DEBUG_SECTIONS = ["info", "abbrev", "line", "str", "line_str", "rnglists", "ranges", "types", "str_offsets", "addr"]
DEBUG_SOURCE = """
struct s { int a; };
static inline __attribute__((always_inline)) int inner(struct s *s) { return s->a * 3; }
static inline __attribute__((always_inline)) int middle(struct s *s) { int x = inner(s); return x + inner(s + x); }
int outer(struct s *s, int n) { if (n) { int y = middle(s); return y; } return middle(s + 1); }
__attribute__((cold)) int other(struct s *s) { return s->a; }
"""


def debug_seeds():
    with tempfile.TemporaryDirectory() as directory:
        source, out, section = (os.path.join(directory, name) for name in ("a.cc", "a.so", "section"))
        with open(source, "w") as file:
            file.write(DEBUG_SOURCE)
        for more in (["-gdwarf-4"], ["-gdwarf-5"], ["-gdwarf-5", "-fdebug-types-section"], ["-gdwarf-2", "-gstrict-dwarf"]):
            subprocess.run(["g++", "-shared", "-nostdlib", "-O2", *more, "-Wl,-Ttext=0x1000", "-o", out, source], check=True)
            seed = struct.pack("<BB", 0, 15) + struct.pack("<16H", *[3] * 16)
            for number, name in enumerate(DEBUG_SECTIONS):
                open(section, "wb").close()
                subprocess.run(["objcopy", "-O", "binary", "--only-section=.debug_" + name,
                                "--set-section-flags=.debug_%s=alloc" % name, out, section], check=True)
                with open(section, "rb") as file:
                    contents = file.read()
                if contents:
                    seed += struct.pack("<BH", number, len(contents)) + contents
            yield seed


# As functions[] of tests/fuzz/fuzz_stack.c.
LEAF, BY_SP, BY_FP, ROOT, BY_EXPRESSION = 0, 2, 3, 9, 12
GENERATED = -1
STACK_WORDS, NEXT_WALK = 2048, 0xEF


def code(function, offset):
    if function == GENERATED:
        return bytes([0x38, 9])  # after its call
    return bytes([function, offset])


def stack_address(word):
    return bytes([0x40 | word >> 8, word & 0xFF])


def registers(pc, sp, fp):
    return pc + sp + fp + stack_address(0) + bytes(4)  # rip, rsp, rbp, rbx, rdi, r10


def stack_seed(chains, choice, cached):
    """A walk for each chain: functions from the root inwards, laid out from the end of the stack downwards."""
    out = bytes([choice, cached, 0x7F, 0])
    for chain in chains:
        top, frames, words = STACK_WORDS - 4, [], {}
        for function in chain:
            size = {LEAF: 1, BY_EXPRESSION: 1, BY_SP: 4, BY_FP: 5, GENERATED: 6, ROOT: 0}[function]
            top -= size
            frames.append((function, top, size))
        # From the root inwards: what a frame's caller is called, and which frame pointer it wants.
        caller, wanted = None, stack_address(0)
        for function, at, size in frames:
            if caller is not None:
                words[at + size - 1] = caller
            if function == BY_SP:
                words[at + 2] = wanted
            if function in (BY_FP, GENERATED):
                words[at + size - 2] = wanted
                wanted = stack_address(at + size - 2)
            caller = code(function, 1 + at % 48)
        function, at, _ = frames[-1]
        out += registers(code(function, 1), stack_address(at), wanted)
        cursor = 0
        for word, value in sorted(words.items()):
            while word - cursor > 0x7F:
                out += bytes([0x7F]) + code(LEAF, 0)
                cursor += 0x7F
            out += bytes([word - cursor]) + value
            cursor = word
        out += bytes([NEXT_WALK])
    return out


def stack_seeds():
    outer = [ROOT, BY_SP, BY_FP, BY_SP, BY_SP, BY_FP]
    inner = [[LEAF], [BY_SP, LEAF], [BY_FP, BY_SP, LEAF], [BY_SP, BY_FP, GENERATED, LEAF], [BY_EXPRESSION, BY_SP, LEAF]]
    for choice in range(4):
        for first in inner:
            for second in inner:
                yield stack_seed([outer + first, outer + second, outer[:3] + second, outer[:3] + first], choice, 0)
    for cached in (1, 8, 16, 31):
        yield stack_seed([outer + inner[2], outer + inner[3], outer + inner[0]], 0, cached)
    yield stack_seed([[ROOT] + [BY_SP] * 40 + [LEAF], [ROOT] + [BY_SP] * 30 + [BY_FP, LEAF]], 0, 0)


PROFILES = [["true"], ["sleep", "0.05"], ["sh", "-c", "sleep 0.02; :"], ["xz", "-c", sys.executable]]
PROFILE_MAX_BYTES = 4096  # max_bytes of scripts/fuzz


def pprof_seeds():
    library = os.path.join(os.environ.get("WALLPROF_BUILD", "build/release"), "libwallprof.so")
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "a.pb.gz")
        for command in PROFILES:
            for labels in ("none", "name", "id"):
                settings = {"LD_PRELOAD": os.path.abspath(library), "WALLPROF_OUT": out, "WALLPROF_LABELS": labels,
                            "WALLPROF_FOLLOW": "none", "WALLPROF_DEPTH": "12"}
                subprocess.run(command, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, check=True)
                with gzip.open(out) as file:
                    profile = file.read()
                if len(profile) <= PROFILE_MAX_BYTES:
                    yield profile


def main():
    directory = sys.argv[1]
    for name, seeds in (("fuzz_cfi", cfi_seeds()), ("fuzz_elf", elf_seeds()), ("fuzz_stack", stack_seeds()),
                        ("fuzz_tool_debug", debug_seeds()), ("fuzz_tool_pprof", pprof_seeds())):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
        count = bytes_ = 0
        for seed in seeds:
            with open(os.path.join(directory, name, "seed%03d" % count), "wb") as file:
                file.write(seed)
            count, bytes_ = count + 1, bytes_ + len(seed)
        print("%s: %d seeds, %d bytes" % (name, count, bytes_))


main()
