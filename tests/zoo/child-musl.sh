#!/bin/bash
# A musl program below a profiled shell: linked with another C library, which our library is not for
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need musl-gcc
    musl-gcc -O1 -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"
}

run() { below_a_shell "$ZOO_MADE/child"; }

zoo "$@"
