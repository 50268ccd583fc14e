#!/bin/bash
# Perl's functions in stacks, judged by what the program says of itself: waiting and computing processes and threads, in 5.32 to 5.40.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/roots.sh
. "$TESTS/lib/roots.sh"

# The time that the program stands still for, in seconds.
hold_s=1
! is_long || hold_s=10
root=/
script=$TESTS/targets/perl_frames.pl

has_frames() { # PERL
    # shellcheck disable=SC2016 # Perl's
    "$1" -MConfig -MJSON::PP -e 'exit(!($Config{useithreads} && $Config{version} =~ /^5\.(32|34|36|38|40)\./))' 2>/dev/null
}

loop_line() { # PATTERN
    grep -n -F "$1" "$script" | head -n 1 | cut -d : -f 1
}

judge() { # NAME VARIABLES...
    local name=$1 variable lines
    lines=$(loop_line 'i < 20000;'),$(loop_line '& 0xffff;')
    (
        export WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
        for variable in "${@:2}"; do
            export "${variable?}"
        done
        profile_run_in "$root" "$TMP/$name.%p.pb.gz" /usr/bin/perl "$script" "$TMP/$name.json" "$hold_s"
    ) || fail "$name: the program failed"
    for profile in "$TMP/$name".*.pb.gz; do
        [ "$root" != / ] || check_profile "$profile" # more than fifty of them
    done
    "$PYTHON" "$TESTS/judges/judge_scripts.py" "$TMP/$name".*.pb.gz "$TMP/$name.json" --spin=main::spin "--spin-lines=$lines" ||
        complain "$name: stacks differ"
}

count=0
! has_frames /usr/bin/perl || judge "perl-$((count += 1))"
for suite in bullseye trixie; do
    root=$(other_debian "$suite" perl) || continue
    judge "perl-$((count += 1))"
    judge "perl-$((count += 1))" WALLPROF_OBSERVE=signal
done
root=/
[ "$count" -gt 0 ] || skip "there is no Perl 5.32 to 5.40 with threads"
has_frames /usr/bin/perl || exit $bad

# By signal only: every frame is read by the thread itself.
judge signal WALLPROF_OBSERVE=signal

# The interpreter's own functions.
cat >"$TMP/once.pl" <<'PROGRAM'
sub compute { my $sum = 0; $sum += $_ for 1 .. 3e6; return $sum }
compute();
PROGRAM
WALLPROF_SCRIPTS=off profile_run "$TMP/off.pb.gz" /usr/bin/perl "$TMP/once.pl" || fail "the program failed"
has_function "$TMP/off.pb.gz" main::compute && complain "off: there are functions of Perl"
assert_function "$TMP/off.pb.gz" Perl_runops_standard
WALLPROF_SCRIPTS=all profile_run "$TMP/all.pb.gz" /usr/bin/perl "$TMP/once.pl" || fail "the program failed"
assert_function "$TMP/all.pb.gz" main::compute
assert_function "$TMP/all.pb.gz" Perl_runops_standard
exit $bad
