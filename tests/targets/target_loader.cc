// What the loader does, again and again beside the heap and exceptions, for torture_loader.sh:
//
//     target_loader SECONDS A.so B.so
//
// A and B are loaded in turn, each at the address of the one before when it can be: run_a calls nothing but
// a_spin and run_b nothing but b_spin. Every result is checked; status 0 when all were right. Prints the
// rounds of each kind of thread.

#include "target.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

using spin_fn = uint64_t(uint64_t ns);

static std::atomic<bool> is_over;
static const char *paths[2];
static std::atomic<uint64_t> rounds;

extern "C" __attribute__((noinline)) void run_a(spin_fn *spin)
{
    rounds += spin(300000);
    KEEP_CALL();
}

extern "C" __attribute__((noinline)) void run_b(spin_fn *spin)
{
    rounds += spin(300000);
    KEEP_CALL();
}

static void load(uint64_t round)
{
    bool is_b = round % 2;
    void *library = dlopen(paths[is_b], round % 3 ? RTLD_NOW : RTLD_LAZY);
    check(library != nullptr, "dlopen");
    auto spin = reinterpret_cast<spin_fn *>(dlsym(library, is_b ? "b_spin" : "a_spin"));
    check(spin != nullptr, "dlsym");
    (is_b ? run_b : run_a)(spin);
    check(dlclose(library) == 0, "dlclose");
}

static int count_object(dl_phdr_info *, size_t, void *count)
{
    return ++*static_cast<int *>(count), 0;
}

static void find_objects(uint64_t)
{
    Dl_info info;
    int count = 0;
    for (int i = 0; i < 50; i++) {
        check(dl_iterate_phdr(count_object, &count) == 0 && count > 3, "dl_iterate_phdr");
        check(dladdr(reinterpret_cast<void *>(run_a), &info) && std::strstr(info.dli_fname, "target_loader"),
              "dladdr");
    }
    timespec pause = {0, 20000};
    nanosleep(&pause, nullptr);
}

static void use_heap(uint64_t round)
{
    unsigned char *blocks[100];
    for (size_t i = 0; i < 100; i++) {
        size_t bytes = (round * 31 + i * 97) % 9000 + 1;
        blocks[i] = static_cast<unsigned char *>(std::malloc(bytes));
        blocks[i][0] = blocks[i][bytes - 1] = static_cast<unsigned char>(i + 1);
    }
    for (size_t i = 0; i < 100; i++) {
        check(blocks[i][0] == i + 1, "the heap");
        std::free(blocks[i]);
    }
}

template <int depth> __attribute__((noinline)) void descend(uint64_t round)
{
    descend<depth - 1>(round);
    KEEP_CALL();
}

template <> __attribute__((noinline)) void descend<0>(uint64_t round)
{
    throw round;
}

static void throw_and_catch(uint64_t round)
{
    bool is_caught = false;
    try {
        descend<10>(round);
    } catch (uint64_t value) {
        is_caught = value == round;
    }
    check(is_caught, "an exception");
}

// A thread of its own each time, whose first touch of the library's thread-local storage allocates it.
static void *touch(void *function)
{
    auto value = reinterpret_cast<int *(*)()>(function);
    check(*value() == 7, "thread-local storage");
    *value() = 8;
    return function;
}

static void touch_storage(uint64_t)
{
    void *library = dlopen(paths[0], RTLD_NOW);
    pthread_t threads[4];
    check(library != nullptr, "dlopen");
    void *function = dlsym(library, "storage");
    for (pthread_t &thread : threads)
        check(pthread_create(&thread, nullptr, touch, function) == 0, "pthread_create");
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
    auto indirect = reinterpret_cast<int (*)()>(dlsym(library, "indirect"));
    check(indirect && indirect() == 42, "an indirect function");
    dlclose(library);
}

struct Work {
    const char *name;
    void (*round)(uint64_t);
    uint64_t rounds;
    pthread_t thread;
};

static void *work(void *data)
{
    auto *own = static_cast<Work *>(data);
    pthread_setname_np(pthread_self(), own->name);
    for (; !is_over; own->rounds++)
        own->round(own->rounds);
    return nullptr;
}

int main(int argc, char **argv)
{
    static Work works[] = {{"load", load, 0, {}},
                           {"load-2", load, 0, {}},
                           {"look", find_objects, 0, {}},
                           {"heap", use_heap, 0, {}},
                           {"throw", throw_and_catch, 0, {}},
                           {"throw-2", throw_and_catch, 0, {}},
                           {"storage", touch_storage, 0, {}}};
    if (argc != 4)
        return 2;
    paths[0] = argv[2];
    paths[1] = argv[3];
    for (Work &each : works)
        check(pthread_create(&each.thread, nullptr, work, &each) == 0, "pthread_create");
    timespec time = {std::atoi(argv[1]), 0};
    while (nanosleep(&time, &time) != 0)
        continue;
    is_over = true;
    for (Work &each : works) {
        pthread_join(each.thread, nullptr);
        std::printf("%s %ju\n", each.name, static_cast<uintmax_t>(each.rounds));
        check(each.rounds > 0, each.name);
    }
    return failures != 0;
}
