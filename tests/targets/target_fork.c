/*
 * A program whose malloc has fork handlers of its own, as every allocator with locks has: between its prepare
 * and its child handler malloc blocks for ever. The handlers are registered after the profiler's.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[1 << 20];
static size_t used;

/* Never frees: enough for this test. */
void *malloc(size_t bytes)
{
    pthread_mutex_lock(&heap_lock);
    void *memory = used + bytes <= sizeof(heap) ? heap + used : NULL;
    used += (bytes + 31) & ~(size_t)15;
    pthread_mutex_unlock(&heap_lock);
    return memory;
}

void free(void *memory)
{
    (void)memory;
    pthread_mutex_lock(&heap_lock);
    pthread_mutex_unlock(&heap_lock);
}

void *calloc(size_t count, size_t bytes)
{
    void *memory = malloc(count * bytes);
    return memory ? memset(memory, 0, count * bytes) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    void *larger = malloc(bytes);
    return larger && memory ? memcpy(larger, memory, bytes) : larger;
}

static void lock_heap(void)
{
    pthread_mutex_lock(&heap_lock);
}

static void unlock_heap(void)
{
    pthread_mutex_unlock(&heap_lock);
}

int main(void)
{
    pthread_atfork(lock_heap, unlock_heap, unlock_heap);
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            setgid(getgid()); /* before such a call the profiler sets itself up, however short the child is */
            exit(7);
        }
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return 1;
    }
    puts("20 children");
    return 0;
}
