#!/bin/bash
# Libraries that come and go: every sample is named by the library that was there when it was taken, or by none.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need gcc readelf
program=$TARGETS/target_modules

build_library() { # FILE FUNCTION OPTIONS...
    local file=$1 function=$2
    shift 2
    gcc -O2 -fPIC -shared -fomit-frame-pointer -DSPIN="$function" "$@" -o "$file" "$TESTS/targets/module_spin.c" ||
        fail "cannot build $file"
}

run_target() { # NAME MODE ARGUMENTS...
    local name=$1
    shift
    profile_run "$TMP/$name.pb.gz" "$program" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" ||
        fail "target_modules $* ended with status $?"
    cat "$TMP/$name.out"
    assert_equal "stderr of $name" "$(cat "$TMP/$name.err")" ""
    check_profile "$TMP/$name.pb.gz" --main="$program"
}

judge() { # ARGUMENTS OF judge_modules.py...
    "$PYTHON" "$TESTS/judges/judge_modules.py" "$@" || fail "a library is misnamed, or a stack does not reach its root"
}

build_library "$TMP/liba.so" a_spin
build_library "$TMP/libb.so" b_spin

# Two libraries in turn at one address. At 50 Hz every one of them is younger than the last tick; at 1,000 Hz many
# samples fall between the unloading of one and the next reading of the loader.
is_long && all='50 1000' || all=1000
for hz in $all; do
    WALLPROF_HZ=$hz run_target "turns.$hz" turns "$TMP/liba.so" "$TMP/libb.so" 4000 1
    grep -v ' at one address 0$' "$TMP/turns.$hz.out" >/dev/null || fail "the libraries are not at one address"
    judge turns "$TMP/turns.$hz.pb.gz"
done

# The sampler and the program on one CPU: replies come late, and several libraries are there between two samples.
cpu=$("$PYTHON" -c 'import os; print(min(os.sched_getaffinity(0)))')
WALLPROF_HZ=1000 profile_run "$TMP/late.pb.gz" taskset -c "$cpu" "$program" turns "$TMP/liba.so" "$TMP/libb.so" 3000 1 >"$TMP/late.out" ||
    fail "target_modules ended with status $?"
judge turns "$TMP/late.pb.gz"

# Three threads, so that there is hardly a moment without a dlclose under way, nor one without a change.
WALLPROF_HZ=1000 run_target threads turns "$TMP/liba.so" "$TMP/libb.so" 3000 3
judge turns "$TMP/threads.pb.gz"

# A library of less than a tick's age is walked to the root, its constructor within dlopen included.
build_library "$TMP/libc_in.so" a_spin -DCONSTRUCTOR_NS=300000000
WALLPROF_HZ=100 run_target constructor once "$TMP/libc_in.so" 300
judge under "$TMP/constructor.pb.gz" dlopen construct
judge under "$TMP/constructor.pb.gz" main a_spin

# Unwind tables without a table to search them by: in a library, and in the program itself.
build_library "$TMP/libbare.so" a_spin -Wl,--no-eh-frame-hdr
WALLPROF_HZ=200 run_target bare once "$TMP/libbare.so" 500
judge under "$TMP/bare.pb.gz" main a_spin
gcc -std=gnu11 -O2 -fomit-frame-pointer -D_GNU_SOURCE -Wl,--no-eh-frame-hdr -pthread -o "$TMP/bare" "$TESTS/targets/target_modules.c" ||
    fail "cannot build the program"
readelf -lW "$TMP/bare" "$TMP/libbare.so" | grep -F GNU_EH_FRAME && fail "there is a .eh_frame_hdr"
program=$TMP/bare
WALLPROF_HZ=200 run_target bare_program once "$TMP/liba.so" 500
judge under "$TMP/bare_program.pb.gz" run_a a_spin
gcc -std=gnu11 -O2 -fomit-frame-pointer -D_GNU_SOURCE -no-pie -pthread -o "$TMP/no_pie" "$TESTS/targets/target_modules.c" ||
    fail "cannot build the program"
program=$TMP/no_pie
WALLPROF_HZ=200 run_target no_pie once "$TMP/liba.so" 500
judge under "$TMP/no_pie.pb.gz" run_a a_spin
program=$TARGETS/target_modules

# The vDSO has unwind tables of its own.
WALLPROF_HZ=500 run_target clock clock 1000
judge under "$TMP/clock.pb.gz" read_clock clock_gettime

# Libraries that the C library loads and unloads of its own accord. Many samples are of the page fault at the first
# instruction of a library, _init in crti.o, which has no unwind table.
WALLPROF_HZ=1000 run_target iconv iconv 2000
assert_equal "iconv" "$(cat "$TMP/iconv.out")" "converted 1"
check_roots "$TMP/iconv.pb.gz" 0.8
