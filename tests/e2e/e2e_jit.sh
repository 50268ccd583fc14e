#!/bin/bash
# Code that a program makes at run time: under the names of its perf map, with the right callers, in a mapping of
# its own; and as what it is where there is no list.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

lists=()
on_exit() {
    rm -f "${lists[@]}"
}

# Runs the target; sets $profile, of the process that ran the code, and $lists.
run_target() { # WHAT...
    local name=${*:-bare} pid
    name=${name// /-}
    "${wrapper[@]}" env LD_PRELOAD="$LIBRARY" WALLPROF_OUT="$TMP/$name.%p.pb.gz" WALLPROF_HZ=500 \
        WALLPROF_LOG="info:$TMP/$name.log" "$TARGETS/target_jit" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" &
    lists+=("/tmp/perf-$!.map")
    wait "$!" || fail "$name: the target ended with status $?"
    pid=$(cat "$TMP/$name.out")
    lists+=("/tmp/perf-$pid.map")
    assert_equal "$name: stderr" "$(cat "$TMP/$name.err")" ""
    profile=$TMP/$name.$pid.pb.gz
    log=$TMP/$name.log
    check_profile "$profile"
    show_top "$profile" 5
}

# The code's functions are on the stacks that are known, each with its part of the CPU time.
assert_stack() { # INNERMOST > ... > OUTERMOST, as names in a row
    "$PYTHON" - "$TESTS/judges" "$profile" "$@" <<'PROGRAM' || fail "$profile: no stack $*, or too little of it"
import sys

sys.path.insert(0, sys.argv[1])
import pprof_read

profile, wanted = pprof_read.Profile(sys.argv[2]), sys.argv[3:]
found = total = 0
for sample in profile.message.sample:
    total += sample.value[pprof_read.CPU]
    if profile.stack(sample)[: len(wanted)] == wanted:
        found += sample.value[pprof_read.CPU]
print(f"{found / total:.3f} of the CPU time in {' < '.join(wanted)}")
sys.exit(found < total / 20)
PROGRAM
}

mapping_lines() {
    run_pprof -raw "$profile" | sed -n '/^Mappings/,$p' | grep -F "$1"
}

# Every listed function once, each in memory called [JIT].
assert_names() { # SUFFIX
    local root=${root-main}
    assert_stack "compiled_inner$1" "compiled_outer$1" run_compiled "$root"
    assert_stack called_back "compiled_caller$1" run_compiled "$root"
    assert_equal "nameless code in $profile" "$(functions_of "$profile" | grep -c '^\[anonymous\|^\[0x')" 0
    mapping_lines '[JIT]' >"$TMP/mappings"
    cat "$TMP/mappings"
    assert_equal "mappings [JIT]" "$(wc -l <"$TMP/mappings")" "${2:-1}"
    grep -q '\[FN\]' "$TMP/mappings" || fail "the mapping [JIT] says it has no functions"
}

wrapper=()
run_target list
assert_names ''
grep -q ': 1 lines are no entries and were skipped$' "$log" || fail "the log does not tell of the line that is no entry"

run_target list again
assert_names _again

run_target list unmap # the pages that were seen
assert_names ''

root=run_in_thread run_target list thread
root=run_in_thread assert_names ''

run_target list fork # what the parent writes after the fork is not about the child
assert_names ''

# No list: one function, no names, in memory that is called what it is.
run_target
assert_stack '[anonymous code]' '[anonymous code]' run_compiled main
assert_stack called_back '[anonymous code]' run_compiled main
mapping_lines '[anonymous executable]' >"$TMP/mappings"
assert_equal "mappings [anonymous executable]" "$(wc -l <"$TMP/mappings")" 1
if grep -q '\[FN\]' "$TMP/mappings"; then fail "a mapping without names says it has some"; fi

# pprof itself has nothing to complain of: what is in brackets has no symbols to be looked for.
"$PPROF" -top "$profile" >/dev/null 2>"$TMP/pprof.err" || fail "pprof cannot read $profile: $(cat "$TMP/pprof.err")"
grep -i 'anonymous' "$TMP/pprof.err" && fail "pprof looks for symbols of memory"

# A real one.
type -P node >/dev/null || {
    leave_out node "it is not installed"
    exit 0
}
cat >"$TMP/program.js" <<'PROGRAM'
function recursive(depth, turns) {
    if (depth > 0) return recursive(depth - 1, turns) + 1;
    let sum = 0;
    for (let i = 0; i < turns; i++) sum = (sum * 31 + i) % 1000003;
    return sum;
}
const end = Date.now() + 2000;
let sum = 0;
while (Date.now() < end) sum += recursive(3, 300000);
console.log(sum > 0);
PROGRAM
profile=$TMP/node.pb.gz
cd "$TMP" || exit 1 # where node puts a log
LD_PRELOAD=$LIBRARY WALLPROF_OUT=$profile node --perf-basic-prof "$TMP/program.js" >"$TMP/output" 2>"$TMP/stderr" &
lists+=("/tmp/perf-$!.map")
wait "$!" || fail "node ended with status $?"
assert_equal "node's output" "$(cat "$TMP/output")" true
assert_equal "node's stderr" "$(cat "$TMP/stderr")" ""
check_profile "$profile"
show_top "$profile" 8
functions_of "$profile" | grep "recursive $TMP/program.js:1:19" ||
    fail "the compiled function is not in node's profile under its name"
mapping_lines '[JIT]' | grep '\[FN\]' >/dev/null || fail "node's profile has no mapping [JIT]"
