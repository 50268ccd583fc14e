#!/bin/bash
# Profiling at will: by wallprof.h in programs of every kind, by a signal, by the clock. What is misused says so.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

export WALLPROF_OVERHEAD=off
target=$TARGETS/target_control

# ---- the header ----

build() { # NAME COMPILER FLAGS...
    local name=$1
    shift
    "$@" -I"$ROOT/include" -D_GNU_SOURCE -Wall -Wextra -Werror -o "$TMP/$name" -x "$language" "$TESTS/targets/target_control.c" -pthread ||
        fail "$name does not build: $*"
}

codes_of() { # FILE: each call's result, in one line
    sed 's/ /=/' "$1" | tr '\n' ' ' | sed 's/ $//'
}

operations=(active start stop stop active start dump="$TMP/part.pb.gz" dump=/nonexistent/x dump-empty at-exit)

# Without the library every call says so, in children and handlers too.
assert_bare() { # NAME
    "$TMP/$1" "${operations[@]}" fork vfork handler >"$TMP/said" || fail "$1, bare: status $?"
    assert_equal "$1, bare" "$(codes_of "$TMP/said")" "active=-1 start=-1 stop=-1 stop=-1 active=-1 start=-1 dump=-1 dump=-1 dump-empty=-1 fork=11 vfork=11 handler-stop=-1 handler-start=-1 handler-many=0 preloaded=0 at-exit-stop=-1 at-exit-dump=-1 destructor-active=-1"
}

assert_preloaded() { # NAME
    rm -f "$TMP/part.pb.gz" "$TMP/whole.pb.gz"
    profile_run "$TMP/whole.pb.gz" "$TMP/$1" during=200 "${operations[@]}" >"$TMP/said" 2>"$TMP/err" ||
        fail "$1: status $?: $(cat "$TMP/err")"
    assert_equal "$1" "$(codes_of "$TMP/said")" "active=1 start=-3 stop=0 stop=-3 active=0 start=0 dump=0 dump=2 dump-empty=2 preloaded=1 at-exit-stop=0 at-exit-dump=2 destructor-active=0"
    assert_equal "what $1 said on stderr" "$(cat "$TMP/err")" ''
    functions_of "$TMP/part.pb.gz" | grep work_during >/dev/null || fail "$1: what was dumped has no work_during"
    functions_of "$TMP/whole.pb.gz" | grep work_during >/dev/null || fail "$1: the profile has no work_during"
}

header_in() { # LANGUAGE COMPILER STANDARD
    local compiler=$2 form
    language=$1
    type -P "$compiler" >/dev/null || return 0
    for form in '-fPIE -pie' '-fno-pie -no-pie' '-fPIE -pie -O0' '-fno-pie -no-pie -O2 -fno-plt -Wl,-z,now'; do
        echo "== $compiler $3 $form"
        # shellcheck disable=SC2086 # words
        build program "$compiler" "$3" $form
        assert_bare program
        assert_preloaded program
    done
    echo "== $compiler $3 -static"
    build static "$compiler" "$3" -static
    assert_bare static
}

header_in c "${CC:-gcc}" -std=gnu11
header_in c clang -std=gnu11
header_in c++ g++ -std=gnu++17
header_in c++ clang++ -std=gnu++11

# In a pedant's program, twice, and with dlsym declared before and after.
for compiler in gcc clang; do
    type -P "$compiler" >/dev/null || continue
    printf '#include <dlfcn.h>\n#include "wallprof.h"\n#include "wallprof.h"\nvoid *use(void) { return dlsym(0, "x"); }\n' >"$TMP/a.c"
    printf '#include "wallprof.h"\n#include <dlfcn.h>\nint main(void) { return wallprof_stop() != WALLPROF_ABSENT || dlsym(0, "main") == (void *)1; }\n' >"$TMP/b.c"
    "$compiler" -std=c99 -pedantic -Wall -Wextra -Werror -I"$ROOT/include" -o "$TMP/pedant" "$TMP/a.c" "$TMP/b.c" || fail "$compiler -pedantic"
    "$TMP/pedant" || fail "$compiler -pedantic: status $?"
    for options in '-x c -std=gnu89 -pedantic' '-x c++ -std=c++98 -pedantic' '-x c++ -std=c++17 -pedantic'; do
        # shellcheck disable=SC2086
        "$compiler" $options -Wall -Wextra -Werror -I"$ROOT/include" -c -o "$TMP/a.o" "$TMP/a.c" || fail "$compiler $options"
    done
done

# ---- what is recorded ----

# Wall time of a thread's own, in ms; of a function.
wall_of_main() { # FILE
    read_pprof threads "$1" | awk '$2 == "target_control" { sum += $NF } END { print int(sum / 1e6) }'
}

