#!/bin/bash
# A bad pointer is answered as without us, by the kernel's error or by the C library's fault: target_efault.c calls every
# interposed function with each pointer NULL, unmapped, the kernel's, protected, read-only, and half of it before the end of
# a page. The call's result, or the signal, is the same bare, by default, by signal only, and with a hidden environment.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_efault

bare_run "$program" >"$TMP/bare.out" 2>"$TMP/bare.err" || fail "bare: status $?"

# It knows every hook.
sed -n 's/^LIBC_\(SINCE\|APART\)([^,]*, /LIBC(/; s/^LIBC([^,]*, \([^,]*\),.*/\1/p; s/^HOOK(\(.*\))/\1/p' "$ROOT/src/session/libc.def" | sort >"$TMP/hooks"
sed -n 's/^covers //p' "$TMP/bare.out" | sort -u >"$TMP/covered"
diff "$TMP/hooks" "$TMP/covered" || fail 'src/session/libc.def and what target_efault.c calls differ'
grep -c ': ' "$TMP/bare.out"

record() { # NAME VARIABLE=VALUE...
    local name=$1 variable
    shift
    (
        export WALLPROF_LOG=error # filters end the recording of some children
        for variable; do
            export "${variable?}"
        done
        profile_run "$TMP/$name.pb.gz" "$program"
    ) >"$TMP/out" 2>"$TMP/err" || fail "$name: status $?, after $(tail -n 1 "$TMP/out")"
    diff "$TMP/bare.out" "$TMP/out" >"$TMP/differ" || {
        sed -n 's/^[<>] /&/p' "$TMP/differ" | sed 20q
        fail "$name: $(grep -c '^>' "$TMP/differ") results differ from those of the bare program"
    }
    assert_equal "$name: stderr" "$(cat "$TMP/err")" "$(cat "$TMP/bare.err")"
}

record auto WALLPROF_HZ=1000
record dense WALLPROF_HZ=10000
record signal WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal
record signal-dense WALLPROF_HZ=10000 WALLPROF_OBSERVE=signal
record hidden WALLPROF_HZ=1000 WALLPROF_HIDE=1
check_profile "$TMP/signal-dense.pb.gz" --main="$program"
