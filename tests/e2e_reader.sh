#!/bin/bash
# The reader that all other end-to-end tests rely on finds every broken rule.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
"$PYTHON" "$TESTS/pprof_read_test.py"
