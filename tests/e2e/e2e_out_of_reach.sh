#!/bin/bash
# A child of a run that can no longer reach the run's files, because it has become another user, says nothing about it on the
# program's stderr. The first process does, and so does a child with WALLPROF_LOG=info.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"
[ "$(id -u)" -eq 0 ] || skip "only root can become another user"

# A forked child, and a program that it executes, live for longer than it takes to begin a recording.
cat >"$TMP/child.py" <<'END'
import os, time
os.chdir("/")
child = os.fork()
if child == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    time.sleep(0.5)
    os.execl("/bin/sleep", "sleep", "0.5")
os.waitpid(child, 0)
END

run() { # NAME VARIABLE=VALUE FILE
    mkdir -m 700 "$TMP/$1"
    env "$2" "$ROOT/scripts/wallprof-run" --quiet --out "$3" -- "$PYTHON" "$TMP/child.py" 2>"$TMP/err" || fail "$1: status $?"
}

run silent WALLPROF_LOG=warning "$TMP/silent/%p.pb.gz"
assert_equal "what is said" "$(cat "$TMP/err")" ""
run info WALLPROF_LOG=info "$TMP/info/%p.pb.gz"
grep -q "cannot be written to.*as user 65534" "$TMP/err" || fail "nothing is said of the child: $(cat "$TMP/err")"
