# shellcheck shell=bash
# Sourced by the end-to-end tests. Exit status 0 passed, 77 skipped (the last line says why), else failed.
#
# WALLPROF_BUILD   where libwallprof.so and the target programs are (default: build/release)
# WALLPROF_RUN     what programs of another machine are run by: qemu-aarch64 -L DIRECTORY (default: nothing)
# WALLPROF_PPROF   google's pprof (default: build/pprof; scripts/build-pprof makes it)
# WALLPROF_LONG    1: everything, which takes half an hour (make e2e-long); else what there is time for in make check-all
#
# $TMP is a directory of the test's own, removed at its end.
set -u -o pipefail

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ROOT=$(dirname "$TESTS")
BUILD=${WALLPROF_BUILD:-$ROOT/build/release}
LIBRARY=$BUILD/libwallprof.so
# shellcheck disable=SC2034 # used by the tests
TARGETS=$BUILD/tests/targets
PPROF=${WALLPROF_PPROF:-$ROOT/build/pprof}
PYTHON=${PYTHON:-/usr/bin/python3}
read -ra RUN <<<"${WALLPROF_RUN-}"
# shellcheck disable=SC2034 # used by the tests
FOREIGN=${RUN[2]-} # the DIRECTORY: that machine's Debian
[ "${#RUN[@]}" -eq 0 ] || export EMULATED=1 # for pprof_read.py
LONG=${WALLPROF_LONG-}
TMP=$(mktemp -d) || exit 1
trap clean_up EXIT
# What hangs, hangs for ever. What works takes seconds, but minutes on a crowded machine.
# shellcheck disable=SC2034 # used by the tests
HANG_S=600
# Only what a test sets itself may reach the profiler.
for variable in $(compgen -v WALLPROF_); do
    unset "$variable"
done
# pprof would look for sources and keep its settings there; compiled python files do not belong beside the tests.
export PPROF_TMPDIR=$TMP PPROF_BINARY_PATH=/nonexistent PYTHONDONTWRITEBYTECODE=1

clean_up() {
    local status=$?
    on_exit
    rm -rf "$TMP"
    exit "$status"
}

# A test that leaves processes behind redefines this.
on_exit() {
    :
}

fail() { # MESSAGE...
    echo "FAIL: $*" >&2
    exit 1
}

# Like fail, but the test goes on; it ends with "exit $bad".
bad=0
complain() { # MESSAGE...
    echo "FAIL: $*"
    bad=1
}

# Below those that the kernel chooses itself: no process takes it before it is bound again.
free_port() {
    "$PYTHON" -c 'import random, socket
while True:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", random.randrange(20000, 30000)))
        except OSError:
            continue
        print(one.getsockname()[1])
        break'
}

skip() { # REASON...
    echo "$*"
    exit 77
}

# For a part of a test that cannot run here; the test goes on. .ci/may-skip says which may be left out where.
leave_out() { # CASE REASON...
    echo "LEFT OUT: $1: ${*:2}"
}

# Programs that a test needs.
need() { # PROGRAM...
    local program
    for program in "$@"; do
        type -P "$program" >/dev/null || skip "$program is not installed"
    done
}

# What our files are judged by from npm: prints the directory that its packages are in; or fails, and prints why.
npm_readers() {
    local said
    said=$("$ROOT/scripts/npm-readers" "$ROOT/build/npm" 2>&1) && echo "$ROOT/build/npm/node_modules" ||
        { tail -n 1 <<<"$said" && return 1; }
}

# Runs a program under the profiler, with its profile in FILE. The status is the program's.
profile_run() { # FILE PROGRAM ARGUMENTS...
    local file=$1
    shift
    WALLPROF_OUT=$file preload_run "$LIBRARY" "$@"
}

# Appends to a report for how long the machine stood still, as a line of its own: see watch_freezes.py.
freezes_begin() {
    "$PYTHON" "$TESTS/judges/watch_freezes.py" "$TMP/freezes" &
    FREEZES=$!
}

freezes_end() { # REPORT
    kill "$FREEZES"
    wait "$FREEZES"
    [ ! -s "$TMP/freezes" ] || cat "$TMP/freezes" >>"$1" # it may not have begun
    rm -f "$TMP/freezes"
}

# The emulator itself must not load the library, it is of the other machine.
preload_run() { # LIBRARIES PROGRAM ARGUMENTS...
    local libraries=$1
    shift
    if is_emulated; then
        "${RUN[@]}" -E "LD_PRELOAD=$libraries" "$@"
    else
        LD_PRELOAD=$libraries "$@"
    fi
}

bare_run() { # PROGRAM ARGUMENTS...
    "${RUN[@]}" "$@"
}

