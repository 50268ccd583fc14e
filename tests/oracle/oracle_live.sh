#!/bin/bash
# The live oracle: real programs under load, each stack walked by us and by libunwind (oracle_live.c).
#
#     oracle_live.sh [PROGRAM...]       all of them, or some of: python sort cc1plus clang gdb node xz perl git
#
# ORACLE_LIVE_STACKS   how many of each, 3000; 20000 is what the project is judged by
# ORACLE_LIVE_KEEP     a directory that takes the results
# shellcheck disable=SC2317 # the functions are called by name: run_PROGRAM
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
WANTED=${ORACLE_LIVE_STACKS:-3000}
ORACLE=$BUILD/liboracle_live.so
REPORT=$TESTS/oracle/oracle_live_report.py
RESULTS=${ORACLE_LIVE_KEEP:-$TMP/results}
MAX_RUNS=120
RUN_SECONDS=90

[ -e "$ORACLE" ] || skip "$ORACLE has not been built"
[[ $(/sbin/ldconfig -p) == *libunwind.so.8* ]] || skip "libunwind.so.8 is not installed"
mkdir -p "$RESULTS"

# One run of a program; one that hangs or is killed leaves no result and is tried again.
run_once() { # NAME EXECUTABLE COMMAND...
    local name=$1 executable=$2
    shift 2
    ORACLE_LIVE_OUT=$RESULTS/$name ORACLE_LIVE_NAME=$executable \
        timeout -k 5 "$RUN_SECONDS" env LD_PRELOAD="$ORACLE" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
}

results_of() { # NAME
    compgen -G "$RESULTS/$1.*"
}

# Until there are enough stacks. EXECUTABLE is the file name of the process that counts.
collect() { # NAME EXECUTABLE COMMAND...
    local name=$1 run stacks=0 status
    for ((run = 0; run < MAX_RUNS && stacks < WANTED; run++)); do
        run_once "$@"
        status=$?
        [ "$status" -eq 0 ] || { echo "$name: status $status" && tail -n 2 "$TMP/err"; }
        # shellcheck disable=SC2046 # no blanks in these names
        stacks=$("$PYTHON" "$REPORT" count $(results_of "$name"))
    done
}

file_of() { # PROGRAM
    basename "$(readlink -f "$(type -P "$1")")"
}

run_python() {
    cat >"$TMP/load.py" <<'END'
import hashlib, json, re, zlib
rows = [{"a": i, "b": str(i) * 3, "c": [i, i / 7]} for i in range(3000)]
for turn in range(24):
    text = json.dumps(rows, indent=1)
    assert json.loads(text) == rows
    found = re.findall(r'"b": "(\d+)"', text)
    found.sort(key=lambda word: (len(word), word[::-1]))
    hashlib.sha256(zlib.compress(text.encode())).hexdigest()
END
    collect python "$(file_of /usr/bin/python3)" /usr/bin/python3 "$TMP/load.py"
}

make_lines() { # COUNT
    awk -v count="$1" 'BEGIN { srand(7); for (i = 0; i < count; i++) printf "%08x line %d %s\n", rand() * 2 ^ 31, i, rand() }'
}

run_sort() {
    make_lines 600000 >"$TMP/lines"
    LC_ALL=C.UTF-8 collect sort sort sort --parallel=2 -S 16M -T "$TMP" -k 3,3g -k 1,1 -o "$TMP/sorted" "$TMP/lines"
}

make_cxx() {
    cat <<'END'
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct work {
    std::map<std::string, std::vector<int>> map;
    std::unordered_map<int, std::function<int(int)>> functions;
    int run(const std::string &text) {
        std::regex pattern("(a|b)*c[0-9]+");
        for (int i = 0; i < N; i++) {
            map[text + std::to_string(i)].push_back(std::regex_match(text, pattern));
            functions[i] = [this, i](int x) { return x + i + (int)map.size(); };
        }
        for (auto &entry : map)
            std::sort(entry.second.begin(), entry.second.end(), [](int a, int b) { return a % N < b % N; });
        return functions[N / 2](N);
    }
};
END
    for number in 1 2; do
        echo "int run_$number(const std::string &text) { return work<$number>().run(text); }"
    done
}

run_cc1plus() {
    make_cxx >"$TMP/big.cc"
    ORACLE_LIVE_US=1000 collect cc1plus cc1plus g++ -std=c++17 -O2 -c -o "$TMP/big.o" "$TMP/big.cc"
}

run_clang() {
    make_cxx >"$TMP/big.cc"
    ORACLE_LIVE_US=1000 collect clang "$(file_of clang)" clang++ -std=c++17 -O2 -c -o "$TMP/big.o" "$TMP/big.cc"
}

run_gdb() {
    collect gdb "$(file_of gdb)" gdb -nx -batch -ex 'info functions s' -ex 'info types t' \
        -ex 'python print(sum(len(str(gdb.parse_and_eval("%d * 3" % i))) for i in range(60000)))' \
        -ex 'python [gdb.execute("info symbol %d" % (4096 * i), to_string=True) for i in range(5000)]' "$LIBRARY"
}

