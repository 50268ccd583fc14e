#!/bin/bash
# A program in a chroot below a profiled shell: neither our library nor the profiles' directory is there
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    local file root=$ZOO_MADE/root
    [ "$(id -u)" -eq 0 ] || cannot "only root may chroot"
    mkdir -p "$root/bin"
    "$CC" -O1 -pthread -o "$root/bin/child" "$ZOO/child.c"
    ldd "$root/bin/child" | grep -o '/[^ ]*' | while read -r file; do install -D "$file" "$root$file"; done
    chroot "$root" /bin/child >/dev/null
    [ $? -eq 7 ] || cannot "no chroot can be made here"
}

run() { below_a_shell chroot "$ZOO_MADE/root" /bin/child; }

zoo "$@"
