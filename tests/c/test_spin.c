/*
 * test_spin.c: when a wait spins by itself, in worlds that differ in how long waits take with a
 * spin and without one.
 * Not here: threads (test_lead.c, test_pollset.c).
 * Law: time is the sum of the waits and of what is between them.
 */
#include "check.h"
#include "wake/spin.h"

#define US ((uint64_t)1000)
#define MS (1000 * US)
#define S (1000 * MS)

typedef struct world {
    mmi_spin spin;
    uint64_t now_ns, messages;
    uint64_t spun_ns, slept_ns;   /* how long waits take that spin, and those that do not */
    uint64_t between_ns;          /* from one to the next */
} world;

/* One wait, which a message ends; whether it spun. */
static bool
wait_once(world *w, uint64_t stall_ns)
{
    w->now_ns += w->between_ns;
    uint64_t spin_ns = mmi_spin_ns(&w->spin, w->now_ns);
    mmi_spin_wait wait = { .waited_ns = spin_ns > 0 ? w->spun_ns : w->slept_ns,
                           .stall_ns = stall_ns,
                           .messages = ++w->messages,
                           .spun = spin_ns > 0 };
    w->now_ns += wait.waited_ns;
    mmi_spin_waited(&w->spin, w->now_ns, wait);
    return wait.spun;
}

/* Waits for that long; how much of what was waited was in waits that spin, in a thousand. */
static unsigned
share(world *w, uint64_t for_ns)
{
    uint64_t end = w->now_ns + for_ns, spun = 0, waited = 0;
    while (w->now_ns < end) {
        uint64_t before = w->now_ns;
        bool spins = wait_once(w, 0);
        waited += w->now_ns - before - w->between_ns;
        spun += spins ? w->now_ns - before - w->between_ns : 0;
    }
    return (unsigned)(1000 * spun / waited);
}

/* Who answers each other: both wake up sooner if they do not sleep. */
static const world EXCHANGE = { .spun_ns = 25 * US, .slept_ns = 50 * US };

static void
test_short_waits_spin_always(void)
{
    world w = { .spun_ns = 20 * US, .slept_ns = 20 * US };
    while (w.now_ns < 5 * S) {
        CHECK(wait_once(&w, 0));
    }
    w = (world){ .spun_ns = 21 * US, .slept_ns = 21 * US };
    CHECK(share(&w, 5 * S) < 50);
}

static void
test_waits_that_a_spin_makes_shorter_spin_nearly_always(void)
{
    for (uint64_t slept = 40 * US; slept <= 250 * US; slept += 10 * US) {
        for (uint64_t between = 1; between <= 100 * MS; between *= 10) {
            world w = { .spun_ns = 25 * US, .slept_ns = slept, .between_ns = between };
            (void)share(&w, 20 * S);
            unsigned slow = 0, all = 20000;
            for (unsigned i = 0; i < all; i++) {
                slow += !wait_once(&w, 0);
            }
            CHECK(slow * 100 < all);   /* so 99 of 100 are as short as they can be */
        }
    }
}

static void
test_a_spin_has_to_save_an_eighth(void)
{
    world w = { .spun_ns = 69 * US, .slept_ns = 80 * US };
    CHECK(share(&w, 10 * S) > 950);
    w = (world){ .spun_ns = 71 * US, .slept_ns = 80 * US };
    CHECK(share(&w, 10 * S) < 50);
    w = (world){ .spun_ns = 100 * US, .slept_ns = 200 * US };
    CHECK(share(&w, 10 * S) > 950);
    w = (world){ .spun_ns = 101 * US, .slept_ns = 200 * US };   /* is too long for one */
    CHECK(share(&w, 10 * S) < 50);
}

static void
test_what_comes_at_its_own_pace_is_slept_for(void)
{
    for (uint64_t pace = 30 * US; pace <= 250 * US; pace += 5 * US) {
        world w = { .spun_ns = pace, .slept_ns = pace };
        CHECK(share(&w, 20 * S) <= 20);
    }
}

/* In each microsecond something comes, or it does not. */
static uint64_t
random_gap(uint32_t *seed, uint64_t mean_ns)
{
    uint64_t gap = 1 * US;
    while (check_random(seed) % (mean_ns / US) != 0) {
        gap += 1 * US;
    }
    return gap;
}

