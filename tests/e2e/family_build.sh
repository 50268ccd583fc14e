#!/bin/bash
# A real C project, zstd from Debian's source package, built by make -j2 bare, with the library preloaded, and under
# wallprof-run --merge. What is built is the same, there is one profile of all processes and nothing else is left. Then
# it prints what the two ways cost, in time and in CPU time.
#
# Takes some minutes; `make family-build` runs it.
#
# BUILD_PAIRS  how often each way is timed, in turns. Default: 5.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need make gcc apt-get
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
project=$ROOT/build/zstd
"$ROOT/scripts/debian-source" libzstd "$project" || skip "no source package is to be had"
export TMPDIR=$TMP/stores HOME=$TMP
mkdir "$TMPDIR"

lib=$project/source/lib scratch=$TMP

clean() {
    make -s -C "$lib" clean >/dev/null
}

# Writes the seconds that make takes, and its CPU seconds with all its processes', to $scratch/cost.
# shellcheck disable=SC2016 # the inner shell's
build() { # COMMAND BEFORE make...
    "$@" bash -c 'TIMEFORMAT="%3R %3U %3S"
        { time make -s -j2 -C "$1" libzstd.a libzstd 2>&3; } 3>&2 2>"$2"' \
        build "$lib" "$scratch/cost" >"$scratch/build.log" 2>&1 || fail "the build failed: $(tail -3 "$scratch/build.log")"
}

# What is built; but the archive, which has dates in it.
sums() {
    (cd "$lib" && find . -name "*.o" -o -name "libzstd.so*" -type f | LC_ALL=C sort | xargs sha256sum)
}

merged() {
    build "$ROOT/scripts/wallprof-run" --merge --out "$TMP/build.pb.gz"
}

# Each process writes a profile of its own.
# shellcheck disable=SC2317 # pair calls it
preloaded() {
    rm -rf "$TMP/plain"
    mkdir "$TMP/plain"
    build env LD_PRELOAD="$BUILD/libwallprof.so" WALLPROF_OUT="$TMP/plain/%p.pb.gz"
}

clean
build env
sums >"$TMP/bare.sums"
clean
merged
sums | diff "$TMP/bare.sums" - || complain "what was built is not the same"
cat "$TMP/build.log"

[ "$(find "$TMP" -maxdepth 1 -name '*.pb.gz' | wc -l)" -eq 1 ] || complain "not one profile: $(ls "$TMP")"
[ -z "$(ls -A "$TMPDIR")" ] || complain "this is left: $(ls -A "$TMPDIR")"
check_profile "$TMP/build.pb.gz" || complain "the profile breaks a rule"
run_pprof -tags "$TMP/build.pb.gz" >"$TMP/tags" 2>/dev/null
for pass in make gcc cc1 as ld ar; do
    grep -E ": ([a-z0-9_-]+-)?$pass(-[0-9]+)?\$" "$TMP/tags" >/dev/null || complain "$pass is not in the profile: $(sed -n '/process:/,/^$/p' "$TMP/tags")"
done
sed -n '/ process:/,/^$/p' "$TMP/tags"
"$BUILD/wallprof" top --by process --lines 12 "$TMP/build.pb.gz"

# Prints what make costs that way, beside a bare one right before it: "seconds CPU-seconds seconds CPU-seconds". The CPU
# time is of all that the command started, the profile's writing included.
pair() { # COMMAND THAT BUILDS
    local TIMEFORMAT="%U %S" all
    clean
    build env
    read -r seconds user system <"$TMP/cost"
    clean
    all=$({ time "$1"; } 2>&1) || exit 1
    awk -v bare="$seconds" -v user="$user" -v kernel="$system" -v all="$all" '
        { split(all, cpu, " "); printf "%.3f %.3f %.3f %.3f\n", bare, user + kernel, $1, cpu[1] + cpu[2] }' "$TMP/cost"
}

# The CPU time of both at the same time, each in a copy of the sources. What else the machine does slows both alike.
together() { # COMMAND THAT BUILDS
    local TIMEFORMAT="%U %S"
    clean
    rm -rf "$TMP/copy"
    cp -a "$project/source" "$TMP/copy"
    (lib=$TMP/copy/lib scratch=$TMP/copy && { time build env; } 2>"$TMP/bare.cpu") &
    ({ time "$1"; } 2>"$TMP/profiled.cpu") || exit 1 # a shell of its own, which does not count the other's processes
    wait
    awk '{ sum[FILENAME] += $1 + $2 } END { printf "%.3f %.3f\n", sum[ARGV[1]], sum[ARGV[2]] }' "$TMP/bare.cpu" "$TMP/profiled.cpu"
}

median() { # AWK EXPRESSION FILE
    awk "{ print $1 }" "$2" | sort -n | awk '{ v[NR] = $1 } END { printf "%.3f", v[int((NR + 1) / 2)] }'
}

for _ in $(seq "${BUILD_PAIRS:-5}"); do
    for way in preloaded merged; do
        pair "$way" | tee -a "$TMP/$way.pairs" | sed "s/^/$way, seconds and CPU seconds bare, then profiled: /"
        together "$way" | tee -a "$TMP/$way.together" | sed "s/^/$way, CPU seconds bare and profiled, at the same time: /"
    done
done
for way in preloaded merged; do
    # shellcheck disable=SC2016 # awk's
    echo "$way: the build takes $(median '$3 / $1' "$TMP/$way.pairs") times as long," \
        "and $(median '$4 / $2' "$TMP/$way.pairs") times the CPU time;" \
        "$(median '$2 / $1' "$TMP/$way.together") times the CPU time at the same time as a bare one"
done
exit "$bad"
