// Everything that has ever made an unwinder in a signal handler crash or hang, all at once, and counted:
//
//     target_torture SECONDS LIBRARY...
//
// The libraries have torture_value(depth, call), which returns call(number of the library) from depth frames
// further down; they stand in the order of their numbers, from 1. Every thread does one thing again and again
// and checks its results; it prints its pid and how often each has. Exit status 0 when all results were
// right.

#include "target.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <iconv.h>
#include <link.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>

namespace
{

constexpr int kChildStatus = 7;
constexpr int kExecutingChildEvery = 25;
constexpr size_t kCoroutineBytes = 64 * 1024;

std::atomic<bool> is_over;
std::vector<const char *> libraries;

// Keeps the frame of the caller: what comes before is no tail call.
inline void keep_frame()
{
    __asm__ volatile("" ::: "memory");
}

uint64_t random_u64(uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

} // namespace

// ---- the loader ----

struct Objects {
    int count, without_segments;
};

static int note_object(dl_phdr_info *info, size_t, void *data)
{
    Objects *objects = static_cast<Objects *>(data);
    objects->count++;
    objects->without_segments += info->dlpi_phnum == 0;
    return 0;
}

// The loader's lock is not a fair one: without a pause no other thread would get it.
static uint64_t iterate_objects(uint64_t)
{
    constexpr int kTimes = 100;
    for (int i = 0; i < kTimes; i++) {
        Objects objects = {};
        check(dl_iterate_phdr(note_object, &objects) == 0, "dl_iterate_phdr was ended");
        check(objects.count > 4 && objects.without_segments == 0, "dl_iterate_phdr misses objects");
    }
    usleep(50);
    return kTimes;
}

extern "C" __attribute__((noinline)) int torture_call(int number)
{
    return number * 3;
}

using value_fn = int(int depth, int (*call)(int));

static uint64_t load_library(uint64_t round)
{
    size_t number = round % libraries.size() + 1;
    void *library = dlopen(libraries[number - 1], RTLD_NOW);
    check(library != nullptr, "dlopen");
    if (!library)
        return 0;
    value_fn *value = reinterpret_cast<value_fn *>(dlsym(library, "torture_value"));
    check(value && value(static_cast<int>(round % 40), torture_call) == static_cast<int>(number) * 3,
          "a library computes something else");
    check(dlclose(library) == 0, "dlclose");
    return 1;
}

// ---- modules that the C library loads and unloads of itself ----

// Large modules and small ones in turn: where a large one was comes to lie a small one.
static const char *const charsets[] = {"BIG5-HKSCS",  "ISO-8859-15", "IBM1390", "KOI8-R", "GB18030",
                                       "CP1252",      "IBM1388",     "CP437",   "GBK",    "MACINTOSH",
                                       "ISO-2022-JP", "IBM037",      "EUC-JP",  "UTF-7",  "EUC-TW"};

static std::string converted(const char *to, const char *from, const std::string &text)
{
    iconv_t converter = iconv_open(to, from);
    static thread_local char buffer[65536];
    char *output = buffer, *input = const_cast<char *>(text.data());
    size_t input_left = text.size(), output_left = sizeof(buffer);
    check(converter != reinterpret_cast<iconv_t>(-1), "iconv_open");
    if (converter == reinterpret_cast<iconv_t>(-1))
        return "";
    check(iconv(converter, &input, &input_left, &output, &output_left) == 0, "iconv");
    check(iconv(converter, nullptr, nullptr, &output, &output_left) == 0, "iconv, the end");
    check(iconv_close(converter) == 0, "iconv_close");
    return std::string(buffer, static_cast<size_t>(output - buffer));
}

static uint64_t convert(uint64_t round)
{
    std::string text;
    for (int i = 0; i < 150; i++)
        text += "the quick brown fox jumps over the lazy dog 0123456789 ";
    const char *charset = charsets[round % (sizeof(charsets) / sizeof(charsets[0]))];
    check(converted("UTF-8", charset, converted(charset, "UTF-8", text)) == text,
          "a text is another after there and back");
    return 1;
}

static uint64_t look_up(uint64_t round)
{
    passwd entry, *found = nullptr;
    char buffer[4096];
    check(getpwnam_r("root", &entry, buffer, sizeof(buffer), &found) == 0 && found && found->pw_uid == 0,
          "getpwnam_r does not find root");
    check(getpwnam_r("nobody here", &entry, buffer, sizeof(buffer), &found) != EIO && !found,
          "getpwnam_r finds nobody");
    addrinfo hints = {}, *addresses = nullptr;
    hints.ai_flags = round % 2 ? AI_NUMERICHOST : 0;
    hints.ai_family = AF_INET;
    int status = getaddrinfo(round % 2 ? "127.0.0.1" : "localhost", "80", &hints, &addresses);
    check(status == 0 && addresses && addresses->ai_addr->sa_family == AF_INET, "getaddrinfo");
    if (addresses)
        freeaddrinfo(addresses);
    return 1;
}

// ---- the heap ----

static uint64_t use_heap(uint64_t round)
{
    constexpr size_t kBlocks = 64;
    static thread_local unsigned char *blocks[kBlocks];
    static thread_local size_t sizes[kBlocks];
    uint64_t state = round * 2654435761u + 1;
    size_t at = random_u64(state) % kBlocks, size = random_u64(state) % (round % 50 ? 3000 : 300000) + 1;
    auto mark = static_cast<unsigned char>(at + 1);
    if (blocks[at]) {
        check(blocks[at][0] == mark && blocks[at][sizes[at] - 1] == mark, "a block is not what it was");
        size_t kept = sizes[at] < size ? sizes[at] : size;
        if (round % 3 == 0) {
            blocks[at] = static_cast<unsigned char *>(std::realloc(blocks[at], size));
            check(blocks[at] && blocks[at][0] == mark && blocks[at][kept - 1] == mark, "realloc loses bytes");
        } else {
            std::free(blocks[at]);
            blocks[at] = nullptr;
        }
    }
    if (!blocks[at])
        blocks[at] = static_cast<unsigned char *>(std::malloc(size));
    check(blocks[at] != nullptr, "malloc");
    std::memset(blocks[at], mark, size);
    sizes[at] = size;
    return 1;
}

// ---- exceptions ----

static uint64_t thread_local cleaned;

struct Guard {
    ~Guard()
    {
        cleaned++;
    }
};

template <int depth> __attribute__((noinline)) void descend(uint64_t round)
{
    Guard guard;
    descend<depth - 1>(round);
    keep_frame();
}

template <> __attribute__((noinline)) void descend<0>(uint64_t round)
{
    Guard guard;
    if (round % 2)
        throw std::runtime_error("odd");
    throw round;
}

static uint64_t throw_and_catch(uint64_t round)
{
    uint64_t before = cleaned;
    bool is_caught = false;
    try {
        descend<15>(round);
    } catch (const std::runtime_error &) {
        is_caught = round % 2 == 1;
    } catch (uint64_t value) {
        is_caught = value == round;
    }
    check(is_caught && cleaned == before + 16, "an exception is lost");
    return 1;
}

// ---- threads and processes ----

static void *short_life(void *number)
{
    static thread_local volatile uint64_t own;
    own = reinterpret_cast<uintptr_t>(number);
    return reinterpret_cast<void *>(own + 1);
}

static uint64_t create_threads(uint64_t round)
{
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++)
        check(pthread_create(&threads[i], nullptr, short_life, reinterpret_cast<void *>(round + i)) == 0,
              "pthread_create");
    for (uintptr_t i = 0; i < 3; i++) {
        void *result = nullptr;
        pthread_join(threads[i], &result);
        check(reinterpret_cast<uintptr_t>(result) == round + i + 1, "a thread returns something else");
    }
    return 3;
}

