#!/bin/bash
# The most telling tests of suites that others wrote say the same bare and under wallprof. The whole of them is
# `make transparency`.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need "$PYTHON"
[ -e /usr/lib/python3.11/test/test_signal.py ] || type -P stress-ng >/dev/null || skip "neither CPython's tests nor stress-ng are installed"

WALLPROF_BUILD=$BUILD TRANSPARENCY_LOGS=$TMP/logs "$TESTS/transparency/run" --quick || {
    tail -n 60 "$TMP"/logs/*.log
    fail "tests differ under wallprof"
}
