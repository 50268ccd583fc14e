#!/bin/bash
# The tarball of `make dist`, made on Debian 11, records and shows programs on Debian 11, 12 and 13, whose C libraries are 2.31, 2.36
# and 2.41, with nothing installed there. `make deb` makes a package that lintian finds no error in.
# build/roots keeps the systems, so that later runs are quick.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

suites=(bullseye bookworm trixie)
roots=$ROOT/build/roots
need debootstrap objdump readelf
[ "$(id -u)" -eq 0 ] || skip "only root can make a Debian root"
unset MAKEFLAGS MAKELEVEL MFLAGS

# ---- the systems, and the tarball ----

mkdir -p "$roots"
for suite in "${suites[@]:1}"; do
    "$ROOT/scripts/debian-root" "$suite" "$roots/$suite" >"$TMP/$suite.made" 2>&1 &
done
made=$("$ROOT/scripts/dist-in" bullseye) || {
    echo "$made"
    [ ! -e "$roots/bullseye.complete" ] || fail "make dist fails on Debian 11"
    skip "there is no root of Debian 11"
}
wait
tarball=$ROOT/$(head -n 1 <<<"$made")
debug=$ROOT/$(tail -n 1 <<<"$made")
name=$(basename "$tarball" .tar.gz)
tar -xzf "$tarball" -C "$TMP"
tar -xzf "$debug" -C "$TMP"

# ---- what it needs ----

"$ROOT/scripts/lint-glibc" 2.17 "$TMP/$name/lib/libwallprof.so" || complain "the library needs a newer C library"
"$ROOT/scripts/lint-glibc" 2.31 "$TMP/$name/bin/wallprof" || complain "the tool needs a newer C library"
needed=$(readelf -dW "$TMP/$name/bin/wallprof" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(lib(c|m|dl|pthread)\.so\.[0-9]|libz\.so\.1|ld-linux.*)$')
[ -z "$needed" ] || complain "the tool needs more than the C library: $needed"
for file in lib/libwallprof.so bin/wallprof; do
    readelf -SW "$TMP/$name/$file" | grep -q '\.debug_info' && complain "$file is not stripped"
    id=$(readelf -n "$TMP/$name/$file" | sed -n 's/.*Build ID: //p')
    readelf -SW "$TMP/$name-debug/lib/debug/.build-id/${id:0:2}/${id:2}.debug" 2>/dev/null | grep -q '\.debug_info' ||
        complain "there is no debug file of $file"
done
for file in include/wallprof.h share/man/man1/wallprof.1 share/doc/wallprof/LICENSE share/doc/wallprof/licence-libdw-dev \
    share/bash-completion/completions/wallprof lib/pkgconfig/wallprof.pc; do
    [ -s "$TMP/$name/$file" ] || complain "the tarball has no $file"
done

# ---- each system ----

# The library loads without a word into programs that bring no library of threads, and the tool works, also without /proc. The
# wrapper needs /proc, which not every container lets us mount.
# shellcheck disable=SC2016 # perl's and the root's shell's
program='
    set -e
    cd /tmp
    if mount -t proc proc /proc 2>/dev/null; then
        run="/opt/wallprof/bin/wallprof-run --quiet --out perl.pb.gz,perl.html"
    else
        run="env LD_PRELOAD=/opt/wallprof/lib/libwallprof.so WALLPROF_OUT=perl.pb.gz,perl.html"
    fi
    perl="select undef, undef, undef, 0.5; my \$sum = 0; \$sum += \$_ for 1 .. 3000000; print qq{\$sum\n}"
    [ "$(LD_PRELOAD=/opt/wallprof/lib/libwallprof.so WALLPROF_OUT=cat.pb.gz cat plain 2>&1)" = plain ]
    $run perl -e "$perl" >sum
    [ "$(cat sum)" = 4500001500000 ]
    /opt/wallprof/bin/wallprof top perl.pb.gz >top
    /opt/wallprof/bin/wallprof export -o exported.html perl.pb.gz
'

# With mounts of its own, which end with it, if that is allowed.
in_root() { # SUITE COMMANDS
    local own=()
    ! unshare --mount true 2>/dev/null || own=(unshare --mount)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "${own[@]}" chroot "$roots/$1" sh -c "$2"
}

check_suite() { # SUITE
    local root=$roots/$1 file
    rm -rf "$root/tmp" "$root/opt/wallprof"
    mkdir -p "$root/tmp" "$root/opt"
    cp -a "$TMP/$name" "$root/opt/wallprof"
    echo plain >"$root/tmp/plain"
    in_root "$1" "$program" >"$TMP/$1.log" 2>&1 || {
        cat "$TMP/$1.log"
        complain "$1: a command fails"
        return
    }
    [ ! -s "$TMP/$1.log" ] || complain "$1: $(cat "$TMP/$1.log")"
    grep -qE 'Perl_|\{main\} -e:1' "$root/tmp/top" || complain "$1: the report names no function: $(cat "$root/tmp/top")"
    for file in perl.html exported.html; do
        grep -q '</html>' "$root/tmp/$file" || complain "$1: $file is no page"
    done
    read_pprof totals "$root/tmp/cat.pb.gz" >/dev/null || complain "$1: the profile of cat is wrong"
    echo "$1: $(in_root "$1" 'getconf GNU_LIBC_VERSION'): all is well"
}

for suite in "${suites[@]}"; do
    if [ -e "$roots/$suite.complete" ]; then
        check_suite "$suite"
    else
        leave_out "$suite" "$(tail -n 1 "$TMP/$suite.made")"
    fi
done

# ---- a library of timers that comes late ----

cat >"$roots/bullseye/tmp/plugin.c" <<'END'
#include <signal.h>
#include <time.h>
int make_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    return timer_create(CLOCK_MONOTONIC, &event, &timer);
}
END
cat >"$roots/bullseye/tmp/main.c" <<'END'
#include <dlfcn.h>
int main(void)
{
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*make_timer)(void) = plugin ? (int (*)(void))dlsym(plugin, "make_timer") : 0;
    return make_timer ? make_timer() != 0 : 2;
}
END
in_root bullseye 'cd /tmp && gcc -shared -fPIC -o plugin.so plugin.c -lrt &&
    gcc -o main main.c -ldl && ./main && LD_PRELOAD=/opt/wallprof/lib/libwallprof.so WALLPROF_OUT=main.pb.gz ./main' ||
    complain "a plugin that brings librt cannot make a timer: status $?"

# ---- the package ----

if type -P lintian dpkg-deb >/dev/null; then
    deb=$ROOT/$(make --no-print-directory -C "$ROOT" deb 2>"$TMP/deb.log" | tail -n 1) || complain "make deb: $(cat "$TMP/deb.log")"
    lintian --allow-root --fail-on error "$deb" >"$TMP/lintian" 2>&1 || complain "$(cat "$TMP/lintian")"
else
    leave_out package 'lintian is not installed'
fi
exit $bad
