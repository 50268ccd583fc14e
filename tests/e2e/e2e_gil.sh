#!/bin/bash
# Who waits for CPython's lock, and who has it: see python_gil.py. Before 3.11 the holder is not known. And what its other
# locks are called: see python_lock.py. From 3.14 on each thread that waits has a word of its own, with a number in its name.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/roots.sh
. "$TESTS/lib/roots.sh"
! is_emulated || skip "the interpreters are this machine's"

count=0
judge() { # ROOT PYTHON MINOR
    local profile="$TMP/$((count += 1)).pb.gz" knows=gil
    echo "== 3.$3: $2"
    WALLPROF_OVERHEAD=off profile_run_in "$1" "$profile" "$2" "$TESTS/targets/python_gil.py" 1.5 || fail "the program failed"
    (($3 >= 11)) || knows=gil-without-holder
    "$PYTHON" "$TESTS/judges/judge_locks.py" "$knows" "$profile" || complain "3.$3: not who waits for whom"
    (($3 >= 14)) || judge_names "$@"
}

judge_names() { # ROOT PYTHON MINOR
    local profile="$TMP/names-$3.pb.gz" name
    WALLPROF_OVERHEAD=off profile_run_in "$1" "$profile" "$2" "$TESTS/targets/python_lock.py" 500 >"$TMP/names" || fail "the program failed"
    "$BUILD/wallprof" top --by on --idle --lines 0 "$profile" >"$TMP/names.top" || complain "3.$3: it cannot be read"
    while read -r name; do
        grep "  $name\$" "$TMP/names.top" >/dev/null || complain "3.$3: nobody waits on '$name'"
    done <"$TMP/names"
}

for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    version=$("$python" -c 'import ctypes, sys; print(sys.version_info.minor)' 2>/dev/null) || continue
    ((version >= 8 && version < 15)) || continue
    judge / "$python" "$version"
done
! root=$(other_debian sid python3.14) || judge "$root" /usr/bin/python3.14 14
[ "$count" -gt 0 ] || skip "there is no CPython 3.8 to 3.14 with ctypes"
exit "$bad"
