#!/bin/bash
# Programs that a profiled one starts and that cannot load the library, or cannot bear a thread of it: with another C library,
# with the runtime of a sanitizer, in valgrind, in another root. Each ends as without us, and those that can be are recorded.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need gcc
cd "$TMP" || exit 1
mkdir profiles bin

cat >child.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *text)
{
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 20000000; i++)
        sum += i;
    return strcpy(text, "worked");
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int status;
    char *text = malloc(64);
    if (setgid(getgid()) != 0) /* before it the profiler sets itself up, so there is a profile however fast the work is */
        return 2;
    pthread_create(&thread, NULL, work, text);
    pthread_join(thread, NULL);
    printf("%s %d %s\n", text, count, count > 1 ? arguments[1] : "");
    fflush(stdout);
    free(text);
    pid_t child = fork();
    if (child == 0) {
        char *other = work(malloc(64));
        free(other);
        exit(0);
    }
    waitpid(child, &status, 0);
    system("echo \"its child: $LD_PRELOAD\" | sed 's|[^: ]*/libwallprof.so||'"); /* what it hands on is as before */
    return status == 0 ? 7 : 1;
}
C

# Under HOW, bare and below a profiled program: what it prints, what it complains of, how it ends.
compare() { # NAME HOW...
    local name=$1 bare_status status
    shift
    "$@" >bare.out 2>bare.err </dev/null
    bare_status=$?
    WALLPROF_HZ=1000 WALLPROF_OUT="$TMP/profiles/%n.%p.pb.gz" LD_PRELOAD=$LIBRARY timeout --kill-after=1 100 \
        "$@" >with.out 2>with.err </dev/null
    status=$?
    [ "$status" = "$bare_status" ] || complain "$name: status $status, bare $bare_status: $(head -n 5 with.err)"
    cmp -s bare.out with.out || complain "$name: prints other things: $(diff bare.out with.out)"
    # Numbers of processes differ.
    diff <(sed 's/[0-9][0-9]*//g' bare.err) <(sed 's/[0-9][0-9]*//g' with.err) || complain "$name: other messages"
}

# What it is started by: each in its own way.
ways() { # NAME PROGRAM
    compare "$1 from sh" sh -c "$2 sh; exit \$?"
    compare "$1 by execvp" env PATH="$TMP/bin" "${2##*/}" execvp
    compare "$1 by posix_spawn" "$PYTHON" -c 'import os, sys
sys.exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1]))' "$2" spawn
    compare "$1 by fexecve" "$PYTHON" -c 'import os, sys
os.execve(os.open(sys.argv[1], os.O_RDONLY), sys.argv[1:], os.environ)' "$2" fexecve
    compare "$1 from a script" "./script-$1" script
}

# recorded or not: whether there are profiles of it. HOW it is compiled.
check() { # NAME RECORDED COMPILER OPTIONS...
    local name=$1 recorded=$2
    shift 2
    "$@" -O1 -o "bin/$name" child.c 2>compiled || { leave_out "$name" "$1 ${*:2} makes no program" && return; }
    printf '#!%s\n' "$TMP/bin/$name" >"script-$name"
    chmod +x "script-$name"
    if [ -n "${WAYS-}" ]; then ways "$name" "$TMP/bin/$name"; else compare "$name" sh -c "bin/$name; exit \$?"; fi
    case $recorded$(find profiles -name "$name.*" | wc -l) in
    yes0) complain "$name: there is no profile" ;;
    no[1-9]*) complain "$name: there is a profile" ;;
    esac
    rm -f profiles/*
}

WAYS=1 check plain yes gcc -pthread
if type -P musl-gcc >/dev/null; then
    WAYS=1 check musl no musl-gcc
else
    leave_out musl 'the package musl-tools is not installed'
fi
WAYS=1 check gcc-asan yes gcc -fsanitize=address -pthread
check gcc-asan-static yes gcc -fsanitize=address -static-libasan -pthread
check gcc-tsan no gcc -fsanitize=thread -pthread
check gcc-lsan no gcc -fsanitize=leak -pthread
check gcc-ubsan yes gcc -fsanitize=undefined -pthread
check static no gcc -static -pthread
check static-pie no gcc -static-pie -pthread
check narrow no gcc -m32 -pthread
if type -P clang >/dev/null; then
    runtime=$(clang -print-runtime-dir)
    check clang-asan yes clang -fsanitize=address -pthread
    check clang-asan-shared yes clang -fsanitize=address -shared-libasan -Wl,-rpath,"$runtime" -pthread
    check clang-tsan no clang -fsanitize=thread -pthread
    check clang-lsan no clang -fsanitize=leak -pthread
    check clang-msan yes clang -fsanitize=memory -pthread
    check clang-ubsan yes clang -fsanitize=undefined -pthread
else
    leave_out clang 'it is not installed'
fi

# A loader that says it is of an older C library. (It is not, so the program runs.)
interpreter=$(sed -n 's/.*\(\/lib[^ ]*\/ld-linux[^ ]*\.so\.[0-9]\).*/\1/p' <(grep -az '^/lib.*/ld-linux' bin/plain | tr '\0' '\n') | head -n 1)
sed 's/release version 2\.[0-9][0-9]/release version 2.17/' "$interpreter" >ld-old.so && chmod +x ld-old.so
check old no gcc -pthread -Wl,--dynamic-linker="$TMP/ld-old.so"
compare 'an old loader by its name' sh -c './ld-old.so bin/plain; exit $?'
LD_PRELOAD=$LIBRARY WALLPROF_LOG=info WALLPROF_OUT="$TMP/profiles/%n.%p.pb.gz" sh -c 'bin/old; :' >/dev/null 2>with.err
grep -q '^wallprof: bin/old starts without us: its C library is another or too old$' with.err ||
    complain "nothing is said of a program that starts without us: $(cat with.err)"
rm -f profiles/*

# The library by a relative name that leads nowhere any more.
cp "$LIBRARY" .
LD_PRELOAD=./libwallprof.so WALLPROF_OUT="$TMP/profiles/%n.%p.pb.gz" sh -c 'cd / && /bin/true; /bin/true' 2>with.err
[ ! -s with.err ] || complain "a relative name: $(cat with.err)"

if type -P valgrind >/dev/null; then
    for tool in memcheck helgrind; do
        compare "$tool" sh -c "valgrind -q --tool=$tool bin/plain; exit \$?"
        [ -z "$(find profiles -name 'plain.*')" ] || complain "$tool: there is a profile"
    done
else
    leave_out valgrind 'it is not installed'
fi

# Another root, where the library is not; and a set-uid program, into which it is not loaded.
if [ "$(id -u)" = 0 ]; then
    mkdir root
    for file in $(ldd bin/plain | grep -o '/[^ ]*') "$TMP/bin/plain"; do
        mkdir -p "root${file%/*}" && cp -L "$file" "root$file"
    done
    compare chroot sh -c "chroot root $TMP/bin/plain; exit \$?"
    cp bin/plain bin/other-user
    chown 65534 bin/other-user && chmod u+s bin/other-user && chmod 755 . bin
    compare set-uid sh -c "bin/other-user; exit \$?"
else
    leave_out chroot 'only root may'
fi

# A process that forks its children while it has one thread, as Chromium's does.
rm -f profiles/*
# shellcheck disable=SC2016 # for that shell
compare zygote bash -c 'grep Threads: /proc/$$/status; :' zygote --type=zygote
[ -z "$(find profiles -name 'bash.*')" ] || complain 'zygote: there is a profile'
exit "$bad"
