#!/bin/bash
# The short form of torture_fork.sh: make torture has the long one.
unset TORTURE_SECONDS
exec "$(dirname "$0")/torture_fork.sh"
