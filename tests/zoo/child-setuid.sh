#!/bin/bash
# A set-uid program below a profiled shell: the loader drops what it is to preload
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    [ "$(id -u)" -eq 0 ] || cannot "only root can make one"
    "$CC" -O1 -pthread -o "$ZOO_MADE/child" "$ZOO/child.c" &&
        chown nobody "$ZOO_MADE/child" && chmod u+s "$ZOO_MADE/child"
    "$ZOO_MADE/child" | grep -q "user $(id -u nobody)" || cannot "files here are without set-uid"
}

run() { below_a_shell "$ZOO_MADE/child"; }

zoo "$@"