run_node() {
    cat >"$TMP/load.js" <<'END'
const crypto = require('crypto'), zlib = require('zlib');
const rows = Array.from({ length: 3000 }, (_, i) => ({ a: i, b: String(i).repeat(3), c: [i, i / 7] }));
class Shape { constructor(i) { this.i = i; } area(n) { return n > 0 ? this.area(n - 1) + this.i : 1; } }
let sum = 0;
async function turn(t) {
    const text = JSON.stringify(rows, null, 1);
    sum += JSON.parse(text).length + (text.match(/"b": "(\d+)"/g) || []).length;
    sum += text.replace(/\d+/g, m => m.length).length;
    sum += crypto.createHash('sha256').update(text).digest()[0];
    sum += crypto.pbkdf2Sync('secret', 'salt' + t, 500, 32, 'sha512')[0];
    sum += zlib.deflateSync(text).length;
    sum += rows.map(r => r.b + r.a).sort().length;
    for (let i = 0; i < 20000; i++) sum += new Shape(i).area(i % 40);
    await new Promise(done => crypto.randomFill(Buffer.alloc(4096), done));
}
(async () => { for (let t = 0; t < 150; t++) await turn(t); })();
END
    collect node "$(file_of node)" node "$TMP/load.js"
}

run_xz() {
    make_lines 30000 >"$TMP/lines"
    collect xz xz xz -6 -T1 -k -f "$TMP/lines" # its threads of -T2 block every signal, and would never be walked
    WANTED=$((2 * WANTED)) collect xz xz xz -d -k -f "$TMP/lines.xz"
}

run_perl() {
    cat >"$TMP/load.pl" <<'END'
use strict;
sub walk { my ($n) = @_; return $n > 0 ? 1 + walk($n - 1) : 0; }
my %seen;
for my $turn (1 .. 12) {
    my @words = map { sprintf("%05d-%s", ($_ * 7919) % 100003, "x" x ($_ % 13)) } 1 .. 30000;
    my @sorted = sort { substr($a, 2) cmp substr($b, 2) or $a cmp $b } @words;
    for my $word (@sorted) { $seen{$1} += length $2 if $word =~ /^(\d+)-(x*?)(?:xx)*$/; }
    walk(80) for 1 .. 300;
    my $text = join ",", @sorted;
    $text =~ s/(\d)(\d)/$2$1/g;
}
END
    collect perl "$(file_of /usr/bin/perl)" /usr/bin/perl -X "$TMP/load.pl"
}

# A stream for git fast-import: a history of commits over some files that change line by line.
make_history() { # COMMITS
    awk -v commits="$1" 'BEGIN {
        srand(3)
        for (c = 1; c <= commits; c++) {
            printf "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 6\nchange\n", 1600000000 + c * 60
            for (f = c % 4; f < 40; f += 4) {
                text = ""
                for (l = 0; l < 150; l++) {
                    if (c <= 4 || rand() < 0.03)
                        line[f, l] = sprintf("%d %d %x", f, l, rand() * 2 ^ 31)
                    text = text line[f, l] "\n"
                }
                printf "M 100644 inline file%d\ndata %d\n%s\n", f, length(text), text
            }
        }
    }'
}

run_git() {
    git init -q --bare "$TMP/history.git" && git -C "$TMP/history.git" symbolic-ref HEAD refs/heads/main
    make_history 400 | git -C "$TMP/history.git" fast-import --quiet || fail "git fast-import does not work here"
    export GIT_DIR=$TMP/history.git GIT_CONFIG_GLOBAL=/dev/null
    collect git git bash -c 'git repack -adfq --depth=50 --window=60 && git log -p --stat >/dev/null &&
        git log -M -C --find-copies-harder --stat -n 60 >/dev/null && git fsck --full >/dev/null &&
        git blame main -- file3 >/dev/null && git grep -E "(1|2)+ [a-f]" main >/dev/null'
    unset GIT_DIR GIT_CONFIG_GLOBAL
}

# Least share of roots; generated code keeps the frame pointer only most of the time.
least_root() { # NAME
    if [ "$1" = node ]; then echo 98; else echo 99.9; fi
}

# Greatest share that may differ; where generated code has no frame pointer, neither side knows its caller.
most_different() { # NAME
    if [ "$1" = node ]; then echo 0.1; else echo 0.01; fi
}

show() { # NAME
    local files status=0
    mapfile -t files < <(results_of "$1")
    "$PYTHON" "$REPORT" row "$1" "$(least_root "$1")" "$(most_different "$1")" "${files[@]}" || status=1
    "$PYTHON" "$REPORT" why --groups="${ORACLE_LIVE_GROUPS:-4}" "${files[@]}" >>"$TMP/why.$1"
    return "$status"
}

status=0
[ $# -gt 0 ] || set -- python sort cc1plus clang gdb node xz perl git
"$PYTHON" "$REPORT" header
for program in "$@"; do
    if type -P "${program/cc1plus/g++}" >/dev/null || [ "$program" = python ]; then
        "run_$program"
        show "$program" || status=1
    else
        echo "$program is not installed"
    fi
done
for program in "$@"; do
    [ ! -s "$TMP/why.$program" ] || { echo "$program:" && cat "$TMP/why.$program"; }
done
exit "$status"
