#!/bin/bash
# A runtime that keeps all its handlers on signal stacks (Erlang's is one) loses no data below its stack pointer, and is not
# ended because a signal stack is too small for our handler, read-only or gone; see target_signal_stacks.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_signal_stacks

record() { # CASE OBSERVE PROGRAM ARGUMENTS...
    local name=$1.$2 observe=$2
    shift 2
    WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe profile_run "$TMP/$name.pb.gz" "$@" >"$TMP/out" 2>"$TMP/err" ||
        fail "$name: status $?, $(cat "$TMP/out" "$TMP/err")"
    [ ! -s "$TMP/err" ] || fail "$name: $(cat "$TMP/err")"
}

for case in below small read-only unmapped beside back-small back-unmapped back-left back-anew; do
    "$program" $case >/dev/null || fail "$case, bare: status $?"
    for observe in auto signal; do
        record $case $observe "$program" $case
        assert_equal "$case, $observe" "$(cat "$TMP/out")" "all right"
    done
done
for case in below beside back-anew; do # there is room for our handler: on the signal stack, and on the thread's own
    assert_function "$TMP/$case.signal.pb.gz" work
done
assert_function "$TMP/below.signal.pb.gz" spin_at
for case in small back-small; do
    functions_of "$TMP/$case.signal.pb.gz" | grep -qF '[not responding]' || fail "$case: a thread without room was signalled"
done

type -P erl >/dev/null || { leave_out erlang "erl is not installed" && exit 0; }
# shellcheck disable=SC2016 # Erlang's
sum='S = fun S(0, A) -> A; S(N, A) -> S(N - 1, (A * 31 + N) rem 1000003) end, io:format("~p~n", [S(50000, 0)]), halt().'
bare=$(erl -noshell -eval "$sum") || fail "erl, bare: status $?"
for observe in auto signal; do
    record "erl-%p" $observe erl -noshell -eval "$sum"
    assert_equal "erl, $observe" "$(cat "$TMP/out")" "$bare"
done
echo "Erlang computes what it computes alone"
