#!/bin/bash
# A program can have as many thread-specific keys as without us, and the ends of its threads are seen all the same: with all
# their CPU time, the destructors of the program's keys included. See target_keys.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_keys

bare_run "$program" count >"$TMP/bare" || fail "count, bare: status $?"
profile_run "$TMP/count.pb.gz" "$program" count >"$TMP/said" || fail "count: status $?"
diff "$TMP/bare" "$TMP/said" || fail "the program has fewer keys"

# What threads had used at their last statements is in the profile. Where the program has all keys, destructors are not.
# Threads of one name with few samples exchange CPU time for other time (settle_claims.h), so their sum is judged.
assert_complete() { # FILE KIND...
    read_pprof threads "$1" >"$TMP/threads"
    awk -v kinds="^(${*:2})$" '
        FNR == NR { cpu += $(NF - 2); seen[$1] = 1; next }
        $1 ~ /^(thread|destroyed)$/ { count++ }
        $1 ~ kinds { said += $3; bad = bad || !seen[$2] }
        END { print "CPU time in all: " cpu ", of " said; exit bad || count != 6 || cpu < said }' "$TMP/threads" "$TMP/said" || fail "$1 has less than the program says: $(cat "$TMP/said")"
}

for end in return exit cancel; do
    for keys in '' all; do
        for variables in WALLPROF_HZ=100 'WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal'; do
            file=$TMP/$end.$keys.pb.gz
            # shellcheck disable=SC2086 # words
            timeout --kill-after=1 "$HANG_S" env $variables WALLPROF_OUT="$file" LD_PRELOAD="$LIBRARY" "$program" $end $keys \
                >"$TMP/said" 2>"$TMP/err" || fail "$end $keys: status $?: $(cat "$TMP/err")"
            [ ! -s "$TMP/err" ] || fail "$end $keys: $(cat "$TMP/err")"
            assert_equal "$end $keys: the last it says" "$(tail -n 1 "$TMP/said")" "exit handler"
            check_profile "$file"
            if [ -n "$keys" ]; then
                assert_complete "$file" 'thread'
            else
                assert_complete "$file" 'thread|destroyed'
                assert_function "$file" work_in_destructor
            fi
            assert_function "$file" work
        done
    done
done
echo "threads end in every way, with keys and without"
