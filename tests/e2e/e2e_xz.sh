#!/bin/bash
# xz -T2: two workers of a library compress, the main thread waits for them.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need xz

# Text that compresses neither at once nor not at all; the same every time.
make_input() {
    "$PYTHON" -c '
import random
random.seed(3)
words = ["%x" % random.getrandbits(random.randint(8, 40)) for _ in range(5000)]
print("\n".join(" ".join(random.choices(words, k=12)) for _ in range(160000)))'
}

make_input >"$TMP/input"
profile_run "$TMP/xz.pb.gz" xz -T2 -4 --block-size=2MiB -c "$TMP/input" >"$TMP/input.xz" 2>"$TMP/stderr" ||
    fail "xz ended with status $?"
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
xz -dc "$TMP/input.xz" | cmp - "$TMP/input" || fail "what was compressed is not what came back"
check_program "$TMP/xz.pb.gz"
assert_equal "number of threads" "$(threads_of "$TMP/xz.pb.gz" | wc -l)" 3
assert_equal "thread names" "$(threads_of "$TMP/xz.pb.gz" | sort -u)" xz
assert_function "$TMP/xz.pb.gz" lzma_code
