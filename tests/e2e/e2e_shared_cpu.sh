#!/bin/bash
# Busy threads that share a CPU wait for it: see target_shared_cpu.c and judge_shared_cpu.py.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "an emulator's own threads are what the kernel counts"

profile_run "$TMP/shared.pb.gz" "$TARGETS/target_shared_cpu" 8 2 >"$TMP/out"
status=$?
[ $status != 77 ] || skip "the kernel does not tell the run delay"
[ $status = 0 ] || fail "exit status $status"
"$PYTHON" "$TESTS/judges/judge_shared_cpu.py" "$TMP/shared.pb.gz" "$TMP/out" || fail "not what the kernel says"
"$BUILD/wallprof" top "$TMP/shared.pb.gz" >"$TMP/top"
grep -q '^ .* DELAY ' "$TMP/top" || fail "top has no column of it: $(cat "$TMP/top")"
