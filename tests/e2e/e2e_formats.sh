#!/bin/bash
# One recording is the same in every format, whether the program's end wrote it or the tool wrote it again from the store;
# pprof shows it with the lines of its sources, in a terminal and in its pages; and a store that was cut or changed anywhere
# is read or refused.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"
tool=$BUILD/wallprof
endings="pb.gz callgrind folded html perfetto.json.gz json.gz store"

# Writes BASE.ENDING in all formats at once.
record() { # BASE PROGRAM ARGUMENTS...
    local base=$1 out='' ending
    shift
    for ending in $endings; do
        out=${out:+$out,}$base.$ending
    done
    WALLPROF_HZ=500 WALLPROF_OVERHEAD=off WALLPROF_FOLLOW=none profile_run "$out" "$@" >"$TMP/out" 2>&1 ||
        fail "$1 has failed: $(cat "$TMP/out")"
    for ending in $endings; do
        [ -s "$base.$ending" ] || fail "there is no $base.$ending"
    done
}

agree() { # BASE
    check_profile "$1.pb.gz"
    "$PYTHON" "$TESTS/judges/judge_formats.py" "$1" "$tool" || fail "the formats of $1 differ"
}

# What the tool writes from the store.
export_again() { # BASE TO
    local ending options=()
    for ending in $endings; do
        options+=(-o "$2.$ending")
    done
    "$tool" export "$1.store" "${options[@]}" || fail "the store cannot be written in every format"
}

# ---- two programs ----

cat >"$TMP/work.cc" <<'END'
#include <chrono>
#include <thread>
#include <vector>
static volatile unsigned long sink;
static std::chrono::steady_clock::time_point now()
{
    return std::chrono::steady_clock::now();
}
static inline __attribute__((always_inline)) unsigned long inlined_sum(unsigned long n)
{
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++)
        sum += i * sink;
    return sum;
}
__attribute__((noinline)) void outer_work(int depth)
{
    if (depth > 0)
        outer_work(depth - 1);
    sink = sink + inlined_sum(10000);
}
int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([] {
            for (int ms = 0; ms < 300; ms++) // a pause of the machine takes one, not all
                for (auto end = now() + std::chrono::milliseconds(1); now() < end;)
                    outer_work(3);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        });
    for (auto &thread : threads)
        thread.join();
}
END
need g++
(cd "$TMP" && g++ -O2 -g -pthread work.cc -o work) || fail "work.cc cannot be compiled"
record "$TMP/cpp" "$TMP/work"
agree "$TMP/cpp"
grep -q inlined_sum "$TMP/cpp.folded" || fail "what is inlined is not there"
export_again "$TMP/cpp" "$TMP/cpp2"
agree "$TMP/cpp2"
record "$TMP/py" "$PYTHON" "$TESTS/targets/threads_and_child.py"
agree "$TMP/py"

# ---- pprof's own views ----

PPROF_BINARY_PATH='' "$PPROF" -list=outer_work -source_path="$TMP" "$TMP/cpp.pb.gz" >"$TMP/list" 2>"$TMP/err" ||
    fail "pprof -list: $(cat "$TMP/err")"
grep -q 'sink = sink + inlined_sum(10000);' "$TMP/list" || fail "pprof -list shows no source: $(head -n 20 "$TMP/list")"

# The kinds of waits are a label, also after the file was read and written again.
check_waits() { # FILE
    run_pprof -tags -unit=ns "$1" >"$TMP/tags" 2>/dev/null || fail "pprof -tags cannot read $1"
    assert_equal "kinds of waits in $1" \
        "$(sed -n '/^ *wait:/,/^$/s/.*): \(child\|sleep\)$/\1/p' "$TMP/tags" | sort | tr '\n' ' ')" "child sleep "
    run_pprof -traces -tagfocus=wait=sleep "$1" >"$TMP/traces" 2>/dev/null || fail "pprof -tagfocus cannot read $1"
    grep -q nanosleep "$TMP/traces" || fail "nothing sleeps in $1: $(cat "$TMP/traces")"
    if grep -q outer_work "$TMP/traces"; then
        fail "work is said to be sleep in $1"
    fi
}
check_waits "$TMP/cpp.pb.gz"
"$tool" export "$TMP/cpp.pb.gz" -o "$TMP/again.pb.gz" || fail "the pprof file cannot be written again"
check_waits "$TMP/again.pb.gz"
"$tool" export --waits "$TMP/cpp.store" -f folded -o "$TMP/waits" || fail "folded stacks cannot be written with waits"
grep -q 'nanosleep[^;]*;(sleep) [0-9]*$' "$TMP/waits" || fail "no folded stack ends in (sleep)"
"$tool" export --waits "$TMP/cpp.store" -o "$TMP/waits.html" 2>"$TMP/err"
assert_equal "status of --waits without a folded file" "$?" 2
grep -q 'waits is for folded files' "$TMP/err" || fail "it says '$(cat "$TMP/err")'"

