/*
 * test_backlog_retry.c: what waits and found no memory goes later by itself, though nothing else
 * happens: of each role that shares out, by turns and by keys.
 * Not here: what is refused for want of memory (test_push.c), whole sockets (tests/sim).
 */
#include "keyed.h"

enum { ALLOCATIONS = 8 };

/* Messages wait with nobody there, and somebody comes as the n-th allocation fails.  Did anything
 * have to be tried again? */
static bool
waits_and_goes(fake_sock *s, bool by_key, uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        mmi_msg *m = by_key ? keyed("k", "x") : fake_text("x");
        CHECK_INT(fake_send_msg(s, m), MM_OK);
    }
    mm_test_alloc_fail(n);
    fake_pipe *first = fake_connect(s);
    mm_test_alloc_fail(0);
    CHECK(first != NULL);
    bool again = first->pipe.outbox.count < 3;
    if (again) {
        fake_tick(s);
    }
    CHECK_INT(fake_take_all(first), 3);
    CHECK_INT(s->due_ns, 0);
    fake_close(s);
    return again;
}

static void
test_by_turns(void)
{
    static const int roles[] = { MM_PUSH, MM_DEALER, MM_PAIR };
    for (size_t i = 0; i < MMI_COUNT_OF(roles); i++) {
        uint32_t again = 0;
        for (uint64_t n = 1; n <= ALLOCATIONS; n++) {
            fake_sock *s = fake_open(roles[i], MM_OVERFLOW_BLOCK, 100);
            s->opts.flags |= MM_OPT_AT_LEAST_ONCE;   /* so that what finds nobody waits */
            s->opts.max_attempts = 0;
            again += waits_and_goes(s, false, n);
        }
        CHECK(again > 0);
    }
}

static void
test_by_keys(void)
{
    for (uint64_t n = 1; n <= ALLOCATIONS; n++) {   /* who comes is looked at twice, at once */
        fake_sock *s = open_hash(MM_OVERFLOW_BLOCK, 100, MM_OPT_AT_LEAST_ONCE);
        CHECK(!waits_and_goes(s, true, n));
    }
}

int
main(void)
{
    RUN(test_by_turns);
    RUN(test_by_keys);
    return 0;
}
