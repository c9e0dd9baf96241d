/*
 * test_spin.c: when a wait spins by itself, in worlds that differ in how long waits take with a
 * spin and without one.
 * Not here: threads (test_lead.c, test_group.c).
 * Law: time is the sum of the waits, and of nothing else.
 */
#include "check.h"
#include "engine/spin.h"

#define US ((uint64_t)1000)
#define MS (1000 * US)
#define S (1000 * MS)

typedef struct world {
    mmi_spin spin;
    uint64_t now_ns;
    uint64_t spun_ns, slept_ns;   /* how long waits take that spin, and those that do not */
} world;

/* One wait; whether it spun. */
static bool
wait_once(world *w, uint64_t stall_ns)
{
    uint64_t spin_ns = mmi_spin_ns(&w->spin, w->now_ns);
    mmi_spin_wait wait = { .waited_ns = spin_ns > 0 ? w->spun_ns : w->slept_ns,
                           .stall_ns = stall_ns, .spun = spin_ns > 0 };
    w->now_ns += wait.waited_ns;
    mmi_spin_waited(&w->spin, w->now_ns, wait);
    return wait.spun;
}

/* Waits for that long; how much of it in waits that spin, in percent. */
static unsigned
share(world *w, uint64_t for_ns)
{
    uint64_t end = w->now_ns + for_ns, spun = 0;
    while (w->now_ns < end) {
        uint64_t before = w->now_ns;
        spun += wait_once(w, 0) ? w->now_ns - before : 0;
    }
    return (unsigned)(100 * spun / for_ns);
}

/* Who answers each other: both wake up sooner if they do not sleep. */
static const world EXCHANGE = { .spun_ns = 25 * US, .slept_ns = 50 * US };

static void
test_short_waits_spin_always(void)
{
    world w = { .spun_ns = 10 * US, .slept_ns = 40 * US };
    while (w.now_ns < 5 * S) {
        CHECK(wait_once(&w, 0));
    }
}

static void
test_waits_that_a_spin_makes_shorter_spin_nearly_always(void)
{
    world w = EXCHANGE;
    CHECK(share(&w, 10 * S) >= 99);
}

static void
test_what_comes_at_its_own_pace_is_slept_for(void)
{
    for (uint64_t pace = 30 * US; pace <= 100 * US; pace += 5 * US) {
        world w = { .spun_ns = pace, .slept_ns = pace };
        CHECK(share(&w, 10 * S) <= 7);
    }
}

static void
test_long_waits_are_slept_for_whatever_a_spin_would_save(void)
{
    for (uint64_t pace = 150 * US; pace <= 10 * S; pace *= 2) {
        world w = { .spun_ns = pace / 2, .slept_ns = pace };
        uint64_t spun = 0, most = w.spun_ns < 500 * US ? w.spun_ns : 500 * US;
        for (int i = 0; i < 1000; i++) {
            spun += wait_once(&w, 0);
        }
        CHECK(spun * most < 6 * MS);
        CHECK(!wait_once(&w, 0));
    }
}

static void
test_it_finds_out_when_a_spin_begins_to_pay(void)
{
    world w = { .spun_ns = 50 * US, .slept_ns = 50 * US };
    (void)share(&w, 3 * S);
    w.spun_ns = 25 * US;
    (void)share(&w, 200 * MS);
    CHECK(share(&w, 3 * S) >= 99);
    w.spun_ns = w.slept_ns = 10 * S;   /* then silence */
    (void)share(&w, 1000 * S);
    w.spun_ns = 25 * US;
    w.slept_ns = 50 * US;
    (void)share(&w, 10 * MS);
    CHECK(share(&w, 3 * S) >= 99);
}

static void
test_it_finds_out_when_a_spin_pays_no_more(void)
{
    world w = EXCHANGE;
    (void)share(&w, 3 * S);
    w.spun_ns = w.slept_ns = 50 * US;
    (void)share(&w, 10 * MS);
    CHECK(share(&w, 3 * S) <= 7);
    w = EXCHANGE;
    (void)share(&w, 3 * S);
    w.spun_ns = w.slept_ns = 40 * US;   /* less than waits took before that slept */
    (void)share(&w, 1100 * MS);
    CHECK(share(&w, 3 * S) <= 7);
}

static void
test_a_long_wait_among_short_ones_changes_nothing(void)
{
    world w = EXCHANGE;
    (void)share(&w, 100 * MS);
    for (int i = 0; i < 100; i++) {
        w.spun_ns = w.slept_ns = 10 * MS;
        CHECK(wait_once(&w, 0));
        w = (world){ .spin = w.spin, .now_ns = w.now_ns, .spun_ns = 25 * US, .slept_ns = 50 * US };
        CHECK(share(&w, 20 * MS) >= 80);   /* now and then it sees what a sleep would be */
        while (!wait_once(&w, 0)) {
        }
    }
}

static void
test_who_was_kept_from_it_leaves_the_processor_to_others_for_longer(void)
{
    world w = EXCHANGE;
    (void)share(&w, 100 * MS);
    for (uint64_t stall = 100 * US; stall <= 10 * MS; stall *= 2) {
        while (!wait_once(&w, 0)) {
        }
        w.spun_ns = stall;
        CHECK(wait_once(&w, stall));
        w.spun_ns = 25 * US;
        uint64_t from = w.now_ns;
        while (!wait_once(&w, 0)) {
        }
        CHECK(w.now_ns - from >= 16 * stall);
        CHECK(w.now_ns - from < 17 * stall);
    }
}

static void
test_waits_after_a_stall_say_nothing_of_what_a_spin_saves(void)
{
    world w = { .spun_ns = 50 * US, .slept_ns = 50 * US };
    CHECK(wait_once(&w, 10 * MS));
    w.slept_ns = 5 * MS;
    for (int i = 0; i < 20; i++) {
        CHECK(!wait_once(&w, 0));
    }
    w.slept_ns = 50 * US;
    while (!wait_once(&w, 0)) {
    }
    CHECK(share(&w, 3 * S) <= 7);
}

int
main(void)
{
    RUN(test_short_waits_spin_always);
    RUN(test_waits_that_a_spin_makes_shorter_spin_nearly_always);
    RUN(test_what_comes_at_its_own_pace_is_slept_for);
    RUN(test_long_waits_are_slept_for_whatever_a_spin_would_save);
    RUN(test_it_finds_out_when_a_spin_begins_to_pay);
    RUN(test_it_finds_out_when_a_spin_pays_no_more);
    RUN(test_a_long_wait_among_short_ones_changes_nothing);
    RUN(test_who_was_kept_from_it_leaves_the_processor_to_others_for_longer);
    RUN(test_waits_after_a_stall_say_nothing_of_what_a_spin_saves);
    return 0;
}
