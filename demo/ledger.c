/*
 * A small ledger with a common fault: it holds its lock while it waits.
 *
 *     cc -O2 -g -pthread -o ledger demo/ledger.c
 *     wallprof run --top ./ledger
 *
 * Four tellers check orders and post them. Posting takes the ledger's lock, and keeps it until the replica
 * has confirmed the entry, which takes 5 ms. So three of four tellers wait for the lock at any time, and the
 * CPU is idle for most of the time. A CPU profiler shows check_order(), which is innocent.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TELLERS = 4, ORDERS = 100, CHECK_ROUNDS = 1500000, REPLICA_NS = 5000000 };

struct entry {
    int account;
    int64_t cents;
};

struct ledger {
    pthread_mutex_t lock;
    int replica; /* a socket */
    int64_t total_cents;
};

static struct ledger ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Work for the CPU: a checksum of the order. */
static __attribute__((noinline)) uint32_t check_order(const struct entry *order)
{
    uint32_t sum = (uint32_t)order->account;
    for (int i = 0; i < CHECK_ROUNDS; i++)
        sum = sum * 1664525 + (uint32_t)order->cents;
    return sum;
}

/* Sends the entry to the replica and waits for its answer. */
static __attribute__((noinline)) int replicate(int replica, const struct entry *entry)
{
    char confirmed = 0;
    if (send(replica, entry, sizeof *entry, 0) != sizeof *entry)
        return -1;
    return recv(replica, &confirmed, 1, 0) == 1 && confirmed ? 0 : -1;
}

/* The fault: the lock is held until the replica has answered. */
static __attribute__((noinline)) int post_entry(const struct entry *entry)
{
    pthread_mutex_lock(&ledger.lock);
    ledger.total_cents += entry->cents;
    int error = replicate(ledger.replica, entry);
    pthread_mutex_unlock(&ledger.lock);
    return error;
}

static void *run_teller(void *argument)
{
    const int account = *(int *)argument;
    uint32_t sum = 0;
    pthread_setname_np(pthread_self(), "teller");
    for (int i = 0; i < ORDERS; i++) {
        const struct entry order = {account, i * 100};
        sum += check_order(&order);
        if (post_entry(&order))
            perror("ledger: the replica");
    }
    return (void *)(uintptr_t)sum;
}

/* Another machine, played by a thread: it needs 5 ms to store an entry. */
static void *run_replica(void *argument)
{
    const int ledgers = *(int *)argument;
    const struct timespec storing = {0, REPLICA_NS};
    struct entry entry;
    pthread_setname_np(pthread_self(), "replica");
    while (recv(ledgers, &entry, sizeof entry, 0) == sizeof entry) {
        nanosleep(&storing, NULL);
        if (send(ledgers, "y", 1, 0) != 1)
            break;
    }
    return NULL;
}

int main(void)
{
    int sockets[2], accounts[TELLERS];
    pthread_t replica, tellers[TELLERS];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
        return perror("ledger: socketpair"), 1;
    ledger.replica = sockets[0];
    pthread_create(&replica, NULL, run_replica, &sockets[1]);
    for (int i = 0; i < TELLERS; i++) {
        accounts[i] = i;
        pthread_create(&tellers[i], NULL, run_teller, &accounts[i]);
    }
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    shutdown(sockets[0], SHUT_RDWR);
    pthread_join(replica, NULL);
    printf("ledger: %d entries, %lld cents\n", TELLERS * ORDERS, (long long)ledger.total_cents);
    return 0;
}
