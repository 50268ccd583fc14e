#!/bin/bash
# PHP's functions in stacks, judged by what the program says of itself: waiting and computing processes, in 8.1 to 8.4.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# The time that the program stands still for, in seconds.
hold_s=1
! is_long || hold_s=10
script=$TESTS/targets/php_frames.php

has_frames() { # PHP
    "$1" -n -r 'exit(PHP_VERSION_ID >= 80100 && PHP_VERSION_ID < 80500 && !PHP_ZTS && function_exists("pcntl_fork") ? 0 : 1);' 2>/dev/null
}

loop_line() { # PATTERN
    grep -n -F "$1" "$script" | head -n 1 | cut -d : -f 1
}

judge() { # PHP NAME VARIABLES...
    local php=$1 name=$2 variable lines
    lines=$(loop_line ' < 200000; '),$(loop_line ' & 0xffff;')
    (
        export WALLPROF_HZ=500 WALLPROF_OVERHEAD=off
        for variable in "${@:3}"; do
            export "${variable?}"
        done
        profile_run "$TMP/$name.%p.pb.gz" "$php" "$script" "$TMP/$name.json" "$hold_s"
    ) || fail "$name: the program failed"
    for profile in "$TMP/$name".*.pb.gz; do
        check_profile "$profile"
    done
    "$PYTHON" "$TESTS/judges/judge_scripts.py" "$TMP/$name".*.pb.gz "$TMP/$name.json" "--spin-lines=$lines" \
        --spin-calls=stream_select || complain "$name: stacks differ"
}

count=0
for php in /usr/bin/php8.*; do
    has_frames "$php" || continue
    judge "$php" "php-$((count += 1))"
done
[ "$count" -gt 0 ] || skip "there is no PHP 8.1 to 8.4 without ZTS"

# By signal only: every frame is read by the process itself.
judge "$php" signal WALLPROF_OBSERVE=signal

# The engine's own functions.
cat >"$TMP/once.php" <<'PROGRAM'
<?php
function compute() { for ($i = 0; $i < 2e7; $i++); }
compute();
PROGRAM
WALLPROF_SCRIPTS=off profile_run "$TMP/off.pb.gz" "$php" "$TMP/once.php" || fail "the program failed"
has_function "$TMP/off.pb.gz" compute && complain "off: there are functions of PHP"
assert_function "$TMP/off.pb.gz" execute_ex
WALLPROF_SCRIPTS=all profile_run "$TMP/all.pb.gz" "$php" "$TMP/once.php" || fail "the program failed"
assert_function "$TMP/all.pb.gz" compute
assert_function "$TMP/all.pb.gz" execute_ex
exit $bad
