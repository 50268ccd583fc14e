#!/bin/bash
# Programs and libraries whose files are replaced, deleted or moved while they run: the names in the profile are those
# of what ran. What takes a file's place here has other functions at the same addresses, so that a name from the
# wrong file is one that says so.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need gcc

cat >"$TMP/spin.c" <<'SOURCE'
#include <time.h>
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
long NAME(WHOSE, exported)(long until_ms);

static long cpu_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000L + time.tv_nsec / 1000000;
}

__attribute__((noinline)) static long NAME(WHOSE, hidden)(long until_ms)
{
    volatile long turns = 0;
    do
        for (int i = 0; i < 200000; i++)
            turns++;
    while (cpu_ms() < until_ms);
    return turns;
}

long NAME(WHOSE, exported)(long until_ms)
{
    volatile long turns = 0;
    for (int i = 0; i < 20000000; i++)
        turns++;
    return turns + NAME(WHOSE, hidden)(until_ms);
}
SOURCE
cat >"$TMP/program.c" <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile long turns;

/* A build-id is made of what is loaded, which names of functions are not. */
#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)
__attribute__((used)) static const char difference[] = TEXT_OF(NAME);

__attribute__((noinline)) static void NAME(long until_ms)
{
    struct timespec time;
    do {
        for (int i = 0; i < 200000; i++)
            turns++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_sec * 1000L + time.tv_nsec / 1000000 < until_ms);
}

/* program LIBRARY [close]: says when it runs, and goes on when it is told that its files are not what they were. */
int main(int count, char **arguments)
{
    char line[16];
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library)
        return 2;
    long (*exported)(long) = (long (*)(long))(__UINTPTR_TYPE__)dlsym(library, "right_exported");
    if (!exported)
        return 3;
    int is_closing = count > 2 && strcmp(arguments[2], "close") == 0;
    if (is_closing) {
        exported(300);
        dlclose(library);
    }
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 4;
    if (!is_closing)
        exported(300);
    NAME(is_closing ? 400 : 500);
    return 0;
}
SOURCE

# build_files BUILD-ID: the right and the wrong library and program, with that kind of build-id.
build_files() {
    local whose
    mkdir -p "$TMP/files"
    for whose in right wrong; do
        gcc -O1 -shared -fPIC -DWHOSE="${whose}_" -Wl,--build-id="$1" -o "$TMP/files/$whose.so" "$TMP/spin.c" ||
            fail "gcc does not work here"
        gcc -O1 -DNAME="${whose}_function" -Wl,--build-id="$1" -o "$TMP/files/$whose" "$TMP/program.c" -ldl ||
            fail "gcc does not work here"
    done
}

# The same code at the same places, as the test wants it.
check_layout() {
    local right wrong
    right=$(nm "$TMP/files/right.so" | awk '/right_(exported|hidden)/ { print $1 }')
    wrong=$(nm "$TMP/files/wrong.so" | awk '/wrong_(exported|hidden)/ { print $1 }')
    assert_equal "addresses in the wrong library" "$wrong" "$right"
}

# Runs $dir/program with $dir/lib.so, and CHANGE while it does; leaves $profile.
run_changed() { # NAME CHANGE ARGUMENTS...
    local name=$1 change=$2
    dir=$TMP/$name
    mkdir "$dir"
    cp "$TMP/files/right.so" "$dir/lib.so"
    cp "$TMP/files/right" "$dir/program"
    mkfifo "$dir/in" "$dir/out"
    chmod -R a+rwX "$TMP"
    profile=$dir/profile.pb.gz
    "${wrapper[@]}" env LD_PRELOAD="$TMP/libwallprof.so" WALLPROF_OUT="$profile" WALLPROF_HZ=200 WALLPROF_OVERHEAD=off \
        "$dir/program" "$dir/lib.so" "${@:3}" <"$dir/in" >"$dir/out" 2>"$dir/stderr" &
    exec 3>"$dir/in" 4<"$dir/out"
    read -r answer <&4
    assert_equal "$name: the program's answer" "$answer" ready
    "$change"
    echo go >&3
    exec 3>&- 4<&-
    wait "$!" || fail "$name: the program ended with status $?"
    assert_equal "$name: stderr" "$(cat "$dir/stderr")" ""
    check_profile "$profile"
    functions_of "$profile" >"$dir/functions"
    echo "$name: $(tr '\n' ' ' <"$dir/functions")"
    if grep wrong "$dir/functions"; then fail "$name: names of the wrong file"; fi
}

