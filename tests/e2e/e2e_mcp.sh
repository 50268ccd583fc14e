#!/bin/bash
# `wallprof mcp` answers an assistant: the client of the npm SDK calls every tool on a real recording; requests are cancelled, and
# what it runs ends with it.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"
export TMPDIR=$TMP
"$PYTHON" "$TESTS/judges/judge_mcp.py" "$tool" "$TMP" || complain "it does not do what is asked"
! true | "$tool" mcp /dev/null 2>/dev/null || complain "it takes arguments"

if ! type -P node >/dev/null; then
    leave_out client "node is not installed"
elif modules=$(npm_readers); then
    node "$TESTS/judges/judge_mcp_client.js" "$modules" "$tool" "$TARGETS/target_answers" "$TMP" || complain "the SDK's client does not accept it"
else
    leave_out client "$modules"
fi
exit "$bad"