is_emulated() {
    [ "${#RUN[@]}" -gt 0 ]
}

is_long() {
    [ "$LONG" = 1 ]
}

is_aarch64() {
    is_emulated || [ "$(uname -m)" = aarch64 ]
}

read_pprof() { # COMMAND FILE OPTIONS...
    "$PYTHON" "$TESTS/judges/pprof_read.py" "$@"
}

run_pprof() { # OPTIONS... FILE
    "$PPROF" -symbolize=none "$@"
}

# Both readers must read it: ours every rule, pprof all its reports, and their totals must be equal.
check_profile() { # FILE OPTIONS OF pprof_read.py check...
    local file=$1 report reports
    [ -s "$file" ] || fail "no profile $file"
    reports=$(mktemp -d "$TMP/pprof.XXXXXX") || exit 1 # several may be checked at a time
    read_pprof check "$@" || fail "$file breaks a rule of the format"
    [ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
    for report in top traces raw tags; do
        run_pprof "-$report" -unit=ns -sample_index=wall "$file" >"$reports/$report" 2>"$reports/err" || {
            cat "$reports/err"
            fail "pprof -$report cannot read $file"
        }
    done
    check_totals "$file" "$reports"
}

check_totals() { # FILE DIRECTORY OF pprof'S REPORTS
    local ours theirs
    ours=$(read_pprof totals "$1")
    theirs=$(raw_totals <"$2/raw")
    [ "$ours" = "$theirs" ] || fail "totals of $1 differ: read $ours, pprof -raw $theirs"
    theirs=$(top_total <"$2/top")
    [ "$(awk '$1 == "wall" { print $2 }' <<<"$ours")" = "$theirs" ] ||
        fail "total wall of $1 differs: read $ours, pprof -top $theirs"
}

# Sums of the sample lines of pprof -raw, "v1 v2 v3 v4: location ids", in the form of pprof_read.py totals.
raw_totals() {
    awk '
        /^Samples:/ { inside = 1; next }
        /^Locations/ { inside = 0 }
        inside && /^samples\/count/ { n = split($0, types, " "); next }
        inside && /^ *[0-9 ]+:/ { for (i = 1; i <= n; i++) { sub(/:.*/, "", $i); sum[i] += $i } }
        END { for (i = 1; i <= n; i++) { sub(/\/.*/, "", types[i]); printf "%s %.0f\n", types[i], sum[i] } }'
}

# The total of "Showing nodes accounting for 1ns, 100% of 1ns total".
top_total() { # the report on stdin
    sed -n 's/.* of \([0-9]*\)ns total.*/\1/p'
}

# For the log: what a profile says at first sight.
show_top() { # FILE COUNT
    run_pprof -top -nodecount="$2" "$1" 2>/dev/null
}

# Whether a function has a share of the profile's wall time, itself or in what it calls.
has_function() { # FILE NAME
    functions_of "$1" | grep -Fx -- "$2" >/dev/null # not -q: it would end the pipe, and so the reader, early
}

functions_of() { # FILE
    read_pprof functions "$1" | awk '$1 == "wall" && $3 > 0 { sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); print }'
}

assert_function() { # FILE NAME
    has_function "$1" "$2" || {
        functions_of "$1" | sed 40q
        fail "$1 has no function $2"
    }
}

threads_of() { # FILE
    read_pprof threads "$1" | awk '{ print $2 }'
}

# What every good profile of a program passes, with the top of it for the log.
check_program() { # FILE [SHARE THAT REACHES THE ROOT]
    check_profile "$1"
    check_roots "$@"
    assert_function "$1" __libc_start_main
    read_pprof comments "$1"
    show_top "$1" 5
}

# At least 99 % of each thread's samples go back to where the thread began.
check_roots() { # FILE [SHARE]
    read_pprof reached "$1" --min="${2:-0.99}" >"$TMP/reached" && return
    cat "$TMP/reached"
    fail "stacks of $1 do not reach their thread's root"
}

# A filter: what /proc/PID/status says of signals, without 32 and 33, which are the C library's. A child of its posix_spawn
# (make's, say) has them ignored; a process of two threads handles 33, and hands it on as neither.
without_internal_signals() {
    local line
    while IFS= read -r line; do
        if [[ $line =~ ^(.*Sig(Blk|Ign):[[:blank:]]*)([0-9a-f]{16})$ ]]; then
            printf '%s%016x\n' "${BASH_REMATCH[1]}" $((16#${BASH_REMATCH[3]} & ~0x180000000))
        else
            printf '%s\n' "$line"
        fi
    done
}

assert_equal() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}
