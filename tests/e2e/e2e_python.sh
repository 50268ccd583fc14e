#!/bin/bash
# python3 with threads that compute, hash without the interpreter's lock, and sleep.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

cat >"$TMP/program.py" <<'PROGRAM'
import hashlib, sys, threading, time

results = {}

def compute(number):
    total = 0
    for i in range(3_000_000):
        total = (total * 31 + i) % 1_000_003
    results[number] = total

def digest(number):
    value = b"x" * 4_000_000
    for _ in range(40):
        value = hashlib.sha256(value).digest() * 125_000
    results[number] = value[:8].hex()

def rest(number):
    for _ in range(50):
        time.sleep(0.02)
    results[number] = "rested"

threads = [threading.Thread(target=work, args=(number,)) for number, work in enumerate([compute, compute, digest, rest])]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
sys.exit(5)
PROGRAM
/usr/bin/python3 "$TMP/program.py" >"$TMP/expected"
profile_run "$TMP/python.pb.gz" /usr/bin/python3 "$TMP/program.py" >"$TMP/output" 2>"$TMP/stderr"
assert_equal "exit status" "$?" 5
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
cmp "$TMP/output" "$TMP/expected" || fail "the result differs from that of the bare program"
check_program "$TMP/python.pb.gz"
# take_gil is a static function, which Debian's python has no name for: it is known by what is waited for there.
for name in compute digest rest take_gil; do
    assert_function "$TMP/python.pb.gz" "$name"
done
# Reports tell where a function of a script begins, and take that as its name.
for command in 'top' "top --focus 'digest program.py:11'" "callers 'digest program.py:11'"; do
    eval "COLUMNS=80 '$BUILD/wallprof' $command '$TMP/python.pb.gz'" | grep -a 'digest program.py:11' >/dev/null ||
        complain "wallprof $command: no digest program.py:11"
done
assert_equal "number of threads" "$(threads_of "$TMP/python.pb.gz" | wc -l)" 5
exit "${bad:-0}"
