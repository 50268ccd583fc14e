#include "thread_records.h"
#include "sig/sys/sig_atomic.h"

#include <string.h>

arena_ref thread_records_take(struct thread_records *records, struct arena *arena, uint32_t *number)
{
    arena_ref ref = *number ? 0 : records->spare;
    if (!ref) {
        ref = arena_alloc_reserved(arena, sizeof(struct thread_record));
        *number = *number ? *number : ++records->number_count;
    } else {
        struct thread_record *record = arena_at(arena, ref);
        records->spare = record->next;
        records->spare_count--;
        *number = record->number;
        memset(record, 0, sizeof *record);
    }
    if (ref)
        ((struct thread_record *)arena_at(arena, ref))->number = *number;
    return ref;
}

void thread_records_link(struct thread_records *records, struct arena *arena, arena_ref ref)
{
    struct thread_record *record = arena_at(arena, ref);
    record->next = records->newest;
    sig_keep_order(); /* a mapped store may be left to its reader at any moment */
    records->newest = ref;
}

void thread_records_end(struct thread_records *records, struct thread_record *record, uint64_t wall_ns,
                        uint64_t cpu_ns)
{
    record->has_ended = true;
    record->cpu_ns = cpu_ns;
    record->wall_ns = wall_ns;
    records->ended_count++;
    records->wall_ns += wall_ns;
    records->cpu_ns += cpu_ns;
}

void thread_records_give_back(struct thread_records *records, const struct arena *arena, arena_ref newer)
{
    struct thread_record *before = arena_at(arena, newer);
    const arena_ref ref = before->next;
    struct thread_record *record = arena_at(arena, ref);
    before->next = record->next;
    sig_keep_order();
    records->merged_count++;
    records->ended_count -= record->has_ended;
    record->next = records->spare;
    records->spare = ref;
    records->spare_count++;
}

uint32_t thread_records_new_numbers(const struct thread_records *records, uint32_t count)
{
    return count > records->spare_count ? count - records->spare_count : 0;
}
