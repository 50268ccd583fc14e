#!/bin/bash
# A process that is traced (ptrace) is never stopped by a signal of ours: its tracer sees what it sees without us.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_traced

for case in me syscall exec fork attach; do
    "$program" $case >"$TMP/bare" || fail "$case, bare: status $?"
    for observe in auto signal; do
        WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe profile_run "$TMP/%p.pb.gz" "$program" $case >"$TMP/out" ||
            fail "$case, $observe: status $?"
        cmp "$TMP/bare" "$TMP/out" || fail "$case, $observe: $(wc -l <"$TMP/out") lines: $(sort "$TMP/out" | uniq -c)"
    done
done
echo "traced from within, from its birth and from outside, by default and by signal only: the same stops"
