#!/bin/sh
# What a signal handler may run: the objects behind it use nothing beyond themselves and this allow-list, and include
# nothing of the engine's other parts.
set -eu
cd "$(dirname "$0")/../.."
: "${WALLPROF_BUILD:=build/release}"

allowed='_GLOBAL_OFFSET_TABLE_'

defined=$("${NM:-nm}" --defined-only "$WALLPROF_BUILD"/src/sig/*/*.o | awk 'NF == 3 { print $3 }' | sort -u)
bad=$("${NM:-nm}" -u "$WALLPROF_BUILD"/src/sig/*/*.o | awk '$1 == "U" { print $2 }' | sort -u |
    grep -vxF "$(printf '%s\n' "$defined" "$allowed")" || true)
if [ -n "$bad" ]; then
    echo "sig_* objects use symbols that are not on the allow-list: $bad"
    exit 1
fi

includes=$(grep -hE '^#include "' src/sig/*/*.c src/sig/*/*.h | sort -u | grep -vE '"(sig/[a-z]+/)?sig_' || true)
if [ -n "$includes" ]; then
    echo "sig_* files include other parts of the engine: $includes"
    exit 1
fi

# One thread-local variable, whose place is fixed when the program starts (sig_wait.h): relocations of other kinds than
# initial-exec's are of storage that may be allocated when it is first touched. DTPOFF is what debug information says.
tls=$(readelf -rW "$WALLPROF_BUILD"/src/sig/*/*.o | grep -E 'R_[A-Z0-9_]*(TLS|TPOFF|DTPMOD|DTPREL)' |
    grep -vE 'R_(X86_64_(GOTTPOFF|DTPOFF(32|64))|AARCH64_TLSIE_[A-Z0-9_]*|AARCH64_TLS_DTPREL(64)?) ' || true)
names=$(readelf -sW "$WALLPROF_BUILD"/src/sig/*/*.o | awk '$4 == "TLS" && $8 ~ /^[a-z_]/ { print $8 }' | sort -u)
if [ -n "$tls" ] || [ "$names" != sig_wait_here ]; then
    echo "sig_* objects touch thread-local storage: $names $tls"
    exit 1
fi

# Hooks that wait are known by where their code is (WALLPROF_WAIT in preload/real.h): none of it may lie elsewhere.
for object in "$WALLPROF_BUILD"/preload/hook_*.o; do
    "${NM:-nm}" -u "$object" | grep -q ' hook_wait_personality$' || continue
    if readelf -SW "$object" | grep -E ' \.text[^ ]* +PROGBITS +0+ +[0-9a-f]+ +0*[1-9a-f][0-9a-f]* '; then
        echo "$object has code that waits outside of its section"
        exit 1
    fi
done
