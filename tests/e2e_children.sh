#!/bin/bash
# Children born at a bad moment or in an unusual way: they end as they would without us, and leave a profile if they live.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

program=$TARGETS/target_children

# Runs it at the highest rate, by signal only; what hangs, hangs for ever.
children() { # ARGUMENTS...
    timeout --kill-after=1 60 env WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal WALLPROF_OUT="$TMP/%p.pb.gz" \
        LD_PRELOAD="$LIBRARY" "$program" "$@" || fail "target_children $*: status $?"
}

# A thread that is not in the child holds the loader's list for ever.
for how in exit leave; do
    "$program" loader $how >/dev/null || fail "target_children loader $how does not hold bare"
    child=$(children loader $how) || exit 1
    check_profile "$TMP/$child.pb.gz" >/dev/null
    assert_function "$TMP/$child.pb.gz" work_in_child
done
# The forking thread itself holds it, and the sampler waits for it.
children callback

# A fork that copies half a million page tables' entries comes to its end.
available=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
if [ "$available" -gt 4000 ]; then
    "$program" memory 2048 || fail "target_children memory does not hold bare"
    children memory 2048
fi