# What runs while it is stopped is in nobody's account: neither wall time nor CPU time, of any thread.
profile_run "$TMP/gap.pb.gz" "$target" stop after=400 beside=300 start during=300 >/dev/null || fail "gap: status $?"
check_profile "$TMP/gap.pb.gz"
assert_function "$TMP/gap.pb.gz" work_during
has_function "$TMP/gap.pb.gz" work_after && fail 'what ran while it was stopped is in the profile'
has_function "$TMP/gap.pb.gz" work_beside && fail 'a thread that lived while it was stopped is in the profile'
duration=$(run_pprof -raw "$TMP/gap.pb.gz" 2>/dev/null | sed -n 's/^Duration: \([0-9]*\).*/\1/p')
read_pprof threads "$TMP/gap.pb.gz"
# Exactly as long as the recorded spans, which is what the file is said to last.
"$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/gap.pb.gz" || fail "gap: ${duration-} s"

# Never started: nothing is written, and the program says what it would.
WALLPROF_START=0 profile_run "$TMP/never.pb.gz" "$target" active during=200 dump="$TMP/none.pb.gz" >"$TMP/said" 2>"$TMP/err" || fail never
assert_equal 'never started' "$(codes_of "$TMP/said")" 'active=0 dump=-6 preloaded=1'
assert_equal 'never started, on stderr' "$(cat "$TMP/err")" ''
[[ ! -e $TMP/never.pb.gz && ! -e $TMP/none.pb.gz ]] || fail 'a profile of nothing'

# Started late: only what follows.
WALLPROF_START=0 profile_run "$TMP/late.pb.gz" "$target" before=300 start during=300 >/dev/null || fail late
assert_function "$TMP/late.pb.gz" work_during
has_function "$TMP/late.pb.gz" work_before && fail 'what ran before it was started is in the profile'
"$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/late.pb.gz" || fail late

# By the clock: a delay, and a duration, after which the file is there while the program goes on. The program waits for each.
WALLPROF_DELAY=2s WALLPROF_DURATION=500ms profile_run "$TMP/clock.pb.gz" "$target" before=100 active until-active during-active \
    until="$TMP/clock.pb.gz" active >"$TMP/said" || fail "clock: status $?"
# On a crowded machine the work before may last for longer than the delay.
is_late=$(sed -n '1s/^active //p' "$TMP/said")
assert_equal 'before the delay is over, and after the duration' "$(codes_of "$TMP/said")" "active=$is_late active=0 preloaded=1"
[ "$is_late" = 1 ] || ! has_function "$TMP/clock.pb.gz" work_before || fail 'what ran before the delay was over is in the profile'
[ "$(wall_of_main "$TMP/clock.pb.gz")" -ge 500 ] || fail 'less was recorded than by the clock'
assert_function "$TMP/clock.pb.gz" work_during
"$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/clock.pb.gz" || fail clock

# Times and numbers that are none are named, and the program is recorded.
WALLPROF_DELAY=soon WALLPROF_DURATION=1d WALLPROF_INTERVAL_DUMP=5ms WALLPROF_INTERVAL_KEEP=-1 WALLPROF_START=2 WALLPROF_CONTROL_SIGNAL=KILL \
    profile_run "$TMP/bad.pb.gz" "$target" >/dev/null 2>"$TMP/err" || fail bad
for variable in WALLPROF_DELAY=soon WALLPROF_DURATION=1d WALLPROF_INTERVAL_DUMP=5ms WALLPROF_INTERVAL_KEEP=-1 WALLPROF_START=2 \
    WALLPROF_CONTROL_SIGNAL=KILL; do
    grep -q "^wallprof: $variable " "$TMP/err" || fail "nothing is said of $variable: $(cat "$TMP/err")"
done
[ -e "$TMP/bad.pb.gz" ] || fail 'settings that are wrong keep it from recording'

# ---- misuse ----

# In handlers that interrupt such calls, and in children: a code, or it is done; never a crash.
profile_run "$TMP/misuse.%p.pb.gz" "$target" handler fork vfork during=50 >"$TMP/said" || fail "misuse: status $?"
cat "$TMP/said"
[ "$(grep -cx 'handler-st[op]* 0\|handler-start 0' "$TMP/said")" -eq 2 ] || fail 'calls in a handler'
grep -qx 'handler-many 0' "$TMP/said" || fail 'calls in handlers that interrupt fork had no answer'
grep -qx 'fork 100' "$TMP/said" || fail 'calls in a child that is followed'
grep -qx 'vfork 22' "$TMP/said" || fail 'calls in a child of vfork'
WALLPROF_FOLLOW=none profile_run "$TMP/misuse.pb.gz" "$target" fork >"$TMP/said" || fail "misuse: status $?"
grep -qx 'fork 22' "$TMP/said" || fail 'calls in a child that is not followed'

