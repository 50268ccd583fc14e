#!/bin/bash
# gdb below a profiled shell: a breakpoint, steps, and the end
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need gdb
    "$CC" -O1 -g -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"
    gdb -nx -batch -ex 'handle SIGUSR1 nostop noprint pass' -ex run "$ZOO_MADE/child" 2>&1 | grep -q 'exited with code 07' || cannot "gdb does not work here"
}

run() {
    below_a_shell gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'handle SIGUSR1 nostop noprint pass' -ex 'break forked_status' \
        -ex run -ex next -ex next -ex 'print child > 0' -ex delete -ex continue "$ZOO_MADE/child"
}

filter() { grep -vE '^\[(New|Thread|Detaching|Switching|Attaching|Using)|^Using host|^warning|^$' | sed 's/process [0-9]*/process N/; s/0x[0-9a-f]*/ADDRESS/g'; true; }

zoo "$@"
