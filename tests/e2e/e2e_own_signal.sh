#!/bin/bash
# A program's own use of a signal of ours: target_own_signal makes every call that has to do with signals, case by case,
# target_signal_calls makes the signal come in all other ways, and both must print the same with and without us; with the
# number that is sent, and those that stand by. And what takes the signal away past the C library is noticed.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# All cases at once: they mostly wait.
run_cases() { # PROGRAM NUMBER FILE
    local name directory=$TMP/cases program=$1
    rm -rf "$directory"
    mkdir "$directory"
    for name in $cases; do
        timeout -k 5 "$HANG_S" "$program" "$name" "$2" >"$directory/$name" 2>&1 || echo "status $?" >>"$directory/$name" &
    done
    wait
    for name in $cases; do
        sed "s/^/$name: /" "$directory/$name"
    done | without_internal_signals >"$3"
}

compare() { # TARGET NUMBER OUR-SIGNAL VARIABLE=VALUE...
    local program=$TARGETS/$1 number=$2 bare=$TMP/bare.$1.$2 cases variable
    shift 2
    cases=$("$program" list)
    [ -s "$bare" ] || run_cases "$program" "$number" "$bare"
    (
        export WALLPROF_SIGNAL=$1 WALLPROF_HZ=1000 WALLPROF_OUT="$TMP/own.%p.pb.gz" LD_PRELOAD=$LIBRARY
        shift
        for variable; do
            export "${variable?}"
        done
        run_cases "$program" "$number" "$TMP/profiled"
    )
    diff "$bare" "$TMP/profiled" >"$TMP/diff" || fail "${program##*/} $number, ours $*: $(cat "$TMP/diff")"
    echo "${program##*/} $number, ours $*: $(wc -l <"$TMP/profiled") lines are the same"
}

compare target_own_signal 27 PROF WALLPROF_OBSERVE=auto
compare target_own_signal 64 64 WALLPROF_OBSERVE=signal
compare target_signal_calls 27 PROF WALLPROF_OBSERVE=signal WALLPROF_HZ=10000
if is_long; then
    compare target_own_signal 27 PROF WALLPROF_OBSERVE=signal
    compare target_own_signal 64 PROF WALLPROF_OBSERVE=signal # the spare one
    compare target_own_signal 64 64 WALLPROF_OBSERVE=auto
    compare target_own_signal 62 64 WALLPROF_OBSERVE=signal # the stand-in
    compare target_signal_calls 27 PROF WALLPROF_OBSERVE=auto
    compare target_signal_calls 64 PROF WALLPROF_OBSERVE=signal WALLPROF_HZ=10000
    compare target_signal_calls 64 64 WALLPROF_OBSERVE=signal WALLPROF_HZ=10000
fi

# The profiler goes on with another signal, and says so. One signal may be on its way when the program takes it away, and
# ends a program that takes it away for the default action (docs/transparency.md says so): then there is no more to be seen.
taken_away() { # WHAT PATTERN [LIBRARY]
    local status=0
    WALLPROF_SIGNAL=PROF WALLPROF_HZ=1000 WALLPROF_LOG=info:$TMP/log profile_run "$TMP/raw.pb.gz" \
        "$TARGETS/target_raw_signal" "$1" 27 ${3+"$3"} || status=$?
    if [ "$1" = default ] && [ "$status" -eq $((128 + 27)) ]; then
        echo "default: a signal was on its way"
        rm -f "$TMP/log" "$TMP/raw.pb.gz"
        return 1
    fi
    assert_equal "$1: status" "$status" 0
    grep -qE "$2" "$TMP/log" || fail "$1: the log does not say '$2' but '$(cat "$TMP/log")'"
    check_profile "$TMP/raw.pb.gz" >/dev/null
    assert_function "$TMP/raw.pb.gz" spin_after
    rm "$TMP/log"
}

assert_it_replies() {
    functions_of "$TMP/raw.pb.gz" | grep -F '[not responding]' && fail "$1: a thread does not respond"
}

for what in default ignore handler block; do
    taken_away "$what" 'the program took signal 27 away by a system call: .* signal [0-9]+ now' || continue
    [ "$what" = block ] || assert_it_replies "$what"
done
taken_away fill 'blocks all signals past the C library'

# A library that was opened with RTLD_DEEPBIND goes past the hooks in the same way.
cat >"$TMP/library.c" <<'SOURCE'
#include <signal.h>
#include <string.h>

void take(const char *what, int number, void (*handler)(int))
{
    sigset_t set;
    if (*what == 'd' || *what == 'i' || *what == 'h')
        signal(number, *what == 'd' ? SIG_DFL : *what == 'i' ? SIG_IGN : handler);
    sigemptyset(&set);
    sigaddset(&set, number);
    if (!strcmp(what, "fill"))
        sigfillset(&set);
    if (*what == 'b' || *what == 'f')
        pthread_sigmask(SIG_BLOCK, &set, NULL);
}
SOURCE
"${CC:-gcc}" -shared -fPIC -O2 -o "$TMP/library.so" "$TMP/library.c" || fail "the library does not compile"
is_long && all='default ignore handler block' || all=ignore
for what in $all; do
    taken_away "$what" 'the program took signal 27 away by a system call: .* signal [0-9]+ now' "$TMP/library.so" || continue
    [ "$what" = block ] || assert_it_replies "$what"
done
taken_away fill 'blocks all signals past the C library' "$TMP/library.so"