# A handler that ends the program in the middle of fork does not wait for what waits for the fork.
status=0
WALLPROF_OUT=$TMP/left.pb.gz timeout -s KILL "$HANG_S" env LD_PRELOAD="$LIBRARY" "$target" handler-exit || status=$?
assert_equal "quick_exit in a handler that interrupts fork" "$status" 3
# A name without %p: it may end before its first tick. Its children may have profiles too.
for file in "$TMP"/left.pb.gz "$TMP"/left.[0-9]*.pb.gz; do
    [ "$file" = "$TMP/left.pb.gz" ] || [ -e "$file" ] || continue
    (check_profile "$file") >/dev/null || fail "quick_exit in a handler that interrupts fork: $file"
done

# Threads that come and go while it is stopped do not pile up, and none is in the profile.
threads=20000
profile_run "$TMP/many.pb.gz" "$target" stop threads=$threads rss threads=$threads rss start during=200 >"$TMP/said" || fail many
cat "$TMP/said"
assert_equal 'threads that were there while it was stopped' "$(read_pprof threads "$TMP/many.pb.gz" | wc -l)" 1
awk '$1 == "rss" && !first { first = $2; next } $1 == "rss" { exit !($2 < first + 2048) }' "$TMP/said" || fail 'memory grows while it is stopped'

# ---- the signal ----

start_target() { # OPERATIONS... ; its pid in $program
    : >"$TMP/said"
    LD_PRELOAD=$LIBRARY "$target" "$@" >"$TMP/said" 2>"$TMP/err" &
    program=$!
    until [ -s "$TMP/said" ]; do
        kill -0 "$program" || fail "it has ended: $(cat "$TMP/err")"
        sleep 0.05
    done
}

wait_for() { # FILE TEXT
    local i
    for ((i = 0; i < 200; i++)); do
        ! grep -q "$2" "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    fail "no '$2' in $1"
}

WALLPROF_OUT=$TMP/signal.pb.gz WALLPROF_START=0 WALLPROF_CONTROL_SIGNAL=USR2 WALLPROF_LOG=info:$TMP/log start_target active during=3000
kill -USR2 "$program"
wait_for "$TMP/log" 'recording starts'
sleep 1.5 # of which it may stand still for one
kill -USR2 "$program"
wait_for "$TMP/log" 'recording stops'
wait "$program" || fail "signal: status $?"
check_profile "$TMP/signal.pb.gz"
assert_function "$TMP/signal.pb.gz" work_during
"$PYTHON" "$TESTS/judges/judge_spans.py" "$TMP/signal.pb.gz" || fail signal

# A sleep that it falls into goes on, and what the program reads is its own: nothing.
WALLPROF_OUT=$TMP/slept.pb.gz WALLPROF_CONTROL_SIGNAL=USR2 WALLPROF_LOG=info:$TMP/log2 start_target shown active slept=1800
kill -USR2 "$program"
wait "$program" || fail "slept: status $?"
grep -qx 'shown 0' "$TMP/said" || fail 'the program sees our handler'
grep -qx 'slept 0' "$TMP/said" || fail 'a sleep was cut short'
grep -q 'recording stops' "$TMP/log2" || fail 'the signal has done nothing'

# The program's own handler wins.
WALLPROF_OUT=$TMP/own.pb.gz WALLPROF_CONTROL_SIGNAL=USR1 WALLPROF_LOG=info:$TMP/log3 start_target handler active during=300
wait "$program" || fail "own: status $?"
grep -q 'the program uses signal 10 itself' "$TMP/log3" || fail "nothing is said of the lost signal: $(cat "$TMP/log3")"
[ -s "$TMP/own.pb.gz" ] || fail 'no profile'

# One that is ignored, or what threads are sampled with, is not to be had.
(trap '' USR2 && WALLPROF_CONTROL_SIGNAL=USR2 profile_run "$TMP/ignored.pb.gz" "$target" >/dev/null 2>"$TMP/err") || fail ignored
grep -q 'signal 12 is ignored or has a handler' "$TMP/err" || fail "nothing is said of an ignored signal: $(cat "$TMP/err")"
WALLPROF_CONTROL_SIGNAL=PROF profile_run "$TMP/asked.pb.gz" "$target" >/dev/null 2>"$TMP/err" || fail asked
grep -q 'is what threads are sampled with' "$TMP/err" || fail 'nothing is said of SIGPROF'
exit "$bad"
