#!/bin/bash
# Waits for locks are blamed on what made them: target_blame.c says what that is, judge_blame.py how much must be.
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own calls are what the kernel knows of"

program=$TARGETS/target_blame
tool=$BUILD/wallprof

judge() { # COMMAND ARGUMENTS...
    "$PYTHON" "$TESTS/judges/judge_blame.py" "$@" || complain "judge_blame.py $*"
}

record() { # WHAT
    echo "== $1"
    (
        export WALLPROF_OVERHEAD=off
        profile_run "$TMP/$1.pb.gz" "$program" "$1" 3000 2>"$TMP/err"
    ) || fail "target_blame $1 ended with status $?: $(cat "$TMP/err")"
    assert_equal "stderr of target_blame $1" "$(cat "$TMP/err")" ""
    check_profile "$TMP/$1.pb.gz"
}

worst() { # WHAT FUNCTION THREAD
    "$tool" blame --json "$TMP/$1.pb.gz" >"$TMP/$1.json" || complain "wallprof blame $1: status $?"
    judge first "$TMP/$1.json" "$2" "$3"
}

# ---- a holder that waits, one that computes, and a chain ----

record io
judge section "$TMP/io.pb.gz" sync_journal 'mutex journal_mutex'
worst io sync_journal writer
"$tool" blame "$TMP/io.pb.gz" >"$TMP/io.txt" || complain "wallprof blame: status $?"
grep -q '^sync_journal (.*) in writer made others wait .* of .*: for mutex journal_mutex' "$TMP/io.txt" ||
    complain "the first line is no answer: $(cat "$TMP/io.txt")"

record compute
judge section "$TMP/compute.pb.gz" compress_journal 'mutex journal_mutex'
worst compute compress_journal writer

record chain
judge section "$TMP/chain.pb.gz" read_table 'mutex table_mutex'
worst chain read_table third

# ---- Coz's ----

record lock_test
judge section "$TMP/lock_test.pb.gz" in_the_section 'mutex journal_mutex'
record producer_consumer
judge section "$TMP/producer_consumer.pb.gz" move_item 'mutex queue'

# ---- nothing is lost on its way ----

"$tool" merge -o "$TMP/merged.pb.gz" "$TMP/chain.pb.gz" 2>"$TMP/err" || complain "merge: $(cat "$TMP/err")"
judge sums "$TMP/chain.pb.gz" "$TMP/merged.pb.gz"

# The store of a program that is killed once somebody was blamed.
mkdir "$TMP/store"
LD_PRELOAD=$LIBRARY WALLPROF_STORE=$TMP/store/ "$program" chain 600000 &
deadline=$((SECONDS + HANG_S))
until "$tool" blame "$TMP"/store/* 2>/dev/null | grep -q '^read_table (.*) in third made others wait'; do
    [ "$SECONDS" -lt "$deadline" ] || fail "a store has no blame"
    sleep 0.2
done
kill -KILL $!
{ wait; } 2>/dev/null
stores=("$TMP"/store/*)
"$tool" blame "${stores[0]}" >"$TMP/killed" || complain "wallprof blame of a killed program's store: status $?"
grep -q '^read_table (.*) in third made others wait' "$TMP/killed" || complain "after a kill: $(cat "$TMP/killed")"
"$tool" recover -o "$TMP/killed.pb.gz" "${stores[0]}" 2>"$TMP/err" || complain "recover: $(cat "$TMP/err")"
check_profile "$TMP/killed.pb.gz"
judge section "$TMP/killed.pb.gz" read_table 'mutex table_mutex'
exit "$bad"
