#!/bin/bash
# Waits last as long as they should, transfers move as much, and the program's own signal ends them, however often ours does:
# target_waits.c and target_transfers.c make every call that a handler cuts short. By signal only, each of them is
# interrupted hundreds of times a second.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
ms=${WAITS_MS:-1500}

assert_good() { # NAME STATUS
    awk '{ print } $4 > 0 { bad++ } END { print NR " waits, " bad + 0 " bad" }' "$TMP/$1.out" >"$TMP/$1.judged"
    tail -n 1 "$TMP/$1.judged"
    [ "$2" -eq 0 ] || fail "$1: status $2: $(awk '$4 > 0' "$TMP/$1.judged") $(cat "$TMP/$1.err")"
    assert_equal "$1: stderr" "$(cat "$TMP/$1.err")" ""
}

record() { # NAME VARIABLE=VALUE...
    local name=$1 variable
    shift
    echo "== $name: $*"
    (
        for variable; do
            export "${variable?}"
        done
        profile_run "$TMP/$name.pb.gz" "$TARGETS/$target" "$ms"
    ) >"$TMP/$name.out" 2>"$TMP/$name.err"
    assert_good "$name" $?
    check_profile "$TMP/$name.pb.gz" --main="$TARGETS/$target"
    read_pprof comments "$TMP/$name.pb.gz" | grep -e ' EINTR' -e '^samples taken'
}

for target in target_waits target_transfers; do
    echo "== bare $target"
    bare_run "$TARGETS/$target" "$ms" >"$TMP/bare.out" 2>"$TMP/bare.err"
    assert_good bare $?
    record auto WALLPROF_HZ=1000
    record signal WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal WALLPROF_THREADS=32
    record dense WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_THREADS=16
done

# What the kernel makes again after our signal (SA_RESTART) ends when the program's signal wants it to.
assert_equal 'reads that went on after a signal without SA_RESTART, bare' "$(bare_run "$TARGETS/target_alarm" 300)" 0
lost=$(WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal profile_run "$TMP/alarm.pb.gz" "$TARGETS/target_alarm" 300)
assert_equal 'status of target_alarm' "$?" 0
assert_equal 'reads of 300 that went on after a signal without SA_RESTART' "$lost" 0

# The mask in a handler's context is the program's, though our hook blocks all signals while it waits.
bare_run "$TARGETS/target_context_mask" >"$TMP/bare.out" || fail "target_context_mask does not hold bare: $(cat "$TMP/bare.out")"
for observe in auto signal; do
    (export WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe && profile_run "$TMP/mask.pb.gz" "$TARGETS/target_context_mask") >"$TMP/mask.out" 2>&1 ||
        fail "masks in handlers, $observe: $(cat "$TMP/mask.out")"
    assert_equal "masks in handlers, $observe" "$(cat "$TMP/mask.out")" "$(cat "$TMP/bare.out")"
done
