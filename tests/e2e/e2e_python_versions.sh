#!/bin/bash
# Python's functions in stacks, and those of its subinterpreters, with every CPython from 3.8 to 3.14 that is here.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
# shellcheck source=tests/lib/python_frames.sh
. "$TESTS/lib/python_frames.sh"

has_interpreters() { # PYTHON
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))'
}

count=0
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3; do
    has_frames "$python" || continue
    judge_frames / "$python" python_frames "python-$((count += 1))"
    ! has_interpreters "$python" || judge_frames / "$python" python_interpreters "interpreters-$count"
done
# Its interpreter has a function for each instruction.
if root=$(other_debian sid python3.14); then
    judge_frames "$root" /usr/bin/python3.14 python_frames "python-$((count += 1))"
    judge_frames "$root" /usr/bin/python3.14 python_frames "python-$((count += 1))" WALLPROF_OBSERVE=signal
    judge_frames "$root" /usr/bin/python3.14 python_interpreters "interpreters-$count"
fi
[ "$count" -gt 0 ] || skip "there is no CPython 3.8 to 3.14"
exit "$bad"
