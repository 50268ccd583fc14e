#!/bin/bash
# Threads are sampled more rarely where it would cost more than WALLPROF_OVERHEAD allows; the profile says so, and
# stays true.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# A tick samples 8 busy threads, whose signals alone are taken for 80 us of CPU. So 8 cores at 0.01 % pay 10 ticks a
# second at most, and at 1 % 1,000.
seconds=4

record() { # NAME VARIABLE=VALUE...
    local name=$1 file=$TMP/$1.pb.gz truth=$TMP/$1.truth variable
    echo "== $*"
    shift
    (
        for variable; do
            export "${variable?}"
        done
        profile_run "$file" "$TARGETS/target_overhead_limit" "$seconds"
    ) >"$truth" 2>"$TMP/stderr" || fail "target_overhead_limit ended with status $?"
    assert_equal stderr "$(cat "$TMP/stderr")" ""
    check_profile "$file" --main="$TARGETS/target_overhead_limit"
    read_pprof comments "$file" | tee "$TMP/comments"
    run_pprof -raw "$file" >"$TMP/raw" 2>/dev/null
    # However few ticks there were, wall time is that of all threads.
    "$PYTHON" "$TESTS/judges/judge_threads.py" "$file" "$truth" >"$TMP/judged" || {
        cat "$TMP/judged"
        fail "$name: not its truth"
    }
    head -n 1 "$TMP/judged"
}

# The profile says that it was restrained, and there are no more samples than what it says gives 9 threads.
assert_restrained() { # PERCENT HZ MOST
    grep "^restrained to $1 % of the program's CPU time: as with .* ticks a second on average; WALLPROF_OVERHEAD=off keeps the rate$" \
        "$TMP/comments" >"$TMP/restrained" || fail "the profile does not say that it was restrained to $1 %"
    awk -v most="$3" -v rate="$(sed 's/.*as with \([0-9.e+-]*\) ticks.*/\1/' "$TMP/restrained")" \
        -v samples="$(sed -n 's/^\([0-9]*\) samples: .*/\1/p' "$TMP/comments")" \
        -v seconds="$(sed -n 's/^Duration: \([0-9.]*\).*/\1/p' "$TMP/raw")" '
        BEGIN {
            print samples " samples in " seconds " s, as with " rate " ticks a second"
            exit !(samples > 0 && rate < most && samples <= 9 * (1.5 * rate * seconds + 10))
        }' || fail "that is not the rate, or it is not below $3"
    assert_equal "the period" "$(sed -n 's/^Period: //p' "$TMP/raw")" $((1000000000 / $2)) # as it was asked for
}

assert_not_restrained() {
    ! grep restrained "$TMP/comments" || fail "it should not be"
}

record limit WALLPROF_OVERHEAD=0.01 WALLPROF_LOG=info:"$TMP/log"
assert_restrained 0.01 100 50
assert_equal "what the log says" "$(grep -c "^wallprof: $(cat "$TMP/restrained")$" "$TMP/log")" 1

seconds=2
record both WALLPROF_HZ=10000 WALLPROF_OVERHEAD=1
assert_restrained 1 10000 5000

record rate WALLPROF_HZ=10000
assert_not_restrained
awk '
    / by signal/ { sub(/ by signal.*/, ""); replies = $NF }
    / signals took about / { sub(/.*took about /, ""); took = $1 }
    END { exit !(replies > 0 && took + 0.0005 >= replies * 10e-6) }' "$TMP/comments" || fail "replies cannot have taken so little"

# What one core allows is for a family of forked processes together: each of 20 that wait has a twentieth of it.
family() { # PROCESSES
    local file
    echo "== family $1"
    rm -rf "$TMP/family" && mkdir "$TMP/family"
    WALLPROF_OUT=$TMP/family/%p.pb.gz preload_run "$LIBRARY" "$TMP/wait" "$1" || fail "wait ended with status $?"
    for file in "$TMP/family"/*; do
        check_profile "$file" --main="$TMP/wait" >"$TMP/checked" || fail "$(cat "$TMP/checked")"
        read_pprof comments "$file" | sed -n 's/^restrained .*as with \([0-9.]*\) ticks.*/\1/p'
    done >"$TMP/rates"
    sort -n "$TMP/rates" | tr '\n' ' '
    echo
}
cat >"$TMP/wait.c" <<'SOURCE'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    for (int i = count > 1 ? atoi(arguments[1]) : 0; i > 0; i--) {
        if (fork() == 0) {
            sleep(4);
            exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
SOURCE
"${CC:-cc}" -o "$TMP/wait" "$TMP/wait.c" || fail "cc does not work"
family 20
awk '$1 < 70 { few++ } END { exit few < 20 }' "$TMP/rates" || fail "they do not share a core"

is_long || exit 0
record off WALLPROF_HZ=10000 WALLPROF_OVERHEAD=off
assert_not_restrained
