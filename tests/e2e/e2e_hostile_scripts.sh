#!/bin/bash
# Programs whose interpreter's memory is overwritten all the time lose names at most: they run to their end, and their native
# stacks are whole.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

seconds=3
! is_long || seconds=60
for language in python php perl; do
    for observe in auto signal; do
        profile=$TMP/$language-$observe.pb.gz
        export WALLPROF_HZ=5000 WALLPROF_OVERHEAD=off WALLPROF_OBSERVE=$observe
        profile_run "$profile" "$TARGETS/target_hostile_$language" "$seconds" || fail "$language, $observe: the program failed with $?"
        check_profile "$profile"
        check_roots "$profile"
        read_pprof comments "$profile" | grep '^scripts: [1-9]' || complain "$language, $observe: the interpreter was not found"
    done
done
exit $bad
