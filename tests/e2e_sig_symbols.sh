#!/bin/sh
# What a signal handler may run: the objects behind it use nothing beyond themselves and this allow-list, and include
# nothing of the engine's other parts.
set -eu
cd "$(dirname "$0")/.."
: "${WALLPROF_BUILD:=build/release}"

# clock_gettime: vDSO for CLOCK_MONOTONIC, one system call for the thread's CPU clock; async-signal-safe (POSIX).
allowed='clock_gettime
_GLOBAL_OFFSET_TABLE_'

defined=$("${NM:-nm}" --defined-only "$WALLPROF_BUILD"/src/sig_*.o | awk 'NF == 3 { print $3 }' | sort -u)
bad=$("${NM:-nm}" -u "$WALLPROF_BUILD"/src/sig_*.o | awk '$1 == "U" { print $2 }' | sort -u |
    grep -vxF "$(printf '%s\n' "$defined" "$allowed")" || true)
if [ -n "$bad" ]; then
    echo "sig_* objects use symbols that are not on the allow-list: $bad"
    exit 1
fi

includes=$(grep -hE '^#include "' src/sig_*.c src/sig_*.h | sort -u | grep -v '"sig_' || true)
if [ -n "$includes" ]; then
    echo "sig_* files include other parts of the engine: $includes"
    exit 1
fi

# Thread-local storage would show as relocations of these kinds.
if readelf -r "$WALLPROF_BUILD"/src/sig_*.o | grep -E 'R_[A-Z0-9_]*(TLS|TPOFF|DTPMOD|GOTTPOFF)'; then
    echo "sig_* objects touch thread-local storage"
    exit 1
fi
