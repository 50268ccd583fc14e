#include "waiting_profile.h"
#include "profile/wait_labels.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t ms = 1000000;

static arena_ref location_of(struct waiting_profile *waiting, const char *name)
{
    enum { MAX = sizeof waiting->locations / sizeof *waiting->locations };
    const bool is_apps = *name == '/';
    for (int i = 0; i < waiting->location_count; i++) {
        if (strcmp(waiting->locations[i].name, name) == 0)
            return waiting->locations[i].ref;
    }
    if (waiting->location_count == MAX)
        abort();
    struct waiting_location *location = &waiting->locations[waiting->location_count++];
    location->name = name;
    location->ref =
        fake_profile_plain(&waiting->fake, is_apps ? waiting->app : waiting->libc, name + is_apps);
    return location->ref;
}

arena_ref waiting_profile_add(struct waiting_profile *waiting, arena_ref root, const char *const *functions,
                              const char *on, const char *holder, uint64_t cpu_ms, uint64_t waited_ms)
{
    struct fake_profile *fake = &waiting->fake;
    arena_ref node = root;
    for (; *functions; functions++)
        node = fake_profile_node(fake, node, location_of(waiting, *functions));
    if (on)
        node = fake_profile_node(fake, node, fake_profile_label(fake, WAIT_LABEL_ON, on));
    if (holder)
        node = fake_profile_node(fake, node, fake_profile_label(fake, WAIT_LABEL_HOLDER, holder));
    fake_profile_weigh(fake, node, (cpu_ms + waited_ms) / 10, cpu_ms * ms, waited_ms * ms);
    return node;
}

void waiting_profile_blame(struct waiting_profile *waiting, uint32_t thread, const char *const *functions,
                           const char *on, const char *holder, uint64_t blame_ms)
{
    struct fake_profile *fake = &waiting->fake;
    const struct thread_record *record = arena_at(&fake->arena, fake->thread_of_number[thread]);
    arena_ref node = waiting_profile_add(waiting, record->root, functions, on, holder, 0, 0);
    tree_node(&fake->tree, node)->blame_ns = blame_ms * ms;
}

static const char *const computing[] = {"/run", "/compute", NULL};
static const char *const locking[] = {"/run", "/append", "pthread_mutex_lock", NULL};
static const char *const looking_up[] = {"/run", "/serve", "/lookup", "pthread_mutex_lock", NULL};

static void add_writers(struct waiting_profile *waiting)
{
    arena_ref root = fake_profile_thread(&waiting->fake, 12, "writer-1");
    waiting_profile_add(waiting, root, computing, NULL, NULL, 100, 0);
    waiting_profile_add(waiting, root, locking, "mutex journal_mutex", "writer-2", 0, 500);
    waiting_profile_add(waiting, root, locking, "mutex journal_mutex", "reader", 0, 40);
    waiting_profile_add(waiting, root, locking, "mutex journal_mutex", NULL, 0, 60);
    root = fake_profile_thread(&waiting->fake, 13, "writer-2");
    waiting_profile_add(waiting, root, computing, NULL, NULL, 100, 0);
    waiting_profile_add(waiting, root, WAITING_STACK("/run", "/append", "fsync"), "file /var/journal", NULL,
                        0, 400);
    waiting_profile_add(waiting, root, locking, "mutex table_lock", "reader", 0, 200);
}

static void add_reader(struct waiting_profile *waiting)
{
    arena_ref root = fake_profile_thread(&waiting->fake, 14, "reader");
    const char *const *receiving = WAITING_STACK("/run", "/serve", "/fetch", "recv");
    waiting_profile_add(waiting, root, computing, NULL, NULL, 300, 0);
    waiting_profile_add(waiting, root, looking_up, "mutex journal_mutex", "writer-2", 0, 100);
    waiting_profile_add(waiting, root, receiving, "tcp 10.0.0.7:5432", NULL, 0, 150);
    waiting_profile_add(waiting, root, receiving, NULL, NULL, 0, 50);
    waiting_profile_add(waiting, root, WAITING_STACK("/run", "pthread_cond_wait"), "cond queue_cond", NULL, 0,
                        1000);
}

void waiting_profile_init(struct waiting_profile *waiting)
{
    *waiting = (struct waiting_profile){.location_count = 0};
    fake_profile_init(&waiting->fake, 1 << 22);
    waiting->app = fake_profile_module(&waiting->fake, "/opt/app");
    waiting->libc = fake_profile_module(&waiting->fake, "/lib/x86_64-linux-gnu/libc.so.6");
    arena_ref root = fake_profile_thread(&waiting->fake, 11, "main");
    waiting_profile_add(waiting, root, WAITING_STACK("/main", "pthread_join"), "thread writer-1", NULL, 0,
                        1000);
    add_writers(waiting);
    add_reader(waiting);
}
