/*
 * Bottom-up variant (Wegener 1993): the hole sinks to a leaf along the larger children, and then the record
 * rises from there. That takes about one comparison a level instead of two.
 */
#include "sort.h"

struct heap {
    char *records;
    size_t record_bytes;
    int (*compare)(const void *, const void *);
};

static char *heap_at(const struct heap *heap, size_t index)
{
    return heap->records + index * heap->record_bytes;
}

static size_t larger_child(const struct heap *heap, size_t parent, size_t count)
{
    size_t child = 2 * parent + 1;
    if (child + 1 < count && heap->compare(heap_at(heap, child), heap_at(heap, child + 1)) < 0)
        child++;
    return child;
}

/* Moves a record to where it belongs below hole. It must not lie inside the heap's first count records. */
static void heap_place(const struct heap *heap, size_t hole, size_t count, const char *record)
{
    size_t top = hole;
    while (2 * hole + 1 < count) {
        size_t child = larger_child(heap, hole, count);
        memcpy(heap_at(heap, hole), heap_at(heap, child), heap->record_bytes);
        hole = child;
    }
    while (hole > top && heap->compare(heap_at(heap, (hole - 1) / 2), record) < 0) {
        memcpy(heap_at(heap, hole), heap_at(heap, (hole - 1) / 2), heap->record_bytes);
        hole = (hole - 1) / 2;
    }
    memcpy(heap_at(heap, hole), record, heap->record_bytes);
}

void sort_records(void *records, size_t count, size_t record_bytes,
                  int (*compare)(const void *, const void *))
{
    char moved[SORT_RECORD_MAX_BYTES];
    struct heap heap = {records, record_bytes, compare};
    for (size_t i = count / 2; i > 0; i--) {
        memcpy(moved, heap_at(&heap, i - 1), record_bytes);
        heap_place(&heap, i - 1, count, moved);
    }
    for (size_t end = count; end > 1; end--) {
        memcpy(moved, heap_at(&heap, end - 1), record_bytes);
        memcpy(heap_at(&heap, end - 1), heap_at(&heap, 0), record_bytes);
        heap_place(&heap, 0, end - 1, moved);
    }
}
