#!/bin/bash
# strace below a profiled shell: what it sees of signals, and that all ends
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need strace
    "$CC" -O1 -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"
    strace -o /dev/null true || cannot "nothing may be traced here"
}

run() {
    below_a_shell strace -f -o trace "$ZOO_MADE/child"
    grep -q '+++ exited with 7 +++' trace && echo 'it has ended with 7'
    # One that says what it sees of signals: those of the program.
    below_a_shell strace -f -qqq -e trace=none -e signal=all "$ZOO_MADE/child"
}

# Without the ends of children, which have times: one of them is the tool that writes the profile. And without what strace
# says of a thread that ends with its process before its first system call is read.
filter() { sed 's/^\[pid *[0-9]*\] //; /SIGCHLD/d; /^???( <detached/d; s/si_pid=.*}/.../' | sort; }

zoo "$@"
