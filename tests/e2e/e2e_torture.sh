#!/bin/bash
# What makes unwinders in signal handlers crash and hang, all at once, sampled 10,000 times a second: the loader's lists,
# the heap, libraries and conversion modules that come and go, name services, exceptions, threads, children, coroutines,
# alternate stacks; see target_torture.cc. It must end, with all results right, and a good profile.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

seconds=${1:-4}
limit=$((seconds * 6 + HANG_S))

# Of the stacks so many must be whole, and so many of them all if what cannot be helped is not counted. That is: a library
# is not known until the sampler has read it, at its next tick, which on a busy machine is late, and this program loads a
# new one every few hundred microseconds; a coroutine's, whose outermost frame glibc's makecontext does not mark.
least=0.8
least_helped=0.99

# Of different sizes, so that what comes to lie where another was ends elsewhere.
make_libraries() {
    cat >"$TMP/library.c" <<'SOURCE'
__asm__(".pushsection .text\n.skip " ROOM "\n.popsection\n.pushsection .data\n.skip " ROOM "\n.popsection");

__attribute__((noinline)) int torture_value(int depth, int (*call)(int))
{
    volatile char frame[NUMBER * 8];
    frame[0] = (char)depth;
    int value = depth > 0 ? torture_value(depth - 1, call) : call(NUMBER);
    __asm__ volatile("" : : "r"(frame) : "memory");
    return value;
}
SOURCE
    local number
    for number in 1 2 3 4 5 6; do
        "${CC:-cc}" -O2 -fomit-frame-pointer -shared -fPIC -DNUMBER="$number" -DROOM="\"$((number * number * 5000))\"" \
            -o "$TMP/libtorture$number.so" "$TMP/library.c" || fail "cc does not work"
    done
}

# From "N samples: M not whole, ...": the share that is.
whole_share() { # FILE
    read_pprof comments "$1" | sed -n 's/^\([0-9]*\) samples: \([0-9]*\) not whole.*/\1 \2/p' |
        awk '{ printf("%.4f\n", $1 > 0 ? 1 - $2 / $1 : 0) }'
}

# The share of the stacks that go back to their root, or have a frame of what comes and goes, or of a coroutine's start.
helped_share() { # FILE
    "$PYTHON" - "$TESTS/judges" "$1" <<'END'
import os, sys
sys.path.insert(0, sys.argv[1])
from pprof_read import SAMPLES, Profile
profile, total, bad = Profile(sys.argv[2]), 0, 0
for sample in profile.message.sample:
    names = profile.stack(sample)
    files = [os.path.basename(profile.file_of(profile.locations[id])) for id in sample.location_id]
    is_passing = any(file.startswith("libtorture") for file in files) or {"[unloaded]", "__start_context"} & set(names)
    total += sample.value[SAMPLES]
    if not is_passing and names != ["[not responding]"] and not profile.reaches_root(sample):
        bad += sample.value[SAMPLES]
        if sample.value[SAMPLES]:
            print(sample.value[SAMPLES], "not at its root:", profile.thread(sample), " < ".join(names), file=sys.stderr)
print(f"{1 - bad / max(total, 1):.4f}")
END
}

# Runs the program with other settings; complains when it does not end, or ends badly.
torture() { # WHAT SECONDS VARIABLES...
    local what=$1 seconds=$2 status
    shift 2
    timeout --kill-after=1 "$limit" env "$@" "$TARGETS/target_torture" "$seconds" "$TMP"/libtorture?.so \
        >"$TMP/$what.out" 2>"$TMP/$what.err"
    status=$?
    cat "$TMP/$what.out"
    case $status in
    0) ;;
    124 | 137) fail "$what: not done after $limit s: $(cat "$TMP/$what.err")" ;;
    *) fail "$what: exit status $status: $(cat "$TMP/$what.err")" ;;
    esac
    assert_equal "$what: stderr" "$(cat "$TMP/$what.err")" ""
}

make_libraries
echo '== bare'
torture bare 1
echo '== profiled'
# %p: the children that execute something have profiles of their own.
torture profiled "$seconds" LD_PRELOAD="$LIBRARY" WALLPROF_HZ=10000 WALLPROF_OUT="$TMP/torture.%p.pb.gz"
pid=$(sed -n 's/^pid //p' "$TMP/profiled.out")
profile=$TMP/torture.$pid.pb.gz
check_profile "$profile" >/dev/null
read_pprof comments "$profile"
share=$(whole_share "$profile")
echo "$share of the stacks are whole"
awk -v share="$share" -v least="$least" 'BEGIN { exit !(share >= least) }' || {
    read_pprof reached "$profile" | grep 'not at its root'
    fail "only $share of the stacks are whole, not $least"
}
helped=$(helped_share "$profile") || fail "$profile cannot be read"
echo "$helped but for what cannot be helped"
awk -v share="$helped" -v least="$least_helped" 'BEGIN { exit !(share >= least) }' || fail "only $helped, not $least_helped"
for function in iterate_objects load_library convert throw_and_catch switch_contexts; do
    assert_function "$profile" "$function(unsigned long)"
done
children=("$TMP"/torture.*.pb.gz)
[ "${#children[@]}" -gt 1 ] || fail "no child has a profile"
for child in "${children[@]}"; do
    read_pprof check "$child" || fail "$child breaks a rule of the format"
done
