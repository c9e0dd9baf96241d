/*
 * test_share.c: how the time of who polls is shared between steps of handshakes and others.
 * Not here: real handshakes (test_mechanism_flood.c).
 * Law: time is the sum of what steps and others take.
 */
#include "check.h"
#include "engine/share.h"

#define US ((uint64_t)1000)
#define MS (1000 * US)

typedef struct world {
    mmi_share share;
    uint64_t now_ns, steps_ns, others_ns;
    uint64_t longest_ns;                 /* of steps between two polls */
    uint64_t turns;
} world;

/* One turn: others take so long (0: they had nothing to do), and of so many handshakes each wants a
 * step that takes so long. */
static void
turn(world *w, uint64_t others_ns, uint32_t wanted, uint64_t step_ns)
{
    uint64_t here_ns = 0;
    mmi_share_polled(&w->share, w->now_ns);
    w->share.others = others_ns > 0;
    w->now_ns += others_ns;
    w->others_ns += others_ns;
    for (uint32_t i = 0; i < wanted && mmi_share_may(&w->share); i++) {
        w->now_ns += step_ns;
        here_ns += step_ns;
        mmi_share_stepped(&w->share, step_ns);
    }
    w->steps_ns += here_ns;
    w->longest_ns = here_ns > w->longest_ns ? here_ns : w->longest_ns;
    w->turns++;
    mmi_share_polls(&w->share, w->now_ns);
}

static world
run(uint64_t others_ns, uint32_t wanted, uint64_t step_ns)
{
    world w = { .now_ns = 5 * MS };
    while (w.now_ns < 4000 * MS) {
        turn(&w, others_ns, wanted, step_ns);
    }
    return w;
}

static void
test_steps_get_a_quarter_while_others_have_work(void)
{
    static const uint64_t others[] = { 50 * US, 200 * US, MS, 20 * MS };
    static const uint64_t steps[] = { 10 * US, 100 * US, 150 * US, 2 * MS };
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            world w = run(others[i], 1000, steps[j]);
            uint64_t all_ns = w.steps_ns + w.others_ns;
            bool rare = others[i] / 3 > MMI_SHARE_SLICE_NS; /* a slice between two polls is less */
            CHECK(w.steps_ns * 100 <= all_ns * 27);
            CHECK(rare || w.steps_ns * 100 >= all_ns * 24);
        }
    }
}

static void
test_others_wait_for_a_slice_and_the_step_that_began_in_it(void)
{
    static const uint64_t others[] = { 0, 1, 50 * US, 20 * MS };
    static const uint64_t steps[] = { 1 * US, 99 * US, 2 * MS };
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3; j++) {
            world w = run(others[i], 1000000, steps[j]);
            CHECK(w.longest_ns < MMI_SHARE_SLICE_NS + steps[j]);
        }
    }
}

static void
test_all_time_is_for_steps_while_others_have_nothing_to_do(void)
{
    world w = run(0, 1000, 100 * US);
    CHECK_INT(w.others_ns, 0);
    CHECK_INT(w.steps_ns, w.now_ns - 5 * MS);
}

static void
test_few_steps_are_made_at_once_however_busy_others_are(void)
{
    world w = run(10 * MS, 1, 100 * US);
    CHECK_INT(w.steps_ns, w.turns * 100 * US);
}

/* A clock that does not move, as that of a simulated world. */
static void
test_steps_go_on_also_where_others_seem_to_take_no_time(void)
{
    world w = { .now_ns = 5 * MS };
    uint64_t before_ns = 0;
    for (int i = 0; i < 1000; i++) {
        mmi_share_polled(&w.share, w.now_ns);
        w.share.others = true;
        if (mmi_share_may(&w.share)) {
            mmi_share_stepped(&w.share, 100 * US);
            w.steps_ns += 100 * US;
        }
        mmi_share_polls(&w.share, w.now_ns);
        before_ns = i == 499 ? w.steps_ns : before_ns;
    }
    CHECK(before_ns > 0 && w.steps_ns > before_ns);
}

/* The process was stopped in the midst of a step: handshakes go on before they are too late. */
static void
test_a_step_in_which_the_machine_stood_still_is_soon_paid_back(void)
{
    world w = { .now_ns = 5 * MS };
    turn(&w, 100 * US, 1, 60000 * MS);
    CHECK(!mmi_share_may(&w.share));
    uint64_t from_ns = w.now_ns;
    while (!mmi_share_may(&w.share)) {
        turn(&w, 100 * US, 1, 100 * US);
        CHECK(w.now_ns - from_ns < 50 * MS);
    }
}

int
main(void)
{
    RUN(test_steps_get_a_quarter_while_others_have_work);
    RUN(test_others_wait_for_a_slice_and_the_step_that_began_in_it);
    RUN(test_all_time_is_for_steps_while_others_have_nothing_to_do);
    RUN(test_few_steps_are_made_at_once_however_busy_others_are);
    RUN(test_a_step_in_which_the_machine_stood_still_is_soon_paid_back);
    RUN(test_steps_go_on_also_where_others_seem_to_take_no_time);
    return 0;
}