static void
test_what_comes_by_chance_is_slept_for(void)
{
    const uint64_t work = 5 * US, mean = 50 * US;
    for (uint64_t wake = 5 * US; wake <= 40 * US; wake += 5 * US) {
        mmi_spin spin = { 0 };
        uint32_t seed = 1;
        uint64_t now = 0, next = mean, messages = 0, spun = 0, waited = 0;
        while (now < 20 * S) {
            uint64_t from = now, spin_ns = mmi_spin_ns(&spin, now);
            now = next + (spin_ns > 0 && next - now < spin_ns ? 0 : wake);
            waited += now - from;
            spun += spin_ns > 0 ? now - from : 0;
            while (next <= now) {   /* all that came meanwhile is taken without a wait */
                next += random_gap(&seed, mean);
                now += work;
                messages++;
            }
            mmi_spin_wait wait = { .waited_ns = now - from,
                                   .messages = messages,
                                   .spun = spin_ns > 0 };
            mmi_spin_waited(&spin, now, wait);
        }
        CHECK(spun * 8 < waited);
    }
}

static void
test_long_waits_are_slept_for_whatever_a_spin_would_save(void)
{
    for (uint64_t pace = 251 * US; pace <= 10 * S; pace *= 2) {
        world w = { .spun_ns = pace / 2, .slept_ns = pace };
        uint64_t spun = 0, most = w.spun_ns < 500 * US ? w.spun_ns : 500 * US;
        for (int i = 0; i < 1000; i++) {
            spun += wait_once(&w, 0);
        }
        CHECK(spun * most < 3 * MS);
        CHECK(!wait_once(&w, 0));
    }
}

/* As for a Poller: what is asked together, then nothing until the next question. */
static void
test_the_pauses_between_bursts_are_slept_for(void)
{
    for (int burst = 10; burst <= 50; burst += 10) {
        world w = { 0 };
        unsigned spun = 0, pauses = 20000;
        for (unsigned i = 0; i < pauses; i++) {
            w.spun_ns = w.slept_ns = 6 * US;
            for (int j = 0; j < burst; j++) {
                (void)wait_once(&w, 0);
            }
            w.spun_ns = w.slept_ns = 300 * US;
            spun += wait_once(&w, 0);
        }
        CHECK(spun * 20 < pauses);
    }
}

static void
test_it_finds_out_when_a_spin_begins_to_pay(void)
{
    world w = { .spun_ns = 50 * US, .slept_ns = 50 * US };
    (void)share(&w, 10 * S);
    w.spun_ns = 25 * US;
    (void)share(&w, 1700 * MS);
    CHECK(share(&w, 3 * S) >= 990);
    CHECK_INT(w.spin.vain, 0);   /* so the next rest is a short one again */
    w.spun_ns = w.slept_ns = 10 * S;   /* then silence */
    (void)share(&w, 1000 * S);
    w.spun_ns = 25 * US;
    w.slept_ns = 50 * US;
    (void)share(&w, 10 * MS);
    CHECK(share(&w, 3 * S) >= 990);
    w = (world){ .spun_ns = 50 * US, .slept_ns = 50 * US };
    (void)share(&w, 10 * S);
    w.spun_ns = w.slept_ns = 10 * US;   /* too short to compare */
    (void)share(&w, 2 * S);
    CHECK_INT(w.spin.vain, 0);
}

static void
test_it_finds_out_when_a_spin_pays_no_more(void)
{
    world w = EXCHANGE;
    (void)share(&w, 3 * S);
    w.spun_ns = w.slept_ns = 50 * US;
    (void)share(&w, 10 * MS);
    CHECK(share(&w, 10 * S) <= 20);
    w = EXCHANGE;
    (void)share(&w, 3 * S);
    w.spun_ns = w.slept_ns = 40 * US;   /* less than waits took before that slept */
    (void)share(&w, 1500 * MS);
    CHECK(share(&w, 10 * S) <= 20);
}

