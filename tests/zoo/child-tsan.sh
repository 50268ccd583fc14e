#!/bin/bash
# ThreadSanitizer below a profiled shell: it reports races, ours too
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    "$CC" -O1 -fsanitize=thread -pthread -o "$ZOO_MADE/child" "$ZOO/child.c" || cannot "no ThreadSanitizer"
    "$ZOO_MADE/child" >/dev/null
    [ $? -eq 7 ] || cannot "ThreadSanitizer does not work here" # where addresses are too random
}

run() { below_a_shell "$ZOO_MADE/child"; }

filter() { sed 's/(pid=[0-9]*)/(pid=PID)/; s/0x[0-9a-f]*/ADDRESS/g'; }

zoo "$@"
