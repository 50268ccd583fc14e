/*
 * Which module an address of a sample is in (the rule in modules.h), against a loader that the test plays:
 * libraries come and go at a few places, with dlclose and without, and the truth about each sample is known.
 */
#include "lib/unit.h"
#include "modules/modules.h"
#include "base/random.h"
#include "sig/ground/sig_unloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 3,
    LIBRARIES = 6,
    LIBRARY_BYTES = 0x10000,
    FIRST_PLACE = 0x100000,
    CALLS = 3,
    ADDRESS_OFFSET = 0x123
};

/* Library i belongs to place i % PLACES; place 0 is the program's own and never changes. */
static struct {
    bool is_loaded[LIBRARIES];
    uint64_t loads, unloads;
} loader;

static struct arena arena;
static struct modules modules;
static struct random_state dice;

static uint64_t address_of(int library)
{
    return FIRST_PLACE + (uint64_t)(library % PLACES) * LIBRARY_BYTES + ADDRESS_OFFSET;
}

static int at_place(int place)
{
    for (int i = place; i < LIBRARIES; i += PLACES) {
        if (loader.is_loaded[i])
            return i;
    }
    return -1;
}

static bool load(int library)
{
    if (at_place(library % PLACES) >= 0)
        return false;
    loader.is_loaded[library] = true;
    loader.loads++;
    return true;
}

static bool unload(int library)
{
    if (!loader.is_loaded[library] || library == 0)
        return false;
    loader.is_loaded[library] = false;
    loader.unloads++;
    return true;
}

static uint64_t unloaded(void)
{
    return loader.unloads;
}

static struct loader_state state_now(void)
{
    return (struct loader_state){.loads = loader.loads,
                                 .unloads = loader.unloads,
                                 .before = sig_unloads_read(),
                                 .after = sig_unloads_read()};
}

/* What modules_refresh does. */
static bool take_snapshot(void)
{
    struct loader_state state = state_now();
    if (modules_confirm_snapshot(&modules, &state))
        return false;
    modules_begin_snapshot(&modules);
    for (int i = 0; i < LIBRARIES; i++) {
        char name[32];
        struct module segment = {.start_pc = address_of(i) - ADDRESS_OFFSET,
                                 .end_pc = address_of(i) - ADDRESS_OFFSET + LIBRARY_BYTES,
                                 .is_permanent = i == 0,
                                 .is_first_segment = true};
        snprintf(name, sizeof(name), "/lib%d.so", i);
        if (loader.is_loaded[i])
            modules_add_segment(&modules, &segment, name);
    }
    modules_end_snapshot(&modules, &state);
    return true;
}

static struct modules_moment moment_now(uint32_t then)
{
    return (struct modules_moment){.snapshot = then, .unloads = sig_unloads_read()};
}

/* The library the rule names: -1 for none, -2 where it does not know. */
static int named(int place, const struct modules_moment *moment)
{
    arena_ref ref;
    if (!modules_at(&modules, address_of(place), moment, &ref))
        return -2;
    if (!ref)
        return -1;
    const struct module *module = arena_at(&arena, ref);
    return atoi((const char *)arena_at(&arena, module->path) + strlen("/lib"));
}

static void close_library(int library)
{
    uint32_t life = sig_unloads_begin();
    unload(library);
    sig_unloads_end(life);
}

static void replace_library(int library, int by)
{
    close_library(library);
    load(by);
}

/* Returns the snapshot's number, as a request that is sent now has it. */
static uint32_t snapshot_with(int library)
{
    load(library);
    assert_true(take_snapshot());
    return modules.now.number;
}

static int setup(void **state)
{
    memset(&loader, 0, sizeof(loader));
    sig_unloads_use_loader(unloaded);
    close_library(1); /* the counts start anew */
    loader.unloads = sig_unloads_read().objects;
    modules = (struct modules){.list.arena = &arena};
    load(0);
    return arena_init(&arena, 1 << 20) < 0 || !take_snapshot() ? -1 : 0;
}

static int teardown(void **state)
{
    modules_deinit(&modules);
    arena_deinit(&arena);
    return 0;
}

/* ---- one case each ---- */

enum { A = 1, B = A + PLACES, C = 2 }; /* A and B share a place */

static void nothing_came_or_went(void **state)
{
    struct modules_moment sample = moment_now(snapshot_with(A));
    assert_false(take_snapshot());
    assert_int_equal(named(A, &sample), A);
    assert_int_equal(named(C, &sample), -1);
}

/* A library that was loaded after the request and was sampled at once. */
static void a_library_came(void **state)
{
    uint32_t then = modules.now.number;
    load(A);
    struct modules_moment sample = moment_now(then);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), A);
}

static void sampled_before_it_was_replaced(void **state)
{
    struct modules_moment sample = moment_now(snapshot_with(A));
    replace_library(A, B);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), A);
}

static void sampled_after_it_replaced_another(void **state)
{
    uint32_t then = snapshot_with(A);
    replace_library(A, B);
    struct modules_moment sample = moment_now(then);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), B);
}

/* Both snapshots have A, but it was B in between. */
static void both_snapshots_agree_and_are_wrong(void **state)
{
    uint32_t then = snapshot_with(A);
    replace_library(A, B);
    struct modules_moment sample = moment_now(then);
    replace_library(B, A);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), -2);
    assert_int_equal(named(0, &sample), 0); /* the program itself stays */
}

