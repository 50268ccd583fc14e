#!/bin/bash
# The short form of torture_loader.sh.
TORTURE_SECONDS=4 exec "$(dirname "$0")/torture_loader.sh"
