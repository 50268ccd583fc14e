#!/bin/bash
# A password of the command line is in no file that is made of a recording, whatever its format, nor in what is
# merged. WALLPROF_ARGS=all shows it.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"

tool=$BUILD/wallprof
outs=''
for ending in pb.gz callgrind folded html perfetto.json.gz json.gz store; do
    outs=$outs,$TMP/own/app.$ending
done

contents() { # FILE...
    local file
    for file in "$@"; do
        zcat -f "$file"
    done
}

record() { # [VARIABLE=VALUE]
    rm -rf "$TMP/own"
    mkdir "$TMP/own"
    env "$@" WALLPROF_FOLLOW=none WALLPROF_OUT="${outs#,}" LD_PRELOAD="$LIBRARY" \
        "$TARGETS/target_limits" limit none 0 --password hunter2 --db=postgres://me:hunter2@host 2>"$TMP/err"
    "$tool" merge -o "$TMP/own/merged.pb.gz" "$TMP"/own/app*.store "$TMP"/own/app.pb.gz 2>>"$TMP/err" ||
        fail "merge: $(cat "$TMP/err")"
}

record WALLPROF_HZ=100
[ "$(find "$TMP/own" -type f | wc -l)" -ge 7 ] || fail "files are missing: $(ls "$TMP/own")"
contents "$TMP"/own/* >"$TMP/all"
grep -aq hunter2 "$TMP/all" && fail "the password is in a file"
read_pprof comments "$TMP/own/merged.pb.gz" | grep -F -- '--password *** --db=postgres://me:***@host' >/dev/null || fail "not shown as it should be"
record WALLPROF_ARGS=all
contents "$TMP"/own/app.pb.gz >"$TMP/all"
grep -aq -- '--password hunter2' "$TMP/all" || fail "all is not all"
