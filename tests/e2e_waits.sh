#!/bin/bash
# Waits last as long as asked, and end when a signal of the program's own comes, however often ours does: target_waits.c
# makes every call that a handler cuts short. By signal only, each of them is interrupted hundreds of times a second.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
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
        profile_run "$TMP/$name.pb.gz" "$TARGETS/target_waits" "$ms"
    ) >"$TMP/$name.out" 2>"$TMP/$name.err"
    assert_good "$name" $?
    check_profile "$TMP/$name.pb.gz" --main="$TARGETS/target_waits"
    read_pprof comments "$TMP/$name.pb.gz" | grep -e ' EINTR' -e '^looks'
}

echo "== bare"
bare_run "$TARGETS/target_waits" "$ms" >"$TMP/bare.out" 2>"$TMP/bare.err"
assert_good bare $?
record auto WALLPROF_HZ=1000
record signal WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal
record dense WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_THREADS=16
