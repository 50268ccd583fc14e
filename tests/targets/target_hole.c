/*
 * Detaches shared memory, works for a while, and attaches it again at the same address, as programs do that
 * keep pointers into it. It makes no mapping meanwhile. Status 0, or 1 if the address was taken.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

enum { BYTES = 64 << 10, ROUNDS = 3, HOLE_MS = 400 };

static void work(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < HOLE_MS);
}

int main(void)
{
    int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600), taken = 0;
    void *first = shmat(id, NULL, 0);
    if (id < 0 || first == (void *)-1)
        return 2;
    memset(first, 1, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        shmdt(first);
        work();
        taken += shmat(id, first, 0) != first;
    }
    shmctl(id, IPC_RMID, NULL);
    if (taken)
        printf("%d of %d times something else was there\n", taken, ROUNDS);
    return taken > 0;
}
