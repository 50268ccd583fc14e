#!/bin/sh
# What a signal handler may run: the objects of src/sig use nothing beyond themselves and this allow-list. (That they
# include nothing else is scripts/lint-directions's to say.)
# test: quick aarch64
set -eu
cd "$(dirname "$0")/../.."
: "${WALLPROF_BUILD:=build/release}"

allowed='_GLOBAL_OFFSET_TABLE_'

defined=$("${NM:-nm}" --defined-only "$WALLPROF_BUILD"/src/sig/*/*.o | awk 'NF == 3 { print $3 }' | sort -u)
bad=$("${NM:-nm}" -u "$WALLPROF_BUILD"/src/sig/*/*.o | awk '$1 == "U" { print $2 }' | sort -u |
    grep -vxF "$(printf '%s\n' "$defined" "$allowed")" || true)
if [ -n "$bad" ]; then
    echo "objects of src/sig use symbols that are not on the allow-list: $bad"
    exit 1
fi

# Rooms use one another by symbol as they may by include, and no engine object calls one of our own hooks.
scripts/lint-symbols "$WALLPROF_BUILD"

# One thread-local variable, whose place is fixed when the program starts (sig_wait.h): relocations of other kinds than
# initial-exec's are of storage that may be allocated when it is first touched. DTPOFF is what debug information says.
tls=$(readelf -rW "$WALLPROF_BUILD"/src/sig/*/*.o | grep -E 'R_[A-Z0-9_]*(TLS|TPOFF|DTPMOD|DTPREL)' |
    grep -vE 'R_(X86_64_(GOTTPOFF|DTPOFF(32|64))|AARCH64_TLSIE_[A-Z0-9_]*|AARCH64_TLS_DTPREL(64)?) ' || true)
names=$(readelf -sW "$WALLPROF_BUILD"/src/sig/*/*.o | awk '$4 == "TLS" && $8 ~ /^[a-z_]/ { print $8 }' | sort -u)
if [ -n "$tls" ] || [ "$names" != sig_wait_here ]; then
    echo "objects of src/sig touch thread-local storage: $names $tls"
    exit 1
fi

# Hooks that wait are known by where their code is (WALLPROF_WAIT in preload/hook.h): none of it may lie elsewhere.
for object in "$WALLPROF_BUILD"/preload/hook_*.o; do
    "${NM:-nm}" -u "$object" | grep -q ' hook_wait_personality$' || continue
    if readelf -SW "$object" | grep -E ' \.text[^ ]* +PROGBITS +0+ +[0-9a-f]+ +0*[1-9a-f][0-9a-f]* '; then
        echo "$object has code that waits outside of its section"
        exit 1
    fi
done

# The list of what is interposed (src/session/libc.def) has every function that the hooks define for a program to see,
# and no other; and the library shows them.
listed=$(sed -n 's/^LIBC_\(SINCE\|APART\)([^,]*, /LIBC(/; s/^LIBC([^,]*, \([^,]*\),.*/\1/p; s/^HOOK(\(.*\))/\1/p; s/^PUBLIC(\(.*\))/\1/p' src/session/libc.def | sort)
defined=$(readelf -sW "$WALLPROF_BUILD"/preload/*.o | awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sort -u)
shown=$("${NM:-nm}" -D --defined-only "$WALLPROF_BUILD/libwallprof.so" | awk '{ print $3 }' | sort)
for names in "$defined" "$shown"; do
    [ "$names" = "$listed" ] && continue
    echo "src/session/libc.def and what the hooks define or the library shows differ by:"
    printf '%s\n' "$names" "$listed" | sort | uniq -u
    exit 1
done

# Each further library costs every profiled program a tenth of a millisecond at its start.
if readelf -dW "$WALLPROF_BUILD/libwallprof.so" | grep 'NEEDED.*libgcc_s'; then
    echo "the library needs libgcc_s (hook_wait.c looks up what it calls of an unwinder)"
    exit 1
fi

# The library runs with glibc 2.17 and newer.
scripts/lint-glibc 2.17 "$WALLPROF_BUILD/libwallprof.so"

# What one hook calls of another is bound inside. A program may export a function of that name, which may call our hook.
bound=$(readelf -rW "$WALLPROF_BUILD/libwallprof.so" | awk '{ sub(/@.*/, "", $5); print $5 }' | sort -u | grep -xF "$listed" || true)
if [ -n "$bound" ]; then
    echo "the library calls functions that it shows by their names in the program: $bound"
    exit 1
fi
