/* The generator is the published one, and its bounded numbers favour nobody. */
#include "lib/unit.h"
#include "base/random.h"
#include "lib/fake_statistics.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Reference output of the authors' splitmix64.c for this seed. */
static void seeds_are_spread_by_splitmix64(void **state)
{
    static const uint64_t expected[] = {1985237415132408290U, 2979275885539914483U, 13511426838097143398U,
                                        8488337342461049707U};
    struct random_state random;
    random_init(&random, 1477776061723855037U);
    assert_memory_equal(random.state, expected, sizeof(expected));
}

/* Reference output of the authors' xoshiro256starstar.c for the state 1, 2, 3, 4. */
static void numbers_are_those_of_xoshiro256_star_star(void **state)
{
    static const uint64_t expected[] = {11520U,
                                        0U,
                                        1509978240U,
                                        1215971899390074240U,
                                        1216172134540287360U,
                                        607988272756665600U,
                                        16172922978634559625U,
                                        8476171486693032832U,
                                        10595114339597558777U,
                                        2904607092377533576U};
    struct random_state random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_int_equal(random_next(&random), expected[i]);
}

static void any_seed_is_good(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
    for (size_t i = 0; i < COUNT(seeds); i++) {
        struct random_state random, again;
        int ones = 0;
        random_init(&random, seeds[i]);
        random_init(&again, seeds[i]);
        for (int j = 0; j < 1000; j++) {
            uint64_t number = random_next(&random);
            assert_int_equal(number, random_next(&again));
            ones += __builtin_popcountll(number);
        }
        assert_in_range(ones, 32000 - 633, 32000 + 633); /* five standard deviations */
    }
}

static void bounded_numbers_are_uniform(void **state)
{
    static const uint32_t bounds[] = {1, 2, 3, 7, 10, 64, 100, 1000};
    struct random_state random;
    random_init(&random, 42);
    for (size_t i = 0; i < COUNT(bounds); i++) {
        uint64_t counts[1000] = {0};
        for (int j = 0; j < 200000; j++) {
            uint32_t number = random_below(&random, bounds[i]);
            assert_true(number < bounds[i]);
            counts[number]++;
        }
        double chi_square = fake_chi_square(counts, bounds[i], 200000.0 / bounds[i]);
        assert_true(bounds[i] == 1 || chi_square < fake_chi_square_limit(bounds[i] - 1));
    }
}

/*
 * With a bound of 3/4 of the range, a plain multiplication or remainder makes a third of the numbers twice as
 * likely; which third, their remainder by 3 tells for the one, their size for the other.
 */
static void large_bounds_are_not_biased(void **state)
{
    const uint32_t bound = UINT32_C(3) << 30;
    uint64_t by_remainder[3] = {0}, by_size[3] = {0};
    struct random_state random;
    random_init(&random, 43);
    for (int i = 0; i < 300000; i++) {
        uint32_t number = random_below(&random, bound);
        by_remainder[number % 3]++;
        by_size[number >> 30]++;
    }
    assert_true(fake_chi_square(by_remainder, 3, 100000) < fake_chi_square_limit(2));
    assert_true(fake_chi_square(by_size, 3, 100000) < fake_chi_square_limit(2));
}

static void neighbours_are_independent(void **state)
{
    uint64_t pairs[64] = {0};
    struct random_state random;
    uint32_t before = 0;
    random_init(&random, 44);
    for (int i = 0; i < 640000; i++) {
        uint32_t number = random_below(&random, 8);
        pairs[before * 8 + number]++;
        before = number;
    }
    assert_true(fake_chi_square(pairs, 64, 10000) < fake_chi_square_limit(63));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_are_spread_by_splitmix64),
        cmocka_unit_test(numbers_are_those_of_xoshiro256_star_star),
        cmocka_unit_test(any_seed_is_good),
        cmocka_unit_test(bounded_numbers_are_uniform),
        cmocka_unit_test(large_bounds_are_not_biased),
        cmocka_unit_test(neighbours_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