// The child does no more than a child of many threads may: exit(), for one, hangs in the C library when
// another thread was in dlclose.
static uint64_t fork_and_wait(uint64_t round)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (round % kExecutingChildEvery == 0)
            execl("/proc/self/exe", "target_torture", nullptr);
        _exit(kChildStatus);
    }
    check(child > 0, "fork");
    check(waitpid(child, &status, 0) == child, "waitpid");
    check(WIFEXITED(status) && WEXITSTATUS(status) == kChildStatus, "a child ended otherwise");
    return 1;
}

// ---- other stacks ----

struct Coroutine {
    ucontext_t own, caller;
    char *stack;
    uint64_t steps;
    bool ends;
};

static __attribute__((noinline)) void step_down(Coroutine *coroutine, int depth)
{
    volatile int kept = depth;
    if (depth > 0) {
        step_down(coroutine, depth - 1);
    } else {
        coroutine->steps++;
        swapcontext(&coroutine->own, &coroutine->caller);
    }
    check(kept == depth, "a coroutine's frame is not what it was");
}

static void run_coroutine(unsigned low, unsigned high)
{
    auto *coroutine = reinterpret_cast<Coroutine *>(static_cast<uintptr_t>(high) << 32 | low);
    for (int depth = 0; !coroutine->ends; depth = (depth + 1) % 20)
        step_down(coroutine, depth);
}

