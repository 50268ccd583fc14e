#!/bin/bash
# Calls through the linker's trampolines, which have no unwind tables on aarch64, and signed return addresses: no frame
# is missing, whether the sample falls into the caller, the trampoline or a leaf that has saved nothing. Only under
# emulation: qemu delivers signals where a jump leads, so a fair share of them to a trampoline's first instruction.
# test: aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated || skip "a processor would be interrupted in a trampoline once in a thousand samples"

cat >"$TMP/leaf.c" <<'SOURCE'
unsigned long leaf(unsigned long x)
{
    return x * 6364136223846793005 + 1;
}
SOURCE
cat >"$TMP/hot.c" <<'SOURCE'
unsigned long leaf(unsigned long x);

__attribute__((noinline)) unsigned long hot(unsigned long sum)
{
    for (int i = 0; i < 10000; i++)
        sum = leaf(sum);
    return sum + 1;
}

/* A frame too large for the short form of a rule. */
__attribute__((noinline)) unsigned long middle(unsigned long sum)
{
    volatile char large[3000] = {0};
    large[sum % sizeof large] = 1;
    return hot(sum) + large[0];
}
SOURCE
cat >"$TMP/main.c" <<'SOURCE'
#include <signal.h>
#include <stdio.h>
#include <time.h>

unsigned long middle(unsigned long sum);

static volatile sig_atomic_t handled;

__attribute__((noinline)) void handler(int number)
{
    unsigned long sum = number;
    for (int i = 0; i < 20; i++)
        sum = middle(sum);
    handled = sum != 0;
}

int main(void)
{
    unsigned long sum = 0;
    time_t end = time(NULL) + 2;
    signal(SIGUSR1, handler);
    while (time(NULL) < end) {
        sum = middle(sum);
        if (sum % 64 == 0)
            raise(SIGUSR1);
    }
    printf("%d\n", handled && sum != 0);
    return 0;
}
SOURCE

# The innermost frames, as the sources say; and in the handler all of its frames, and those of what it interrupted.
cat >"$TMP/judge.py" <<'PYTHON'
import collections
import sys

sys.path.insert(0, sys.argv[2])
from pprof_read import SAMPLES, Profile

CALLERS = ["hot", "middle"]
LEAVES = {"leaf", "leaf@plt"}
counts, wrong = collections.Counter(), collections.Counter()
profile = Profile(sys.argv[1])
for sample in profile.message.sample:
    stack, samples = profile.stack(sample), sample.value[SAMPLES]
    if "leaf" in stack[1:] or "leaf@plt" in stack[1:]:
        wrong[" < ".join(stack)] += samples
    if not LEAVES & set(stack[:1]) and "hot" not in stack:
        continue
    below = stack[1:] if stack[0] in LEAVES else stack
    if below[:2] == CALLERS and below[2] == "main":
        counts[stack[0]] += samples
    elif below[:3] == CALLERS + ["handler"] and "raise" in " ".join(below[3:]) and "main" in below[4:]:
        counts["handler"] += samples
    else:
        wrong[" < ".join(stack)] += samples
print(dict(counts))
for stack, count in wrong.most_common(10):
    print(f"{count} times: {stack}")
sys.exit(1 if sum(wrong.values()) or min(counts[name] for name in ("leaf", "leaf@plt", "hot", "handler")) < 1 else 0)
PYTHON

# The program names both libraries, so that they stand before the loader in its list: those after it are read through
# the kernel, which qemu refuses.
calls() { # NAME FLAGS...
    local name=$1
    shift
    echo "== $name: $*"
    # Without the start files, which are not compiled for bti and would turn it off for the whole library.
    { "$CC" -O2 -g -fpic -shared -nostartfiles "$@" -o "$TMP/libleaf.so" "$TMP/leaf.c" &&
        "$CC" -O2 -g -fpic -fvisibility=protected -shared -nostartfiles -fno-stack-protector "$@" \
            -o "$TMP/libhot.so" "$TMP/hot.c" -L"$TMP" -lleaf -Wl,-rpath,"$TMP" &&
        "$CC" -O2 -g "$@" -o "$TMP/$name" "$TMP/main.c" -L"$TMP" -lhot -Wl,--no-as-needed -lleaf -Wl,-rpath,"$TMP"; } ||
        fail "$CC does not work"
    WALLPROF_HZ=2000 profile_run "$TMP/$name.pb.gz" "$TMP/$name" >"$TMP/out" 2>"$TMP/err"
    assert_equal "output" "$(cat "$TMP/out")" 1
    assert_equal "stderr" "$(cat "$TMP/err")" ""
    check_program "$TMP/$name.pb.gz"
    "$PYTHON" "$TMP/judge.py" "$TMP/$name.pb.gz" "$TESTS/judges" || fail "$name: frames are missing"
}

calls plain -fomit-frame-pointer -Wl,-z,lazy
# Armv8.3 and 8.5: return addresses are signed, the pushing trampoline begins with bti c.
calls protected -mbranch-protection=standard -Wl,-z,lazy