static void
test_a_long_wait_among_short_ones_changes_nothing(void)
{
    world w = EXCHANGE;
    (void)share(&w, 100 * MS);
    unsigned slept = 0;
    for (int i = 0; i < 100; i++) {
        w.spun_ns = w.slept_ns = 10 * MS;
        slept += !wait_once(&w, 0);
        w = (world){ .spin = w.spin,
                     .now_ns = w.now_ns,
                     .messages = w.messages,
                     .spun_ns = 25 * US,
                     .slept_ns = 50 * US };
        CHECK(share(&w, 20 * MS) >= 800);   /* now and then it sees what a sleep would be */
    }
    CHECK(slept < 5);
}

/* So many waits that spin, then some that should not have: how long it is until one spins again. */
static uint64_t
slept_after(world *w, unsigned waits)
{
    for (unsigned i = 0; i < waits; i++) {
        CHECK(wait_once(w, 0));
    }
    w->spun_ns = 100 * US;   /* does not pay; some tens of them are a judgement */
    while (wait_once(w, 0)) {
    }
    w->spun_ns = 25 * US;
    uint64_t from = w->now_ns;
    while (!wait_once(w, 0)) {
    }
    return w->now_ns - from;
}

static void
test_what_paid_for_long_rests_only_when_it_fails_twice(void)
{
    world w = EXCHANGE;
    while (mmi_spin_ns(&w.spin, w.now_ns) > 0) {   /* until it looks what a sleep takes */
        (void)wait_once(&w, 0);
    }
    while (mmi_spin_ns(&w.spin, w.now_ns) == 0) {
        (void)wait_once(&w, 0);
    }
    CHECK(slept_after(&w, 8 * 64) < 10 * MS);   /* it looked once more */
    CHECK(slept_after(&w, 1 * 64) > 90 * MS);
    CHECK(slept_after(&w, 8 * 64) < 10 * MS);
    CHECK(slept_after(&w, 7 * 64) > 90 * MS);
}

static void
test_who_was_kept_from_it_leaves_the_processor_to_others_for_longer(void)
{
    world w = EXCHANGE;
    (void)share(&w, 100 * MS);
    for (uint64_t stall = 100 * US; stall <= 1000 * S; stall *= 2) {
        while (!wait_once(&w, 0)) {
        }
        w.spun_ns = stall;
        CHECK(wait_once(&w, stall));
        w.spun_ns = 25 * US;
        uint64_t from = w.now_ns, most = stall * 16 < 1 * S ? stall * 16 : 1 * S;
        while (!wait_once(&w, 0)) {
        }
        CHECK(w.now_ns - from >= most);
        CHECK(w.now_ns - from < most + 200 * US);
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
    CHECK(share(&w, 10 * S) <= 20);
}

static void
test_waits_with_others_between_them_are_not_judged_together(void)
{
    world w = { .spun_ns = 60 * US, .slept_ns = 60 * US };
    for (int i = 0; i < 100000; i++) {   /* bursts which somebody else reads: a wait each */
        (void)wait_once(&w, 0);
        w.messages += 1000;
        mmi_spin_skip(&w.spin, w.messages);
        CHECK(w.spin.slept_ns == 0);
    }
}

int
main(void)
{
    RUN(test_short_waits_spin_always);
    RUN(test_waits_that_a_spin_makes_shorter_spin_nearly_always);
    RUN(test_a_spin_has_to_save_an_eighth);
    RUN(test_what_comes_at_its_own_pace_is_slept_for);
    RUN(test_what_comes_by_chance_is_slept_for);
    RUN(test_long_waits_are_slept_for_whatever_a_spin_would_save);
    RUN(test_the_pauses_between_bursts_are_slept_for);
    RUN(test_it_finds_out_when_a_spin_begins_to_pay);
    RUN(test_it_finds_out_when_a_spin_pays_no_more);
    RUN(test_a_long_wait_among_short_ones_changes_nothing);
    RUN(test_what_paid_for_long_rests_only_when_it_fails_twice);
    RUN(test_who_was_kept_from_it_leaves_the_processor_to_others_for_longer);
    RUN(test_waits_after_a_stall_say_nothing_of_what_a_spin_saves);
    RUN(test_waits_with_others_between_them_are_not_judged_together);
    return 0;
}
