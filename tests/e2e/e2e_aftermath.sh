#!/bin/bash
# What a call leaves behind does not harm a later one: a filter of system calls, waits that were left by a jump, a set-up
# that has failed; see target_aftermath.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_aftermath
ulimit -c 0

# Whatever the loader needs is in the way of a filter, so the program that is executed has none.
echo 'int main(void) { return 3; }' | "${CC:-gcc}" -x c -static -o "$TMP/static" - 2>/dev/null || skip "no static libc"

compare() { # STATUS MODE ARGUMENTS...
    local status=$1 how
    shift
    "$program" "$@" >"$TMP/bare.out" 2>"$TMP/bare.err"
    assert_equal "$*, bare: status" $? "$status"
    for how in "WALLPROF_HZ=100" "WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal"; do
        # shellcheck disable=SC2086 # variables
        env $how WALLPROF_OUT="$TMP/%p.pb.gz" LD_PRELOAD="$LIBRARY" timeout --kill-after=1 "$HANG_S" \
            "$program" "$@" >"$TMP/out" 2>"$TMP/err"
        [ $? = "$status" ] || complain "$*, $how: another status: $(cat "$TMP/err")"
        cmp -s "$TMP/bare.out" "$TMP/out" || complain "$*, $how: '$(cat "$TMP/out")', bare '$(cat "$TMP/bare.out")'"
    done
}

for call in openat newfstatat rt_sigprocmask getpid; do
    compare 3 exec $call "$TMP/static"
done
for call in openat newfstatat getpid; do # fork itself calls rt_sigprocmask
    compare 0 fork $call
done
compare 0 fault
compare 0 waits 0
compare 0 waits 255

for how in vfork failed; do
    profile_run "$TMP/look.pb.gz" "$program" look $how >"$TMP/out" 2>&1 || complain "look, $how: status $?"
    [ ! -s "$TMP/out" ] || complain "after $how a program was not looked at: $(cat "$TMP/out")"
done

mib=$(profile_run "$TMP/$(printf "%0300d" 0)" "$program" threads 2>"$TMP/err")
grep -q 'not recording' "$TMP/err" || complain "the set-up did not fail: $(cat "$TMP/err")"
[ "$mib" -lt 3 ] || complain "without a recording 12,000 threads have left $mib MiB"
exit "$bad"
