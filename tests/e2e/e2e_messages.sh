#!/bin/bash
# Messages never make a program wait, nor stop it: not at its start, nor at its end, whatever its stderr is. What stderr did
# not take is in the notes of the profile.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# Something is said at the start, of the rate, and at the end, of the second file.
stuck() { # KIND
    "$PYTHON" "$TESTS/lib/stuck_stderr.py" "$1" env WALLPROF_HZ=no WALLPROF_OUT="$TMP/$1.pb.gz,/dev/full.pb.gz/x.pb.gz" \
        LD_PRELOAD="$TMP/libwallprof.so" "$TMP/target_limits" limit none 0 >"$TMP/$1.out"
}

chmod 777 "$TMP" # another user may not get at the build
cp "$LIBRARY" "$BUILD/wallprof" "$TARGETS/target_limits" "$TMP"
for kind in pipe foreign socket terminal master background; do
    if [ $kind = foreign ] && [ "$(id -u)" -ne 0 ]; then
        leave_out foreign "only root can become another user"
        continue
    fi
    stuck $kind
    [ "$(head -n 2 "$TMP/$kind.out")" = 3 ] || complain "$kind: $(head -n 2 "$TMP/$kind.out")"
    grep -q wallprof: "$TMP/$kind.out" && complain "$kind: stderr has $(cat "$TMP/$kind.out")"
    "$BUILD/wallprof" top "$TMP/$kind.pb.gz" >"$TMP/report" || complain "$kind: no profile"
    read_pprof comments "$TMP/$kind.pb.gz" >"$TMP/notes" || complain "$kind: no notes"
    grep -q 'unread message: WALLPROF_HZ=no is not a whole number' "$TMP/notes" || complain "$kind: the message is lost"
done

# A message of the tool is one write, or those of several processes would stand in each other. (Each write to such a pipe is
# read by itself.)
"$PYTHON" - "$BUILD/wallprof" run --out "$TMP/one.pb.gz" sleep 0.2 <<'END' || complain "a message is written in pieces"
import os, subprocess, sys
reader, writer = os.pipe2(os.O_DIRECT)
program = subprocess.Popen(sys.argv[1:], stderr=writer)
os.close(writer)
pieces = []
while piece := os.read(reader, 65536):
    pieces.append(piece)
print(pieces)
sys.exit(program.wait() or len(pieces) != 1 or not pieces[0].startswith(b"wallprof: profile in "))
END
exit "$bad"
