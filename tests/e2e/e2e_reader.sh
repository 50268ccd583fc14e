#!/bin/bash
# The reader that all other end-to-end tests rely on finds every broken rule.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
"$PYTHON" "$TESTS/judges/pprof_read_test.py"
