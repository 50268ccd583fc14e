#!/bin/bash
# The system calls that are made for us are those that docs/transparency.md has a table of, and preload/hook_seccomp.c lists
# of: the two agree, real programs make no others, and under a filter that ends the process at any other nobody is ended.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

judge() { # COMMAND ARGUMENTS...
    "$PYTHON" "$TESTS/judges/judge_calls.py" "$ROOT" "$@" || fail "judge_calls.py $*"
}

# The machine's numbers of calls; names that it does not have are left out.
numbers() { # NAME...
    # shellcheck disable=SC2046 # numbers
    echo '#include <asm/unistd.h>' | "${CC:-gcc}" -E -dM - |
        awk -v names="$*" 'BEGIN { n = split(names, list, " "); for (i = 1; i <= n; i++) wanted["__NR_" list[i]] = 1 }
            $1 == "#define" && $2 in wanted { print $3 }' | tr '\n' ' '
}

judge lists

# ---- past our hooks, in a running program: whoever is not on the list is killed ----

filtered() { # OBSERVE WHOSE NAME...
    local observe=$1 whose=$2
    shift 2
    rm -f "$TMP/calls.pb.gz"
    # shellcheck disable=SC2046 # numbers
    timeout "$HANG_S" env WALLPROF_HZ=1000 WALLPROF_OBSERVE="$observe" WALLPROF_OUT="$TMP/calls.pb.gz" LD_PRELOAD="$LIBRARY" \
        "$TARGETS/target_calls" "$whose" $(numbers "$@") 2>"$TMP/err"
}

"$TARGETS/target_calls" all
assert_equal "bare, with its own calls allowed" "$?" 3
read -ra threads <<<"$(judge names threads)"
read -ra all <<<"$(judge names all)"
for observe in auto signal; do
    filtered "$observe" thread "${threads[@]}"
    assert_equal "$observe: under a filter for a thread" "$? $(cat "$TMP/err")" "3 "
    check_profile "$TMP/calls.pb.gz"
    assert_function "$TMP/calls.pb.gz" work
    filtered "$observe" all "${threads[@]}" "${all[@]}"
    assert_equal "$observe: under a filter for all threads" "$? $(cat "$TMP/err")" "3 "
    check_profile "$TMP/calls.pb.gz"
done
filtered auto thread 2>/dev/null
assert_equal "with nothing allowed for us" "$?" 159
filtered auto all "${threads[@]}" 2>/dev/null
assert_equal "with nothing allowed for our thread" "$?" 159

# ---- what real programs call, with us and without ----

if ! strace -f -o /dev/null true 2>"$TMP/err"; then
    leave_out real-programs "strace does not work here: $(cat "$TMP/err")"
    exit
fi

seq 200000 | tac >"$TMP/numbers"

compare() { # NAME COMMAND...
    local name=$1
    shift
    strace -f -q -o "$TMP/bare" "$@" >/dev/null 2>&1 || fail "$name fails"
    for observe in auto signal; do
        strace -f -q -o "$TMP/profiled" env WALLPROF_TOOL=off WALLPROF_HZ=500 WALLPROF_OBSERVE="$observe" WALLPROF_OUT="$TMP/%p.pb.gz" \
            LD_PRELOAD="$LIBRARY" "$@" >/dev/null 2>"$TMP/err" || fail "$name fails under the profiler: $(cat "$TMP/err")"
        judge traces "$TMP/bare" "$TMP/profiled"
    done
}

compare python3 "$PYTHON" -S "$TESTS/targets/threads_and_child.py" child
# shellcheck disable=SC2016 # expanded by the inner shell
compare shell bash -c 'for i in 1 2 3; do (echo $i | cat; :) & done; wait; exec cat /dev/null'
compare sort sort --parallel=2 -S 2M "$TMP/numbers"
compare children "$TARGETS/target_children_all"
echo "$(judge names threads | wc -w) calls in threads of the program, $(judge names all | wc -w) in ours"
