#!/bin/bash
# A static program below a profiled shell
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { "$CC" -O1 -static -pthread -o "$ZOO_MADE/child" "$ZOO/child.c"; }

run() { below_a_shell "$ZOO_MADE/child"; }

zoo "$@"
