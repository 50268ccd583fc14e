#!/bin/bash
# Debian's own programs for aarch64: whole stacks to the root, named functions, every thread.
# test: aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated || skip "on the machine itself the other tests do it"

# Runs and judges one program.
program() { # NAME PROGRAM ARGUMENTS...
    local name=$1
    shift
    echo "== $name"
    # Some last a fifth of a second only.
    WALLPROF_HZ=500 profile_run "$TMP/$name.pb.gz" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" || fail "$name ended with status $?"
    assert_equal "stderr of $name" "$(cat "$TMP/$name.err")" ""
    check_program "$TMP/$name.pb.gz"
}

"$PYTHON" -c '
import random
random.seed(3)
words = ["%x" % random.getrandbits(random.randint(8, 40)) for _ in range(5000)]
print("\n".join(" ".join(random.choices(words, k=12)) for _ in range(12000)))' >"$TMP/input"

program xz "$FOREIGN/usr/bin/xz" -T2 -1 --block-size=256KiB -c "$TMP/input"
xz -dc "$TMP/xz.out" | cmp - "$TMP/input" || fail "what was compressed is not what came back"
assert_equal "number of threads" "$(threads_of "$TMP/xz.pb.gz" | wc -l)" 3
assert_function "$TMP/xz.pb.gz" lzma_code

cat >"$TMP/work.py" <<'PYTHON'
import threading, zlib

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

results = []

def work():
    results.append((fib(16), len(zlib.compress(bytes(range(256)) * 4096)) > 0))

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results)
PYTHON
program python "$FOREIGN/usr/bin/python3.11" -S "$TMP/work.py"
assert_equal "output of python" "$(cat "$TMP/python.out")" "[(987, True), (987, True)]"
assert_equal "number of threads" "$(threads_of "$TMP/python.pb.gz" | wc -l)" 3
for function in _PyEval_EvalFrameDefault deflate; do
    assert_function "$TMP/python.pb.gz" "$function"
done

# shellcheck disable=SC2016 # perl's variables
program perl "$FOREIGN/usr/bin/perl" -e 'my %h; for my $i (1 .. 60000) { $h{$i % 977} .= "x$i"; }
    my @s = sort { length($h{$a}) <=> length($h{$b}) or $a <=> $b } keys %h; print scalar(@s), "\n";'
assert_equal "output of perl" "$(cat "$TMP/perl.out")" 977
assert_function "$TMP/perl.pb.gz" Perl_runops_standard