static void start_coroutine(Coroutine *coroutine)
{
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *memory = mmap(nullptr, kCoroutineBytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    coroutine->stack = static_cast<char *>(memory);
    mprotect(coroutine->stack + page, kCoroutineBytes, PROT_READ | PROT_WRITE);
    getcontext(&coroutine->own);
    coroutine->own.uc_stack.ss_sp = coroutine->stack + page;
    coroutine->own.uc_stack.ss_size = kCoroutineBytes;
    coroutine->own.uc_link = &coroutine->caller;
    auto address = reinterpret_cast<uintptr_t>(coroutine);
    makecontext(&coroutine->own, reinterpret_cast<void (*)()>(run_coroutine), 2,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
}

// A life: made, entered some hundred times, ended, and its stack unmapped.
static uint64_t switch_contexts(uint64_t round)
{
    Coroutine coroutine = {};
    start_coroutine(&coroutine);
    uint64_t switches = round % 300 + 1;
    for (uint64_t i = 0; i < switches; i++)
        swapcontext(&coroutine.caller, &coroutine.own);
    check(coroutine.steps == switches, "a coroutine was not entered each time");
    coroutine.ends = true;
    swapcontext(&coroutine.caller, &coroutine.own);
    munmap(coroutine.stack, kCoroutineBytes + 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    return switches;
}

static thread_local volatile uint64_t handled, handled_elsewhere;

static __attribute__((noinline)) uint64_t burn(int depth, volatile uint64_t *kept)
{
    volatile uint64_t own = *kept + static_cast<uint64_t>(depth);
    uint64_t below = depth > 0 ? burn(depth - 1, kept) : 0;
    check(own == *kept + static_cast<uint64_t>(depth), "a handler's frame is not what it was");
    return below + 1;
}

static void on_signal(int)
{
    stack_t current;
    volatile uint64_t kept = 5;
    sigaltstack(nullptr, &current);
    handled_elsewhere = handled_elsewhere + ((current.ss_flags & SS_ONSTACK) != 0);
    handled = handled + (burn(20, &kept) == 21);
}

// Every round with another alternate stack: what was one is a hole in the next round.
static uint64_t handle_elsewhere(uint64_t)
{
    stack_t alternate = {}, off = {};
    alternate.ss_size = 128 * 1024;
    alternate.ss_sp =
        mmap(nullptr, alternate.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    off.ss_flags = SS_DISABLE;
    handled = handled_elsewhere = 0;
    check(alternate.ss_sp != MAP_FAILED && sigaltstack(&alternate, nullptr) == 0, "sigaltstack");
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    check(handled == 20 && handled_elsewhere == 20, "a handler did not run on its stack");
    sigaltstack(&off, nullptr);
    munmap(alternate.ss_sp, alternate.ss_size);
    return 20;
}

// ---- all of it ----

struct Work {
    const char *name;
    uint64_t (*round)(uint64_t number); // how many things it did
    uint64_t rounds, done;
    pthread_t thread;
};

static void *work(void *data)
{
    Work *work = static_cast<Work *>(data);
    pthread_setname_np(pthread_self(), work->name);
    for (; !is_over; work->rounds++)
        work->done += work->round(work->rounds);
    return nullptr;
}

int main(int argc, char **argv)
{
    static Work works[] = {
        {"phdr", iterate_objects, 0, 0, {}},
        {"heap", use_heap, 0, 0, {}},
        {"libraries", load_library, 0, 0, {}},
        {"libraries-2", load_library, 0, 0, {}},
        {"iconv", convert, 0, 0, {}},
        {"iconv-2", convert, 0, 0, {}},
        {"names", look_up, 0, 0, {}},
        {"exceptions", throw_and_catch, 0, 0, {}},
        {"threads", create_threads, 0, 0, {}},
        {"processes", fork_and_wait, 0, 0, {}},
        {"contexts", switch_contexts, 0, 0, {}},
        {"alternate", handle_elsewhere, 0, 0, {}},
    };
    // What a child executes. Before such a call the profiler sets itself up, so it has a profile however
    // short it is.
    if (argc < 3)
        return setgid(getgid()) == 0 ? kChildStatus : 1;
    libraries.assign(argv + 2, argv + argc);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    for (Work &each : works)
        check(pthread_create(&each.thread, nullptr, work, &each) == 0, "pthread_create");
    timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += std::atoi(argv[1]);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR)
        continue;
    is_over = true;
    std::printf("pid %d\n", static_cast<int>(getpid()));
    for (Work &each : works) {
        pthread_join(each.thread, nullptr);
        std::printf("%s %ju rounds %ju\n", each.name, static_cast<uintmax_t>(each.rounds),
                    static_cast<uintmax_t>(each.done));
        check(each.rounds > 0, each.name);
    }
    return failures != 0;
}
