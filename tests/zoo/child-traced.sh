#!/bin/bash
# A tracer of its own (PTRACE_TRACEME) below a profiled shell: at which signals what it traces stops
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    "$CC" -O1 -o "$ZOO_MADE/traced" "$ZOO/traced.c"
    "$CC" -O1 -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"
}

run() {
    below_a_shell "$ZOO_MADE/traced"
    below_a_shell "$ZOO_MADE/traced" "$ZOO_MADE/child"
}

zoo "$@"
