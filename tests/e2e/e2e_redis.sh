#!/bin/bash
# redis-server under redis-benchmark, often sampled. The other servers are not part of make check-all: tests/servers/run.
SERVERS_PAIRS=0 SERVERS_SECONDS=1 SERVERS_HZ=1000 exec "$(dirname "$0")/../servers/redis.sh"
