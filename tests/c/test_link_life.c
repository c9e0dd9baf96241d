/*
 * test_link_life.c: which state of a link may follow which, and what goes with one only
 * (link/life.h).
 * Not here: what is done when one does (test_link_ends.c, tests/sim/test_parting.py).
 * Law: the table is written anew here, as a drawing.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "link/link.h"

enum { STATES = MMI_LINK_DEAD + 1 };

/* Rows: from; columns: to; in the order of the enum. */
static const char *const DRAWING[STATES] = {
    /*               NCHARPD */
    /* NEW        */ ".x.....",
    /* CONNECTING */ "..x...x",
    /* HELLO      */ "...xx.x",
    /* ACTIVE     */ "....xxx",
    /* REFUSED    */ "......x",
    /* PARTING    */ "......x",
    /* DEAD       */ ".......",
};

static mmi_link the_link;

static mmi_link *
link_in(mmi_link_state state)
{
    memset(&the_link, 0, sizeof the_link);
    mmi_list_init(&the_link.parted);
    the_link.state = state;
    return &the_link;
}

/* Does looking at it end the program?  In another process, which it may end. */
static bool
is_refused(const mmi_link *link)
{
    int status;
    (void)fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        mmi_life_invariants(link);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status != 0;
}

static void
test_each_state_is_followed_by_those_of_the_table_and_by_no_other(void)
{
    for (int from = 0; from < STATES; from++) {
        for (int to = 0; to < STATES; to++) {
            bool drawn = DRAWING[from][to] == 'x';
            CHECK_INT(mmi_life_follows((mmi_link_state)from, (mmi_link_state)to), drawn);
            if (drawn) {
                mmi_link *link = link_in((mmi_link_state)from);
                mmi_life_to(link, (mmi_link_state)to);
                CHECK_INT(link->state, to);
            }
        }
    }
}

static void
test_every_state_is_reached_and_ends_dead(void)
{
    for (int state = 0; state < STATES; state++) {
        bool reached = state == MMI_LINK_NEW, leads = state == MMI_LINK_DEAD;
        for (int other = 0; other < STATES; other++) {
            reached = reached || DRAWING[other][state] == 'x';
            leads = leads || (DRAWING[state][other] == 'x' && other > state);
        }
        CHECK(reached && leads); /* each arrow leads to a later one, so there is no way round */
    }
}

/* In which states a link may have it, as DRAWING has them. */
static void
goes_with(const char *allowed, void (*give)(mmi_link *link))
{
    for (int state = 0; state < STATES; state++) {
        mmi_link *link = link_in((mmi_link_state)state);
        CHECK(!is_refused(link));
        give(link);
        CHECK_INT(is_refused(link), allowed[state] != 'x');
        mmi_list_rm(&link->parted);
    }
}

static void
give_ask(mmi_link *link)
{
    static char ask;
    link->ask = (struct mmi_link_ask *)(void *)&ask;
}

static void
give_surplus(mmi_link *link)
{
    link->surplus = true;
}

static void
give_leave(mmi_link *link)
{
    link->leave_ns = 1;
}

static void
give_heard(mmi_link *link)
{
    link->end_out = MMI_END_HEARD;
}

static void
give_told(mmi_link *link)
{
    link->end_out = MMI_END_TOLD;
}

static void
give_fin(mmi_link *link)
{
    link->fin_sent = true;
}

static void
give_parted(mmi_link *link)
{
    static mmi_list parting = { &parting, &parting };
    mmi_list_push_back(&parting, &link->parted);
}

static void
test_what_goes_with_a_state_is_refused_in_the_others(void)
{
    /*         NCHARPD */
    goes_with("..x...x", give_ask);
    goes_with("xxx.x.x", give_surplus);
    goes_with("...x.xx", give_leave);
    goes_with("..xxxxx", give_heard);
    goes_with("...xxxx", give_told);
    goes_with("....xxx", give_fin);
    goes_with(".....x.", give_parted);
}

int
main(void)
{
    RUN(test_each_state_is_followed_by_those_of_the_table_and_by_no_other);
    RUN(test_every_state_is_reached_and_ends_dead);
    RUN(test_what_goes_with_a_state_is_refused_in_the_others);
    return 0;
}
