#!/bin/bash
# Libraries that come and go, lazily bound, with thread-local storage and indirect functions, beside threads that ask the
# loader, use the heap and throw, sampled 10,000 times a second: it ends, with all results right, and every sample is
# named by the library that was there. See target_loader.cc. TORTURE_SECONDS: how long, in all.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need gcc
seconds=$(((${TORTURE_SECONDS:-600} + 1) / 2))

cat >"$TMP/more.c" <<'SOURCE'
/* General dynamic, and too large for the loader's reserve: allocated at the first touch. */
static __thread int value[2000] = {7};

int *storage(void)
{
    return value;
}

static int implementation(void)
{
    return 42;
}

static void *resolve(void)
{
    return implementation;
}

int indirect(void) __attribute__((ifunc("resolve")));
SOURCE

for letter in a b; do
    gcc -O2 -fPIC -shared -fomit-frame-pointer -Wl,-z,lazy -DSPIN=${letter}_spin -o "$TMP/lib$letter.so" \
        "$TESTS/targets/module_spin.c" "$TMP/more.c" || fail "the libraries cannot be built"
done

torture() { # OBSERVE
    local status file=$TMP/$1.pb.gz
    echo "== $1"
    timeout --kill-after=5 $((seconds * 2 + HANG_S)) env WALLPROF_HZ=10000 WALLPROF_MEM=1G WALLPROF_OBSERVE="$1" WALLPROF_OUT="$file" \
        LD_PRELOAD="$LIBRARY" "$TARGETS/target_loader" "$seconds" "$TMP/liba.so" "$TMP/libb.so" >"$TMP/out" 2>"$TMP/err"
    status=$?
    cat "$TMP/out"
    [ "$status" -eq 0 ] || fail "$1: status $status: $(tail -n 5 "$TMP/err")"
    assert_equal "$1: stderr" "$(cat "$TMP/err")" ""
    check_profile "$file" --main="$TARGETS/target_loader"
    read_pprof comments "$file" | grep -e ' ticks' -e ' samples'
    "$PYTHON" "$TESTS/judges/judge_modules.py" turns "$file" || fail "$1: a library is misnamed"
}

torture auto
torture signal
