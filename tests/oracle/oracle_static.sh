#!/bin/bash
# Every unwind rule of the libraries and programs that are installed, against libunwind's. Some in a second;
# --all takes those of the compilers, node, gdb and more, in two minutes.
# test: aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
ORACLE=$BUILD/tests/oracle/oracle_static
[ -x "$ORACLE" ] || skip "$ORACLE is not built; it wants libunwind-dev"

# Regular expressions of the names that the loader knows.
some=('libc[.]so' 'ld-linux-[-a-z0-9_]*[.]so' 'libstdc[+][+][.]so' 'liblzma[.]so' 'libmvec[.]so')
more=('libpython3[.0-9]*so' 'libLLVM[-.0-9]*so' 'libclang-cpp[.]so' 'libclang-[0-9]+[.]so' 'libcrypto[.]so'
      'libgnutls[.]so' 'libgcrypt[.]so' 'libx265[.]so')
programs=("$PYTHON" node gdb git perl)

libraries() { # NAME
    if is_emulated; then
        find "$FOREIGN/usr/lib" -regextype posix-extended -regex ".*/$1[.0-9]*"
        return
    fi
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v name="^$1[.0-9]*\$" '$1 ~ name && /x86-64|AArch64/ { print $NF }'
}

# gcc prints the name alone when it has no such program.
compiler() {
    type -P gcc >/dev/null && gcc -print-prog-name=cc1plus | grep /
}

candidates() { # [--all]
    local name
    for name in "${some[@]}"; do
        libraries "$name"
    done
    if is_emulated; then
        find "$FOREIGN/usr/bin" "$BUILD/libwallprof.so" -type f
        return
    fi
    type -P bash
    [ "${1-}" = --all ] || return
    for name in "${more[@]}"; do
        libraries "$name"
    done
    for name in "${programs[@]}"; do
        type -P "$name"
    done
    compiler
}

# Names that lead to one file are one; a script (a wrapper) has no unwind table.
existing() {
    xargs -r realpath -e 2>/dev/null | sort -u | while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] && echo "$file"
    done
}

mapfile -t files < <(candidates "$@" | existing)
[ "${#files[@]}" -gt 0 ] || skip "no library or program was found"
is_emulated || files+=('[vdso]') # qemu-user before 8.2 has none
bare_run "$ORACLE" "${files[@]}"
