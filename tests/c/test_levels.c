/*
 * test_levels.c: which of several queues is next, by priority; and that each that waits has its
 * turn.
 * Not here: who gets what (test_push.c), whole sockets (tests/sim/test_priorities.py).
 */
#include "queue/levels.h"

#include "check.h"

enum { ROUNDS = 20000 };

static void
put(mmi_levels *l, uint8_t priority)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)"x", 1);
    CHECK(m != NULL);
    m->priority = priority;
    CHECK_INT(mmi_ring_push(mmi_levels_of(l, m), m), MM_OK);
}

/* The priority of what is next, which is gone then; -1: there is nothing. */
static int
take(mmi_levels *l)
{
    mmi_ring *from = mmi_levels_next(l);
    if (from == NULL) {
        return -1;
    }
    CHECK(mmi_levels_next(l) == from);   /* asking changes nothing */
    mmi_msg *m = mmi_ring_pop(from);
    int priority = m->priority;
    mmi_levels_took(l, from);
    mmi_msg_unref(m);
    return priority;
}

static void
fini(mmi_levels *l)
{
    for (uint32_t i = 0; i < l->used; i++) {
        mmi_ring_fini(&l->at[i]);
    }
}

static void
test_the_highest_is_first(void)
{
    mmi_levels l;
    uint64_t bytes;
    mmi_levels_init(&l, 4);
    CHECK(mmi_levels_empty(&l) && take(&l) == -1);
    for (uint8_t i = 0; i < 4; i++) {
        put(&l, i);
        put(&l, i);
    }
    put(&l, 9);   /* over the levels in use: as the highest of them */
    CHECK_INT(mmi_levels_count(&l, &bytes), 9);
    CHECK_INT(bytes, 9 * (1 + MMI_FRAME_OVERHEAD));
    static const int wanted[] = { 3, 3, 9, 2, 2, 1, 1, 0, 0, -1 };
    for (size_t i = 0; i < MMI_COUNT_OF(wanted); i++) {
        CHECK_INT(take(&l), wanted[i]);
    }
    CHECK(mmi_levels_empty(&l));
    fini(&l);
}

static void
test_the_lowest_is_what_is_given_up(void)
{
    mmi_levels l;
    mmi_levels_init(&l, 3);
    CHECK(mmi_levels_take_lowest(&l) == NULL);
    put(&l, 2);
    put(&l, 1);
    for (int wanted = 1; wanted <= 2; wanted++) {
        mmi_msg *m = mmi_levels_take_lowest(&l);
        CHECK_INT(m->priority, wanted);
        mmi_msg_unref(m);
    }
    fini(&l);
}

static void
test_with_16_of_the_highest_goes_one_of_those_below_in_turn(void)
{
    mmi_levels l;
    mmi_levels_init(&l, 4);
    for (int i = 0; i < 200; i++) {
        put(&l, 3);
    }
    for (uint8_t i = 0; i < 3; i++) {
        put(&l, i);
        put(&l, i);
    }
    static const int turns[] = { 2, 1, 0, 2, 1, 0 };
    for (size_t i = 0; i < MMI_COUNT_OF(turns); i++) {
        for (int k = 0; k < MMI_LEVELS_RUN; k++) {
            CHECK_INT(take(&l), 3);
        }
        CHECK_INT(take(&l), turns[i]);
    }
    for (int i = 0; i < 200 - 6 * MMI_LEVELS_RUN; i++) {
        CHECK_INT(take(&l), 3);   /* nobody else waits */
    }
    CHECK_INT(take(&l), -1);
    fini(&l);
}

/* How many others go before the message at the front of a level, whatever comes meanwhile. */
static void
test_nobody_waits_for_ever_whatever_comes(void)
{
    mmi_levels l;
    uint32_t waited[MMI_LEVELS] = { 0 }, random = 1;
    mmi_levels_init(&l, MMI_LEVELS);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 2; k++) {
            random = random * 1664525U + 1013904223U;
            put(&l, (uint8_t)((random >> 16) % MMI_LEVELS));
        }
        int got = take(&l);
        for (int level = 0; level < MMI_LEVELS; level++) {
            bool waits = l.at[level].slot_count > 0 && level != got;
            waited[level] = waits ? waited[level] + 1 : 0;
            CHECK(waited[level] <= (MMI_LEVELS_RUN + 1) * (MMI_LEVELS - 1));
        }
    }
    fini(&l);
}

int
main(void)
{
    RUN(test_the_highest_is_first);
    RUN(test_the_lowest_is_what_is_given_up);
    RUN(test_with_16_of_the_highest_goes_one_of_those_below_in_turn);
    RUN(test_nobody_waits_for_ever_whatever_comes);
    return 0;
}
