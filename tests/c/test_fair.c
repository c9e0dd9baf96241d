/*
 * test_fair.c: those who come from one place take turns with all others.
 * Not here: questions (test_applicants.c).
 * Law: the order depends on who came from where, and when, alone.
 */
#include "base/fair.h"
#include "check.h"

enum { MANY = 64, OTHERS = 5 };

static mmi_fair fair;
static mmi_fair_node who[MANY + OTHERS];

static void
enter(int i, uint64_t from)
{
    mmi_fair_enter(&fair, &who[i], from);
}

static int
taken(void)
{
    if (mmi_list_empty(&fair.queue)) {
        return -1;
    }
    mmi_fair_node *node = mmi_fair_node_of(fair.queue.next);
    mmi_fair_serve(&fair, node);
    return (int)(node - who);
}

static void
test_those_of_one_place_go_in_the_order_of_coming(void)
{
    mmi_fair_init(&fair);
    CHECK_INT(taken(), -1);
    for (int i = 0; i < MANY; i++) {
        enter(i, 7);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(taken(), i);
    }
    CHECK_INT(taken(), -1);
}

/* However many one place has, the first of another waits for two of it at most. */
static void
test_who_comes_later_passes_the_many_of_one_place(void)
{
    mmi_fair_init(&fair);
    for (int i = 0; i < MANY; i++) {
        enter(i, 7);
    }
    CHECK_INT(taken(), 0);
    for (int i = 0; i < OTHERS; i++) {
        enter(MANY + i, 100 + (uint64_t)i);
    }
    CHECK_INT(taken(), 1);
    for (int i = 0; i < OTHERS; i++) {
        CHECK_INT(taken(), MANY + i);
    }
    CHECK_INT(taken(), 2);
}

/* One that asks again as soon as it was served does not hold back the second of another. */
static void
test_who_comes_again_and_again_does_not_starve_the_second_of_another(void)
{
    mmi_fair_init(&fair);
    enter(0, 1);
    enter(1, 2);
    enter(2, 2);
    enter(3, 3);
    const int order[] = { 0, 1, 3, 2, 0 };
    for (int i = 0; i < (int)MMI_COUNT_OF(order); i++) {
        int next = taken();
        CHECK_INT(next, order[i]);
        if (next == 0 || next == 3) {
            enter(next, next == 0 ? 1 : 3);   /* at once */
        }
    }
}

static void
test_who_leaves_is_passed_over(void)
{
    mmi_fair_init(&fair);
    for (int i = 0; i < OTHERS; i++) {
        enter(i, 7);
    }
    mmi_list_rm(&who[0].node);
    mmi_list_rm(&who[OTHERS - 1].node);
    enter(MANY, 8);
    const int order[] = { MANY, 1, 2, 3, -1 };
    for (int i = 0; i < (int)MMI_COUNT_OF(order); i++) {
        CHECK_INT(taken(), order[i]);
    }
}

/* Whoever it is, and whenever they came: each place has its first within two of every other. */
static void
test_nobody_waits_for_more_than_two_of_each_other_place(void)
{
    uint32_t seed = 1;
    for (int run = 0; run < 2000; run++) {
        mmi_fair_init(&fair);
        int before[4] = { 0 }, in[4] = { 0 }, next = 0;
        for (int step = 0; step < 60; step++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t place = seed >> 30;
            if ((seed >> 16 & 3) != 0 && next < MANY) {
                if (in[place]++ == 0) {
                    before[place] = 0;
                }
                enter(next++, place);
                continue;
            }
            int got = taken();
            if (got < 0) {
                continue;
            }
            uint32_t from = (uint32_t)who[got].from;
            in[from]--;
            before[from] = 0;
            for (uint32_t i = 0; i < 4; i++) {
                before[i] += i != from && in[i] > 0;
                CHECK(before[i] <= 2 * 3);
            }
        }
    }
}

int
main(void)
{
    RUN(test_those_of_one_place_go_in_the_order_of_coming);
    RUN(test_who_comes_later_passes_the_many_of_one_place);
    RUN(test_who_comes_again_and_again_does_not_starve_the_second_of_another);
    RUN(test_who_leaves_is_passed_over);
    RUN(test_nobody_waits_for_more_than_two_of_each_other_place);
    return 0;
}
