#!/bin/bash
# Stacks through frames whose unwind rules are rare: what the fast walk cannot express, the full one finishes.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_cfi
[ "$(uname -m)" = x86_64 ] || skip "the frames are x86_64 assembly"
file=$TMP/cfi.pb.gz
WALLPROF_HZ=1000 profile_run "$file" "$program" 3 >"$TMP/names" 2>"$TMP/stderr"
assert_equal "exit status" "$?" 0
assert_equal "stderr" "$(cat "$TMP/stderr")" ""
check_profile "$file"
check_roots "$file" 0.98 # with some hundred samples a thread, one before it can reply is not 1 %

samples_of_thread() { # NAME
    read_pprof threads "$file" | awk -v name="$1" '$2 == name { print $3 }'
}

samples_below() { # FUNCTION
    read_pprof functions "$file" | awk -v name="$1" '$1 == "samples" && $4 == name { print $3 }'
}

# At least 99 % of a thread's stacks go through its function, but for its start and its end.
total=0
while read -r name; do
    samples=$(samples_of_thread "$name")
    below=$(samples_below "$name")
    echo "$name: ${below:-0} of ${samples:-0} stacks"
    [ "${samples:-0}" -ge 20 ] || fail "only ${samples:-0} samples of $name"
    [ $(((${below:-0} + 2) * 100)) -ge $((samples * 99)) ] || fail "stacks without $name"
    total=$((total + samples))
done <"$TMP/names"
assert_function "$file" frame_by_rbp
assert_function "$file" clobber_registers

# The profile says how they were found.
read_pprof comments "$file" | tee "$TMP/comments"
found=$(sed -n 's/^unwind: \([0-9]*\) of [0-9]* stacks by the full-register walk$/\1/p' "$TMP/comments")
[ $((${found:-0} * 100)) -ge $((total * 98)) ] || fail "the comments tell of ${found:-no} such stacks, of $total"
