#!/bin/bash
# The tool writes the profile where it is found beside the library, and the library where it is not; the program notices
# neither.
# test: waits
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need strip strings

TOOL=$BUILD/wallprof

# ---- either way the profile is there, and who wrote it can be told ----

run() { # NAME VARIABLES... : target_tool_export's profile and what it said of itself
    local name=$1
    shift
    rm -f "$TMP/$name.pb.gz"
    env "$@" WALLPROF_LOG=info WALLPROF_OUT="$TMP/$name.pb.gz" LD_PRELOAD="$LIBRARY" "$TARGETS/target_tool_export" \
        >"$TMP/$name.out" 2>"$TMP/$name.err"
    assert_equal "$name: exit status" "$?" 7
    assert_equal "$name: what the program saw" "$(cat "$TMP/$name.out")" "$(cat "$TMP/bare.out")"
    check_profile "$TMP/$name.pb.gz"
    assert_function "$TMP/$name.pb.gz" waits_a_while
}

said() { # NAME
    grep -c 'did not write the profile' "$TMP/$1.err"
}

"$TARGETS/target_tool_export" >"$TMP/bare.out"
assert_equal "bare: exit status" "$?" 7

# One that never ends is not waited for for ever, which takes half a minute to see.
cat >"$TMP/slow_tool" <<'SOURCE'
#!/bin/sh
exec sleep 1000
SOURCE
chmod +x "$TMP/slow_tool"
(run slow WALLPROF_TOOL="$TMP/slow_tool") >"$TMP/slow.log" 2>&1 &
slow=$!

run default
assert_equal "the tool fails" "$(said default)" 0
run off WALLPROF_TOOL=off
run missing WALLPROF_TOOL=/nonexistent/wallprof
assert_equal "a tool that is missing" "$(said missing)" 1
run failing WALLPROF_TOOL=/bin/false
assert_equal "a tool that fails" "$(said failing)" 1
run strict WALLPROF_SECCOMP=strict
assert_equal "strict" "$(said strict)" 0

# One that knows more than the library: the line of the sleep.
lines() { # FILE
    "$PPROF" -raw "$1" 2>/dev/null | grep -c 'target_tool_export.c:[1-9]'
}
[ "$(lines "$TMP/default.pb.gz")" -gt 0 ] || fail "no lines from the tool: $("$PPROF" -raw "$TMP/default.pb.gz")"
assert_equal "lines without the tool" "$(lines "$TMP/off.pb.gz")" 0

# ---- whose names they are ----

# Where symbols are all that a program has, the library leaves them to the tool, unless it fails.
cat >"$TMP/keeping_tool" <<SOURCE
#!/bin/sh
cat >"$TMP/kept_store"
exec "$TOOL" "\$@" <"$TMP/kept_store"
SOURCE
chmod +x "$TMP/keeping_tool"
for program in "$TARGETS/target_tool_export" "$TMP/target_tool_export"; do
    [ -e "$program" ] || strip -g -o "$program" "$TARGETS/target_tool_export"
    TARGETS=${program%/*} run keeping WALLPROF_TOOL="$TMP/keeping_tool"
    assert_equal "$program: a tool that keeps the store" "$(said keeping)" 0
    strings "$TMP/kept_store" | grep -c waits_a_while
done >"$TMP/in_stores"
assert_equal "names from the library, with debug information and without" "$(tr '\n' ' ' <"$TMP/in_stores")" "1 0 "
TARGETS=$TMP run plain_failing WALLPROF_TOOL=/bin/false

# ---- what the tool is given ----

cat >"$TMP/tool" <<SOURCE
#!/bin/sh
{ env; echo "killed first: \$(cat /proc/self/oom_score_adj)"; ls -l /proc/self/fd; } >"$TMP/given"
exec "$TOOL" "\$@"
SOURCE
chmod +x "$TMP/tool"
run given WALLPROF_TOOL="$TMP/tool" SECRET=1
assert_equal "nothing of the program's environment" "$(grep -cE 'LD_PRELOAD|SECRET|WALLPROF_OUT' "$TMP/given")" 0
assert_equal "whom the kernel kills first" "$(grep -c 'killed first: 1000' "$TMP/given")" 1
assert_equal "descriptors: three, and the one that ls has" "$(grep -c ' -> ' "$TMP/given")" 4
assert_equal "a tool in between" "$(said given)" 0

wait "$slow" || fail "a tool that never ends: $(cat "$TMP/slow.log")"
assert_equal "a tool that never ends" "$(said slow)" 1

# ---- a whole that cannot be written is said, once ----

mkdir "$TMP/locked"
chmod 0555 "$TMP/locked"
if [ "$(id -u)" -ne 0 ]; then
    WALLPROF_OUT=$TMP/locked/x.pb.gz LD_PRELOAD="$LIBRARY" "$TARGETS/target_tool_export" >/dev/null 2>"$TMP/err"
    assert_equal "an output that cannot be written" "$(grep -c 'cannot be written' "$TMP/err")" 1
fi
exit "$bad"
