#include "events.h"

/* One event for each library, not for each of its segments. */
static void note_module(struct timeline *timeline, const struct modules *modules,
                        const struct modules_entry *entry, enum timeline_event_kind kind, uint64_t now_ns)
{
    if (!entry->record || !entry->is_first_segment)
        return;
    const struct module *module = arena_at(modules->list.arena, entry->record);
    const struct timeline_event event = {
        .begin_ns = now_ns, .end_ns = now_ns, .name = module->path, .kind = kind};
    timeline_event(timeline, &event);
}

/* Both snapshots list segments by their address. A record is one segment of one loading of a library. */
void events_note_modules(struct timeline *timeline, const struct modules *modules, uint64_t now_ns)
{
    const struct modules_snapshot *before = &modules->before, *now = &modules->now;
    uint32_t old = 0, new = 0;
    while (before->number > 0 && (old < before->count || new < now->count)) {
        const struct modules_entry *a = old < before->count ? &before->entries[old] : NULL;
        const struct modules_entry *b = new < now->count ? &now->entries[new] : NULL;
        if (a && b && a->record == b->record) {
            old++;
            new ++;
        } else if (a && (!b || a->start_pc <= b->start_pc)) {
            note_module(timeline, modules, a, EVENT_UNLOADED, now_ns);
            old++;
        } else {
            note_module(timeline, modules, b, EVENT_LOADED, now_ns);
            new ++;
        }
    }
}

void events_note_late(struct timeline *timeline, uint64_t late_ticks, uint64_t period_ns, uint64_t now_ns)
{
    uint64_t missed = late_ticks - timeline->late_ticks, span_ns = missed * period_ns;
    if (missed == 0)
        return;
    timeline->late_ticks = late_ticks;
    const struct timeline_event event = {
        .begin_ns = span_ns < now_ns ? now_ns - span_ns : 0,
        .end_ns = now_ns,
        .number = missed,
        .kind = EVENT_LATE,
    };
    timeline_event(timeline, &event);
}
