/*
 * Libraries that come and go, for e2e_modules.sh.
 *
 *     target_modules turns A.so B.so MS THREADS    each loads A, runs a_spin, unloads it, then B
 *     target_modules once A.so MS                  loads A, runs a_spin
 *     target_modules clock MS                      reads the clock
 *     target_modules iconv MS                      converts between character sets, which are libraries
 *     target_modules many DIRECTORY COUNT US       has DIRECTORY/0.so, 1.so, ... for so long each
 *
 * Prints what it has done. run_a calls nothing but a_spin and run_b nothing but b_spin, whatever is where.
 */
#include "target.h"

#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <stdlib.h>

static const uint64_t turn_ns = 2000000, turn_spread_ns = 1000000;

typedef uint64_t spin_fn(uint64_t ns);

static volatile uint64_t total_rounds;

__attribute__((noinline)) static void run_a(spin_fn *spin, uint64_t ns)
{
    total_rounds += spin(ns);
}

__attribute__((noinline)) static void run_b(spin_fn *spin, uint64_t ns)
{
    total_rounds += spin(ns);
}

static void *open_or_die(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

/* One turn of one library; where its function was. */
static uintptr_t take_turn(const char *path, const char *name, void (*run)(spin_fn *, uint64_t))
{
    void *library = open_or_die(path);
    spin_fn *spin = (spin_fn *)(uintptr_t)dlsym(library, name);
    if (!spin)
        exit(1);
    run(spin, turn_ns + (uint64_t)rand() % turn_spread_ns);
    dlclose(library);
    return (uintptr_t)spin;
}

struct turns {
    const char *a, *b;
    uint64_t ns;
    unsigned count, same;
};

static void *turn_after_turn(void *argument)
{
    struct turns *turns = argument;
    for (uint64_t end = now_ns() + turns->ns; now_ns() < end; turns->count++) {
        uintptr_t in_a = take_turn(turns->a, "a_spin", run_a);
        turns->same += take_turn(turns->b, "b_spin", run_b) == in_a;
    }
    return NULL;
}

static void turns(const char *a, const char *b, uint64_t ns, int threads)
{
    enum { THREADS_MAX = 16 };
    struct turns each[THREADS_MAX];
    pthread_t others[THREADS_MAX];
    unsigned count = 0, same = 0;
    if (threads < 1 || threads > THREADS_MAX)
        exit(2);
    for (int i = 0; i < threads; i++) {
        each[i] = (struct turns){.a = a, .b = b, .ns = ns};
        if (i > 0 && pthread_create(&others[i], NULL, turn_after_turn, &each[i]) != 0)
            exit(1);
    }
    turn_after_turn(&each[0]);
    for (int i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(others[i], NULL);
        count += each[i].count;
        same += each[i].same;
    }
    printf("turns %u at one address %u\n", count, same);
}

static void once(const char *path, uint64_t ns)
{
    void *library = open_or_die(path);
    spin_fn *spin = (spin_fn *)(uintptr_t)dlsym(library, "a_spin");
    if (!spin)
        exit(1);
    run_a(spin, ns);
    dlclose(library);
    puts("once");
}

__attribute__((noinline)) static void read_clock(uint64_t ns)
{
    unsigned reads = 0;
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        reads++;
    printf("read %d\n", reads > 0);
}

/* Every character set is a library of the C library's own, which it unloads when it likes. */
static void convert(uint64_t ns)
{
    static const char *const sets[] = {"ISO-8859-2", "KOI8-R", "CP1252", "EUC-JP", "BIG5", "CP437"};
    unsigned count = 0, good = 0;
    for (uint64_t end = now_ns() + ns; now_ns() < end; count++) {
        iconv_t descriptor = iconv_open(sets[count % (sizeof(sets) / sizeof(sets[0]))], "UTF-8");
        if (descriptor == (iconv_t)-1)
            continue;
        char in[256], out[1024], *from = in, *to = out;
        size_t in_bytes = sizeof(in), out_bytes = sizeof(out);
        memset(in, 'x', sizeof(in));
        good += iconv(descriptor, &from, &in_bytes, &to, &out_bytes) == 0;
        iconv_close(descriptor);
    }
    printf("converted %d\n", count > 0 && good == count);
}

static void many(const char *directory, int count, uint64_t ns)
{
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%d.so", directory, i);
        void *library = open_or_die(path);
        for (uint64_t end = now_ns() + ns; now_ns() < end;)
            total_rounds++;
        dlclose(library);
    }
    printf("loaded %d\n", count);
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "turns"))
        turns(argv[2], argv[3], strtoull(argv[4], NULL, 10) * NS_PER_MS, atoi(argv[5]));
    else if (argc == 4 && !strcmp(argv[1], "once"))
        once(argv[2], strtoull(argv[3], NULL, 10) * NS_PER_MS);
    else if (argc == 3 && !strcmp(argv[1], "clock"))
        read_clock(strtoull(argv[2], NULL, 10) * NS_PER_MS);
    else if (argc == 3 && !strcmp(argv[1], "iconv"))
        convert(strtoull(argv[2], NULL, 10) * NS_PER_MS);
    else if (argc == 5 && !strcmp(argv[1], "many"))
        many(argv[2], atoi(argv[3]), strtoull(argv[4], NULL, 10) * 1000);
    else
        return 2;
    return 0;
}