has() { # NAME...
    local function
    for function in "$@"; do
        grep -Fqx "$function" "$dir/functions" || fail "$profile has no $function"
    done
}

assert_comments() { # EXPECTED LINES ABOUT FILES
    read_pprof comments "$profile" | grep 'while the program ran' >"$dir/comments"
    assert_equal "comments of $profile" "$(sed "s|$dir/||" "$dir/comments")" "$1"
}

said() { # FILE WHAT
    echo "$1 was $2 while the program ran: names from memory and debug files only"
}

# ---- what happens to the files: as package managers do it, never written to in place ----

nothing_happens() {
    :
}

replace_files() {
    cp "$TMP/files/wrong.so" "$dir/lib.so.new"
    cp "$TMP/files/wrong" "$dir/program.new"
    mv "$dir/lib.so.new" "$dir/lib.so"
    mv "$dir/program.new" "$dir/program"
}

delete_files() {
    rm -f "$dir/lib.so" "$dir/program"
}

move_files() {
    mv "$dir/lib.so" "$dir/lib.so.old"
    mv "$dir/program" "$dir/program.old"
    cp "$TMP/files/wrong.so" "$dir/lib.so"
    cp "$TMP/files/wrong" "$dir/program"
}

# ---- every user ----

# The program itself is always there, in /proc. Of the library, what map_files is for (all names), or what is in
# memory: its exported functions.
library_names() { # WHAT HAPPENED
    has right_exported right_function main
    if [ -n "$sees_map_files" ]; then
        has right_hidden
        assert_comments ''
    else
        grep -q '^\[lib.so+0x[0-9a-f]*\]$' "$dir/functions" || fail "$profile: what is right_hidden called?"
        assert_comments "$(said lib.so "$1")"
    fi
}

try_all() { # BUILD-ID USER
    local which=$2-$1
    build_files "$1"
    check_layout
    run_changed "$which-intact" nothing_happens
    has right_exported right_hidden right_function main
    assert_comments ''
    run_changed "$which-replaced" replace_files
    library_names replaced
    run_changed "$which-deleted" delete_files
    library_names deleted
    run_changed "$which-moved" move_files
    has right_exported right_hidden right_function main
    assert_comments ''
    # Once it is unloaded, only the path is left to go by.
    run_changed "$which-closed" nothing_happens close
    has right_exported right_hidden right_function main
    run_changed "$which-closed-replaced" replace_files close
    has right_function
    grep -q '^\[lib.so+0x[0-9a-f]*\]$' "$dir/functions" || fail "$profile: what are the library's functions called?"
    assert_comments "$(said lib.so replaced)"
    # What has no names here pprof looks for by itself, with the path and the build-id that it is told.
    "$PPROF" -symbolize=local -top "$profile" >"$dir/top" 2>/dev/null || fail "pprof cannot read $profile"
    if grep wrong "$dir/top"; then fail "$profile leads pprof to the wrong file"; fi
}

cp "$LIBRARY" "$TMP/libwallprof.so"
wrapper=()
sees_map_files=
for link in /proc/self/map_files/*; do
    [ ! -r "$link" ] || sees_map_files=yes
    break
done
try_all sha1 this
! is_long || try_all none this
if [ -z "$sees_map_files" ]; then
    echo "this user may not open /proc/self/map_files: names come from memory"
elif setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    sees_map_files=
    wrapper=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    ! is_long || try_all sha1 nobody
    try_all none nobody
else
    echo "no other user can be had: names from memory were not tested"
fi
