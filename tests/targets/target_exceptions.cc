// Exceptions through several frames and across threads, to be profiled: the profiler must neither take part
// in the unwinding nor be confused by it. The output depends on the number of rounds only:
//
//     target_exceptions [rounds]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int kThreads = 4;
constexpr int kFrames = 12;

} // namespace

// Counts its own destruction: every frame that an exception passes must be cleaned up, once.
struct Guard {
    explicit Guard(uint64_t &count) : count(count)
    {
    }
    ~Guard()
    {
        count++;
    }
    uint64_t &count;
};

struct Failure : std::runtime_error {
    Failure(int thread, int round) : std::runtime_error("failure"), thread(thread), round(round)
    {
    }
    int thread, round;
};

struct Tally {
    uint64_t caught = 0, cleaned = 0, rethrown = 0, nested = 0, sum = 0;
};

// Distinct functions that keep their frames, so that the unwinder has something to cross.
template <int depth> __attribute__((noinline)) void descend(Tally &tally, int thread, int round)
{
    Guard guard(tally.cleaned);
    descend<depth - 1>(tally, thread, round);
    __asm__ volatile("" ::: "memory");
}

template <> __attribute__((noinline)) void descend<0>(Tally &tally, int thread, int round)
{
    Guard guard(tally.cleaned);
    if (round % 3 == 0)
        throw Failure(thread, round);
    if (round % 3 == 1)
        throw std::string("text");
    throw round;
}

__attribute__((noinline)) void throw_and_catch(Tally &tally, int thread, int round)
{
    try {
        descend<kFrames>(tally, thread, round);
    } catch (const Failure &failure) {
        tally.sum += static_cast<uint64_t>(failure.thread) + static_cast<uint64_t>(failure.round);
        tally.caught++;
    } catch (const std::string &text) {
        tally.sum += text.size();
        tally.caught++;
    } catch (...) {
        tally.caught++;
    }
}

// Caught half-way, wrapped in another one, and unwrapped at the end.
__attribute__((noinline)) void throw_nested(Tally &tally, int thread, int round)
{
    try {
        try {
            descend<kFrames / 2>(tally, thread, round);
        } catch (...) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    } catch (const std::logic_error &outer) {
        try {
            std::rethrow_if_nested(outer);
        } catch (...) {
            tally.nested++;
        }
    }
}

__attribute__((noinline)) std::exception_ptr capture(Tally &tally, int thread, int round)
{
    try {
        descend<kFrames>(tally, thread, round);
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

__attribute__((noinline)) void rethrow(Tally &tally, const std::exception_ptr &exception)
{
    try {
        std::rethrow_exception(exception);
    } catch (const Failure &failure) {
        tally.rethrown += static_cast<uint64_t>(failure.round) % 7 + 1;
    } catch (...) {
        tally.rethrown++;
    }
}

__attribute__((noinline)) void work(Tally &tally, int thread, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        throw_and_catch(tally, thread, round);
        if (round % 4 == 0)
            throw_nested(tally, thread, round);
    }
}

// Thrown in one thread, caught in another, by exception_ptr and through a future.
static void pass_between_threads(Tally &tally, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        std::exception_ptr exception;
        Tally other;
        std::thread thrower([&] { exception = capture(other, 1, round); });
        thrower.join();
        rethrow(tally, exception);
        auto result = std::async(std::launch::async, [&] { descend<3>(other, 2, round * 3); });
        try {
            result.get();
        } catch (const Failure &failure) {
            tally.sum += static_cast<uint64_t>(failure.round);
        }
        tally.cleaned += other.cleaned;
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 60000;
    std::vector<Tally> tallies(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++)
        threads.emplace_back(work, std::ref(tallies[static_cast<size_t>(i)]), i, rounds);
    Tally crossed;
    pass_between_threads(crossed, rounds / 100);
    for (std::thread &thread : threads)
        thread.join();
    tallies.push_back(crossed);
    for (const Tally &tally : tallies)
        std::printf("%ju caught, %ju cleaned, %ju rethrown, %ju nested, sum %ju\n",
                    static_cast<uintmax_t>(tally.caught), static_cast<uintmax_t>(tally.cleaned),
                    static_cast<uintmax_t>(tally.rethrown), static_cast<uintmax_t>(tally.nested),
                    static_cast<uintmax_t>(tally.sum));
    return 3;
}
