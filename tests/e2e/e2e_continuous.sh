#!/bin/bash
# redis in continuous mode, for some seconds. make continuous takes ten minutes.
CONTINUOUS_SECONDS=8 CONTINUOUS_INTERVAL=1 exec "$(dirname "$0")/continuous_redis.sh"
