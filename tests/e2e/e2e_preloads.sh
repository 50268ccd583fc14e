#!/bin/bash
# Beside other preloaded libraries, an auditor, other namespaces and libraries that do not pass our hooks: the program does
# what it does without us, and the profile is true.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need gcc
lib=$(dirname "$(gcc -print-file-name=libc.so.6)")
lib=$(readlink -f "$lib")

build_all() {
    cat >"$TMP/program.c" <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Not the C library's, which others may have replaced. */
static double now(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) void use_heap(double seconds)
{
    void *blocks[64] = {0};
    unsigned i = 0;
    for (double end = now() + seconds; now() < end;) {
        for (int turn = 0; turn < 1000; turn++, i++) {
            free(blocks[i % 64]);
            blocks[i % 64] = malloc(i * 37 % 5000 + 1);
            memset(blocks[i % 64], 1, i * 37 % 5000 + 1);
        }
    }
    for (i = 0; i < 64; i++)
        free(blocks[i]);
}

static void *work(void *unused)
{
    use_heap(0.25);
    return unused;
}

/* A library's run(), in a way that is no business of this program's. */
static void run_library(const char *how, const char *path)
{
    void *library = !strcmp(how, "dlmopen") ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL)
                                            : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        puts(dlerror());
        exit(1);
    }
    int (*run)(void) = (int (*)(void))dlsym(library, "run");
    printf("library %d\n", run());
    dlclose(library);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    double start = now();
    struct timespec pause = {.tv_nsec = 100000000};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    nanosleep(&pause, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (argc > 2)
        run_library(argv[1], argv[2]);
    fprintf(stderr, "%.3f\n", now() - start);
    puts("done");
    return 3;
}
SOURCE
    cat >"$TMP/handlers.c" <<'SOURCE'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/* As libSegFault, and as a profiler by SIGPROF. */
static volatile int ticks;
static int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number != SIGPROF || info->si_code != SI_KERNEL)
        _exit(60);
    ticks++;
}

__attribute__((constructor)) static void install(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    struct itimerval timer = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000};
    sigaltstack(&alternate, NULL);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

__attribute__((destructor)) static void report(void)
{
    struct sigaction now;
    struct itimerval off = {0};
    setitimer(ITIMER_PROF, &off, NULL);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        printf("%d", sigaction(signals[i], NULL, &now) == 0 && now.sa_sigaction == on_signal);
    printf(" ticks %d\n", ticks > 0);
}
SOURCE
    cat >"$TMP/audit.c" <<'SOURCE'
#define _GNU_SOURCE
#include <link.h>

static volatile unsigned objects;

unsigned la_version(unsigned version)
{
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map, (void)space, (void)cookie;
    objects++;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name)
{
    (void)index, (void)from, (void)to, (void)flags, (void)name;
    return symbol->st_value;
}
SOURCE
    cat >"$TMP/library.c" <<'SOURCE'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread int touched[1000]; /* general dynamic: comes to be while the thread is sampled */

static double now(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) int library_life(double seconds)
{
    int turns = 0;
    for (double end = now() + seconds; now() < end;)
        touched[turns++ % 1000] = 1;
    return turns > 0;
}

static void *life(void *ret)
{
    *(int *)ret = library_life(0.6);
    return ret;
}

int run(void)
{
    pthread_t thread;
    int result = 0;
    pthread_create(&thread, NULL, life, &result);
    pthread_join(thread, NULL);
    return result;
}
SOURCE
    gcc -O2 -fno-omit-frame-pointer -o "$TMP/program" "$TMP/program.c" -pthread -ldl -rdynamic || fail "the program cannot be built"
    for source in handlers audit library; do
        gcc -O2 -shared -fPIC -o "$TMP/$source.so" "$TMP/$source.c" -pthread || fail "$source cannot be built"
    done
}

# The program's stderr is how long it took by a clock nobody has touched; its main thread's time must be that, and not
# more than passed from before it was started until after its end, by this shell's clock, which nobody has touched either.
judge() { # WHAT BARE ELAPSED_US
    local took wall
    cmp -s "$TMP/out" "$TMP/$2.out" || complain "$1: output '$(cat "$TMP/out")', bare '$(cat "$TMP/$2.out")'"
    assert_one_number "$1"
    read_pprof check "$TMP/profile.pb.gz" >"$TMP/checked" 2>&1 || complain "$1: $(tail -n 2 "$TMP/checked")"
    took=$(cat "$TMP/err")
    wall=$(read_pprof threads "$TMP/profile.pb.gz" | awk '$2 == "program" && !n++ { print $6 / 1e9 }')
    awk -v took="$took" -v wall="${wall:-0}" -v elapsed="$3" '
        BEGIN { exit !(wall > 0.8 * took - 0.05 && wall < elapsed / 1e6 + 0.01) }' ||
        complain "$1: the main thread has $wall s, not $took; from outside it was $3 us"
    has_function "$TMP/profile.pb.gz" use_heap || complain "$1: use_heap is not in the profile"
}

assert_one_number() { # WHAT
    [[ $(cat "$TMP/err") =~ ^[0-9]+\.[0-9]+$ ]] || complain "$1: stderr '$(cat "$TMP/err")'"
}

# VARIABLE=VALUE or "": what the program has without us too.
beside() { # NAME LIBRARIES VARIABLE=VALUE ARGUMENTS...
    local name=$1 others=$2 order variables begin status elapsed observe=auto
    variables=()
    [ -z "$3" ] || variables=("$3")
    shift 3
    echo "== $name"
    timeout "$HANG_S" env "${variables[@]}" "LD_PRELOAD=$others" "$TMP/program" "$@" >"$TMP/$name.out" 2>"$TMP/err"
    assert_equal "$name, bare: status" $? 3
    for order in "$LIBRARY $others" "$others $LIBRARY"; do
        begin=${EPOCHREALTIME/[.,]/}
        timeout "$HANG_S" env "${variables[@]}" WALLPROF_HZ=1000 WALLPROF_OBSERVE=$observe WALLPROF_OUT="$TMP/profile.pb.gz" \
            "LD_PRELOAD=$order" "$TMP/program" "$@" >"$TMP/out" 2>"$TMP/err"
        status=$?
        elapsed=$((${EPOCHREALTIME/[.,]/} - begin))
        assert_equal "$name: $order: status" $status 3
        judge "$name, $observe, $order" "$name" $elapsed
        observe=signal
    done
}

foreign() { # NAME FILE VARIABLE=VALUE
    if [ -e "$2" ]; then
        beside "$1" "$2" "$3"
    else
        leave_out "$1" "there is no $2"
    fi
}

expect_library() { # NAME
    has_function "$TMP/profile.pb.gz" library_life || complain "$1: library_life is not in the profile"
}

build_all
foreign jemalloc "$lib/libjemalloc.so.2" ""
foreign tcmalloc "$lib/libtcmalloc_minimal.so.4" ""
foreign faketime "$lib/faketime/libfaketime.so.1" "FAKETIME=+2d x10"
beside handlers "$TMP/handlers.so" ""
beside audit "" "LD_AUDIT=$TMP/audit.so"
beside deepbind "" "" deepbind "$TMP/library.so"
expect_library deepbind
beside dlmopen "" "" dlmopen "$TMP/library.so"
exit "$bad"
