#!/bin/bash
# valgrind and helgrind below a profiled shell: what they find
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need valgrind
    "$CC" -O1 -g -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"
    valgrind -q true || cannot "valgrind does not work here"
}

run() {
    below_a_shell valgrind -q --error-exitcode=9 "$ZOO_MADE/child"
    # shellcheck disable=SC2016 # the inner shell's
    under bash -c 'valgrind -q --tool=helgrind --error-exitcode=9 "$1"; echo "helgrind: $?"; for ((i = 0; i < 20000; i++)); do :; done' bash "$ZOO_MADE/child"
}

filter() { sed 's/==[0-9]*==/==PID==/; s/0x[0-9A-F]*/ADDRESS/g; /Thread-local\|^$/d'; }

zoo "$@"
