#!/bin/bash
# Who waits for CPython's lock, and who has it: see python_gil.py. Before 3.11 the holder is not known.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
! is_emulated || skip "the interpreters are this machine's"

count=0
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    version=$("$python" -c 'import ctypes, sys; print(sys.version_info.minor)' 2>/dev/null) || continue
    ((version >= 8 && version < 14)) || continue
    echo "== 3.$version: $python"
    profile="$TMP/$((count += 1)).pb.gz"
    WALLPROF_OVERHEAD=off profile_run "$profile" "$python" "$TESTS/targets/python_gil.py" 1.5 || fail "the program failed"
    knows=gil
    ((version >= 11)) || knows=gil-without-holder
    "$PYTHON" "$TESTS/judges/judge_locks.py" "$knows" "$profile" || complain "3.$version: not who waits for whom"
done
[ "$count" -gt 0 ] || skip "there is no CPython 3.8 to 3.13 with ctypes"
exit "$bad"
