#!/bin/bash
# gcc -O2 -c: a driver and its children, each with a file of its own, and the same object as without us.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need gcc

make_source() { # FUNCTIONS
    awk -v count="$1" 'BEGIN {
        print "unsigned table[64];"
        for (f = 0; f < count; f++) {
            printf "unsigned function_%d(unsigned *p, int n)\n{\n    unsigned s = %d;\n", f, f
            printf "    for (int i = 0; i < n; i++) {\n        s = s * %d + p[i];\n", 2 * f + 3
            printf "        if (s & %d)\n            p[i] ^= table[(s >> %d) & 63];\n", f % 97 + 1, f % 23
            printf "        switch (s %% %d) {\n", f % 5 + 4
            for (c = 0; c < 4; c++)
                printf "        case %d:\n            s += table[%d] * p[i];\n            break;\n", c, (f + c) % 64
            print "        }\n    }\n    return s;\n}"
        }
    }'
}

# The profile of one of the processes: there must be exactly one.
only_profile_of() { # PATTERN
    local files
    mapfile -t files < <(compgen -G "$TMP/profiles/$1")
    [ "${#files[@]}" -eq 1 ] || fail "${#files[@]} profiles $1 among: $(ls "$TMP/profiles")"
    echo "${files[0]}"
}

mkdir "$TMP/profiles"
make_source 500 >"$TMP/big.c"
# The compiler's version, its options and the source's name are in the object: all equal in both runs.
(cd "$TMP" && gcc -O2 -c big.c -o bare.o) || fail "gcc does not work here"
(cd "$TMP" && profile_run "$TMP/profiles/%n.%p.pb.gz" gcc -O2 -c big.c -o profiled.o >stdout 2>stderr) ||
    fail "gcc ended with status $?"
assert_equal "stdout and stderr" "$(cat "$TMP/stdout" "$TMP/stderr")" ""
cmp "$TMP/bare.o" "$TMP/profiled.o" || fail "the object differs from that of the bare compiler"

ls -l "$TMP/profiles"
compiler=$(only_profile_of 'cc1.*') || exit 1
driver=$(only_profile_of '*gcc*') || exit 1
assembler=$(only_profile_of '*as.*') || exit 1
check_program "$compiler"
check_profile "$driver"
check_roots "$driver"
check_profile "$assembler"
check_roots "$assembler"
# The driver does nothing but wait for its children.
cpu=$(read_pprof totals "$driver" | awk '$1 == "cpu" { print $2 }')
wall=$(read_pprof totals "$driver" | awk '$1 == "wall" { print $2 }')
[ "$cpu" -lt $((wall / 4)) ] || fail "the driver has $cpu ns of CPU in $wall ns"
