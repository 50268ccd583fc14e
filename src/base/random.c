/* random_below rejects as Lemire describes (ACM TOMACS 29-1, 2019), so no residue is favoured. */
#include "random.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

void random_init(struct random_state *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        random->state[i] = splitmix64(&seed);
}

uint64_t random_next(struct random_state *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint32_t random_below(struct random_state *random, uint32_t bound)
{
    uint64_t product = (random_next(random) >> 32) * bound;
    uint32_t threshold = -bound % bound;
    while ((uint32_t)product < threshold)
        product = (random_next(random) >> 32) * bound;
    return (uint32_t)(product >> 32);
}
