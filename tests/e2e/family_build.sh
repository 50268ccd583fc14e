#!/bin/bash
# A real C project, zstd from Debian's source package, built by make -j2 with and without wallprof-run --merge: what
# is built is the same, there is one profile of all processes and nothing else is left; and what that costs.
#
# Takes some minutes; `make family-build` runs it.
#
# BUILD_PAIRS  how often each way is timed, in turns (7)
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need make gcc apt-get
[ -x "$PPROF" ] || fail "there is no $PPROF: scripts/build-pprof $PPROF makes it"
project=$ROOT/build/zstd
"$ROOT/scripts/debian-source" libzstd "$project" || skip "no source package is to be had"
export TMPDIR=$TMP/stores HOME=$TMP
mkdir "$TMPDIR"

clean() {
    make -s -C "$project/source/lib" clean >/dev/null
}

# The time of make alone goes to $TMP/seconds.
# shellcheck disable=SC2016 # the inner shell's
build() { # COMMAND BEFORE make...
    "$@" bash -c 'begin=$EPOCHREALTIME
        make -s -j2 -C "$1" libzstd.a libzstd && awk -v a="$begin" -v b="$EPOCHREALTIME" "BEGIN { printf \"%.3f\\n\", b - a }" >"$2"' \
        build "$project/source/lib" "$TMP/seconds" >"$TMP/build.log" 2>&1 || fail "the build failed: $(tail -3 "$TMP/build.log")"
}

# What is built; but the archive, which has dates in it.
sums() {
    (cd "$project/source/lib" && find . -name "*.o" -o -name "libzstd.so*" -type f | LC_ALL=C sort | xargs sha256sum)
}

profiled() {
    build "$ROOT/scripts/wallprof-run" --merge --out "$TMP/build.pb.gz"
}

seconds() { # COMMAND...
    local begin=$EPOCHREALTIME
    "$@"
    awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", end - begin }'
}

clean
build env
sums >"$TMP/bare.sums"
clean
profiled
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

for _ in $(seq "${BUILD_PAIRS:-7}"); do
    clean
    build env
    bare=$(cat "$TMP/seconds")
    clean
    all=$(seconds profiled)
    echo "$bare $(cat "$TMP/seconds") $all"
done | tee "$TMP/times" | sed 's/^/seconds bare, profiled, with the profile written: /'

median() { # AWK EXPRESSION
    awk "{ print $1 }" "$TMP/times" | sort -n | awk '{ v[NR] = $1 } END { printf "%.3f", v[int((NR + 1) / 2)] }'
}

# shellcheck disable=SC2016 # awk's
echo "medians: the build takes $(median '$2 / $1') times as long; the profile is there $(median '$3 - $2') s later"
exit "$bad"
