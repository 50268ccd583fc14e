#!/bin/bash
# Programs that give up privileges: the C library changes the ids of every thread, ours included, and aborts the
# process if a call succeeds in one thread and fails in another. Capabilities, however, are changed per thread: after
# that the program's thread may do what ours may not.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
need setpriv id
[ "$(id -u)" = 0 ] || skip "only root can give up privileges"
setpriv --reuid=65534 --clear-groups id >/dev/null 2>&1 || skip "setpriv cannot change ids here"

same_as_bare() { # SETPRIV OPTIONS...
    local expected status
    echo "== $*"
    expected=$(setpriv "$@" id)
    status=$?
    profile_run "$TMP/x.pb.gz" setpriv "$@" id >"$TMP/output" 2>"$TMP/stderr"
    assert_equal "exit status with $*" "$?" "$status"
    assert_equal "output with $*" "$(cat "$TMP/output")" "$expected"
}

same_as_bare --reuid=65534 --clear-groups
same_as_bare --reuid=65534 --regid=65534 --clear-groups
same_as_bare --regid=65534 --groups=65534
same_as_bare --reuid=65534 --keep-groups --inh-caps=-all
