#!/bin/sh
# What the hooks and the sampler share, seen by ThreadSanitizer (make sanitizers): race_hooks.c ends without a report.
set -u
program=${WALLPROF_BUILD:-build/tsan}/tests/targets/race_hooks
log=$(mktemp -d) || exit 1
trap 'rm -rf "$log"' EXIT
# The sampler's descriptors are not the program's: the same number is something else there.
printf 'race:%s\n' epoll_create1 epoll_wait signalfd interceptor_close interceptor_fstat interceptor_read >"$log/suppressions"
for observe in auto signal; do
    # Into a file: the sampler has none of the program's descriptors.
    TSAN_OPTIONS="log_path=$log/report report_thread_leaks=0 suppressions=$log/suppressions" WALLPROF_OBSERVE=$observe WALLPROF_HZ=1000 WALLPROF_OUT=$log/%p.pb.gz \
        timeout --kill-after=5 600 "$program" 3
    status=$?
    cat "$log"/report* 2>/dev/null
    [ "$status" -eq 0 ] || { echo "FAIL: $observe: status $status" && exit 1; }
done