fetch() { # PATH WORD
    "$PYTHON" - "http://127.0.0.1:$port$1" "$2" <<'END' || fail "pprof's page $1 lacks $2"
import sys, time, urllib.error, urllib.request
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        with urllib.request.urlopen(sys.argv[1]) as page:
            sys.exit(page.status != 200 or sys.argv[2] not in page.read().decode())
    except (ConnectionError, TimeoutError, urllib.error.URLError) as error:
        if isinstance(error, urllib.error.HTTPError):
            sys.exit(f"{sys.argv[1]}: {error}")
        time.sleep(0.1)
sys.exit(f"nobody answers at {sys.argv[1]}")
END
}

answers() {
    (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

# Sets $port and $server; fails where it ends instead.
start_pprof() {
    local end=$((SECONDS + 60))
    port=$(free_port)
    "$PPROF" -http="127.0.0.1:$port" -no_browser -source_path="$TMP" "$TMP/cpp.pb.gz" >"$TMP/http" 2>&1 &
    server=$!
    until answers || [ "$SECONDS" -ge "$end" ]; do
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
}

on_exit() {
    kill "$server" 2>/dev/null
}

start_pprof || start_pprof || start_pprof || fail "pprof shows no pages: $(cat "$TMP/http")"
fetch /ui/top outer_work
fetch /ui/flamegraph outer_work
fetch '/ui/peek?f=outer_work' inlined_sum
fetch '/ui/source?f=outer_work' 'sink = sink + inlined_sum(10000);'
if type -P dot >/dev/null; then
    fetch / outer_work
else
    leave_out graph "there is no dot"
fi

# ---- damaged stores ----

# Of one, a few hundred pieces and copies with a changed word: status 0, or 1 with a reason.
cat >"$TMP/damage.py" <<'END'
import random, resource, subprocess, sys
tool, path, scratch = sys.argv[1:]
store = open(path, "rb").read()
choose = random.Random(7)
counts = {0: 0, 1: 0}

# A loop without an end is killed by SIGXCPU, however busy the machine is.
def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (20, resource.RLIM_INFINITY))

def judge(what, data):
    with open(scratch, "wb") as file:
        file.write(data)
    command = [tool, "export", scratch, "-f", "folded", "-o", "-"]
    run = subprocess.run(command, capture_output=True, preexec_fn=limit)
    if run.returncode not in (0, 1) or (run.returncode == 1 and not run.stderr):
        sys.exit(f"{what}: status {run.returncode}, {run.stderr.decode(errors='replace')}")
    counts[run.returncode] += 1
    return run.returncode

for length in sorted({*range(0, 400, 7), *(choose.randrange(len(store)) for _ in range(200)), len(store) - 1}):
    if judge(f"cut at {length}", store[:length]) != 1:
        sys.exit(f"a store of {len(store)} bytes is read when it ends at {length}")
for _ in range(200):
    at = choose.randrange(len(store))
    changed = bytearray(store)
    changed[at] ^= 1 << choose.randrange(8)
    judge(f"bit at {at} flipped", changed)
print(f"damaged stores: {counts[0]} read, {counts[1]} refused")
END
WALLPROF_CACHE=off "$PYTHON" "$TMP/damage.py" "$tool" "$TMP/py.store" "$TMP/damaged.store" || fail "a damaged store does harm"
