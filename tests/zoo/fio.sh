#!/bin/bash
# fio: io_uring with the kernel's workers and polling, asynchronous I/O, threads and forks; what was written is read again
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need fio
    fio --name=probe --ioengine=io_uring --filename="$ZOO_MADE/probe" --rw=write --size=64k >/dev/null 2>&1 ||
        cannot "the kernel refuses io_uring"
}

jobs() { # ARGUMENTS OF fio: its errors, and how many operations each job has done
    under fio --output-format=json --output=fio.json --directory="$PWD" --verify=crc32c --verify_fatal=1 "$@"
    echo "status $?"
    python3 -c 'import json, sys
for job in json.load(open("fio.json"))["jobs"]:
    print(job["jobname"], job["error"], job["read"]["total_ios"], job["write"]["total_ios"])'
}

# With the kernel's polling fio does not wait in io_uring_enter. It makes that call by its own instruction, and any signal
# there ends a job early, with error 0. That is so without a profiler too.
run() {
    jobs --name=workers --ioengine=io_uring --rw=randwrite --size=8M --bs=4k --iodepth=16 --force_async=1 --sqthread_poll=1 --numjobs=2
    jobs --name=polled --ioengine=io_uring --rw=randwrite --size=8M --bs=16k --iodepth=8 --sqthread_poll=1 --thread
    jobs --name=asynchronous --ioengine=libaio --rw=write --size=8M --bs=16k --iodepth=8
    jobs --name=synchronous --ioengine=psync --rw=randwrite --size=4M --bs=4k --numjobs=2 --thread --rate_iops=2000
}

zoo "$@"
