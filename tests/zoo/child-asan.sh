#!/bin/bash
# AddressSanitizer below a profiled shell: its runtime must come first
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { "$CC" -O1 -fsanitize=address -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"; }

run() { below_a_shell "$ZOO_MADE/child"; }

# With pids.
filter() { sed 's/==[0-9]*==/==PID==/'; }

zoo "$@"