static void what_stayed_is_known_whatever_else_went(void **state)
{
    load(C);
    uint32_t then = snapshot_with(A), life = sig_unloads_begin();
    struct modules_moment sample = moment_now(then); /* a call of dlclose is under way */
    unload(A);
    sig_unloads_end(life);
    load(B);
    assert_true(take_snapshot());
    assert_int_equal(named(C, &sample), C);
    assert_int_equal(named(A, &sample), -2);
}

/* The C library unloads without dlclose: equal counts prove nothing then. */
static void a_strange_unloading_is_noticed(void **state)
{
    uint32_t then = snapshot_with(A);
    unload(A);
    load(B);
    struct modules_moment sample = moment_now(then);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), -2);
    replace_library(B, A); /* and is not forgotten by the next call */
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), -2);
}

/* The next call notices, and leaves the loader's count as the one before did. */
static void a_strange_unloading_before_a_call(void **state)
{
    load(C);
    uint32_t then = snapshot_with(A);
    unload(A);
    load(B);
    struct modules_moment sample = moment_now(then);
    close_library(C);
    assert_true(take_snapshot());
    assert_int_equal(named(A, &sample), -2);
}

/* A reply that comes after several snapshots. */
static void a_late_reply(void **state)
{
    load(C);
    struct modules_moment sample = moment_now(snapshot_with(A));
    close_library(A);
    take_snapshot();
    load(B);
    take_snapshot();
    assert_int_equal(named(A, &sample), -2);
    assert_int_equal(named(C, &sample), C);
}

static void a_dlclose_that_unloads_nothing_changes_nothing(void **state)
{
    uint32_t then = snapshot_with(A);
    for (int i = 0; i < 5; i++) {
        close_library(C);
        struct modules_moment sample = moment_now(then);
        assert_false(take_snapshot());
        assert_int_equal(named(A, &sample), A);
    }
    struct modules_moment sample = moment_now(then); /* counts the five, as the snapshot does by now */
    replace_library(A, B);
    take_snapshot();
    assert_int_equal(named(A, &sample), A);
}

/* ---- whatever happens ---- */

struct call { /* of dlclose, under way */
    bool is_open, has_unloaded;
    uint32_t life;
    int library;
};

struct sample {
    struct modules_moment moment;
    int truth[PLACES];
};

static int die(int sides)
{
    return (int)random_below(&dice, (uint32_t)sides);
}

/* One step of some thread in a dlclose: begin, unload, end. */
static void step_call(struct call *call)
{
    if (!call->is_open) {
        *call = (struct call){.is_open = true, .life = sig_unloads_begin(), .library = die(LIBRARIES)};
    } else if (!call->has_unloaded) {
        unload(call->library);
        call->has_unloaded = true;
    } else {
        sig_unloads_end(call->life);
        call->is_open = false;
    }
}

static void take_sample(struct sample *sample, uint32_t then)
{
    sample->moment = moment_now(then);
    for (int place = 0; place < PLACES; place++)
        sample->truth[place] = at_place(place);
}

/* Counts the libraries that are known. */
static int judge(const struct sample *sample)
{
    int known = 0;
    take_snapshot();
    for (int place = 0; place < PLACES; place++) {
        int name = sample->truth[place] >= 0 ? named(place, &sample->moment) : -2;
        if (name != -2 && name != sample->truth[place])
            fail_msg("library %d is called %d", sample->truth[place], name);
        known += name != -2;
    }
    return known;
}

/* Any order of events, several calls of dlclose at once: no name is ever wrong, and most are known. */
static void no_name_is_ever_wrong(void **state)
{
    struct call calls[CALLS] = {0};
    struct sample sample;
    long known = 0, wanted = 0;
    random_init(&dice, 4711);
    for (int round = 0; round < 200000; round++) {
        int strange_percent = round % 3 * 5, snapshots_percent = round % 2 * 10, busy = 1 + round / 3 % 12;
        take_snapshot();
        uint32_t then = modules.now.number;
        int taken_at = die(busy);
        for (int event = 0; event < busy; event++) {
            int what = die(100);
            if (event == taken_at)
                take_sample(&sample, then);
            if (what < strange_percent)
                unload(die(LIBRARIES));
            else if (what < strange_percent + snapshots_percent)
                take_snapshot();
            else if (what < 50)
                load(die(LIBRARIES));
            else
                step_call(&calls[die(CALLS)]);
        }
        known += judge(&sample);
        for (int place = 0; place < PLACES; place++)
            wanted += sample.truth[place] >= 0;
    }
    print_message("%ld of %ld addresses known\n", known, wanted);
    assert_true(known > wanted / 2);
    for (int i = 0; i < CALLS; i++) {
        while (calls[i].is_open)
            step_call(&calls[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nothing_came_or_went),
        TEST(a_library_came),
        TEST(sampled_before_it_was_replaced),
        TEST(sampled_after_it_replaced_another),
        TEST(both_snapshots_agree_and_are_wrong),
        TEST(what_stayed_is_known_whatever_else_went),
        TEST(a_strange_unloading_is_noticed),
        TEST(a_strange_unloading_before_a_call),
        TEST(a_late_reply),
        TEST(a_dlclose_that_unloads_nothing_changes_nothing),
        TEST(no_name_is_ever_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
