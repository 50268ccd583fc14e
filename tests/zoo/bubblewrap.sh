#!/bin/bash
# bubblewrap: namespaces of its own, without the directory of the profiles, and with a new root
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need bwrap
    bwrap --ro-bind / / --unshare-all true || cannot "no namespaces may be made here"
}

run() {
    under bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all --die-with-parent \
        bash -c 'echo "$$ is inside"; for ((i = 0; i < 60000; i++)); do :; done; (exit 3); echo $?; ls /tmp; exit 4'
    echo "status $?"
    under bwrap --tmpfs / --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc \
        bash -c 'echo inside; for ((i = 0; i < 60000; i++)); do :; done; python3 -c "print(sum(range(300000)))"; exit 5'
    echo "status $?"
}

zoo "$@"
