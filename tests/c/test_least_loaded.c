/*
 * test_least_loaded.c: a Push that sends to who has the fewest messages, and to nobody who is late
 * if it need not.
 * Not here: turns alone (test_push.c).
 * Law: who has room and the fewest gets the next one.
 */
#include "fake.h"
#include "queue/unacked.h"

static void
test_least_loaded_goes_to_who_has_the_fewest_and_in_turn_among_those(void)
{
    fake_sock *s = fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 4, MM_OPT_LEAST_LOADED);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
        CHECK_INT(fake_take_all(a) + fake_take_all(b) + fake_take_all(c), 1);
    }
    CHECK(a->pipe.accepted == 2 && b->pipe.accepted == 2 && c->pipe.accepted == 2);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(a->pipe.outbox.count == 2 && b->pipe.outbox.count == 2 && c->pipe.outbox.count == 2);
    CHECK_INT(fake_take_all(b), 2);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    CHECK_INT(b->pipe.outbox.count, 2);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(fake_send(s, "x"), MM_EAGAIN);
    mmi_msg_unref(fake_take(c));
    CHECK_INT(fake_send(s, "x"), MM_OK);
    CHECK_INT(c->pipe.outbox.count, 4);
    fake_close(s);
}

static void
test_least_loaded_counts_what_is_not_acknowledged(void)
{
    const uint32_t flags = MM_OPT_LEAST_LOADED | MM_OPT_AT_LEAST_ONCE;
    fake_sock *s = fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 100, flags);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    mmi_unacked *u = mmi_unacked_new(&a->pipe.outbox, NULL, 1);
    const mmi_ack credit = { .limit = 10 };
    uint64_t newly;
    a->pipe.unacked = u;
    CHECK_INT(mmi_unacked_ack(u, &credit, &newly), MM_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
        mmi_unacked_wrote(u, fake_text("w"));
    }
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(a->pipe.outbox.count == 0 && b->pipe.outbox.count == 3);
    for (int i = 0; i < 30; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(a->pipe.outbox.count, 7);   /* all its credit */
    CHECK_INT(b->pipe.outbox.count, 26);
    s->host.closing = true;
    a->pipe.unacked = NULL;
    mmi_unacked_free(u);
    fake_close(s);
}

/* Whoever is late gets nothing while another one is not, though that one has no room; if all are
 * late, all get theirs. */
static void
test_who_is_late_is_passed_over_while_one_is_timely(void)
{
    static const uint32_t flags[] = { 0, MM_OPT_LEAST_LOADED };
    for (size_t i = 0; i < MMI_COUNT_OF(flags); i++) {
        fake_sock *s = fake_open_with(MM_PUSH, MM_OVERFLOW_BLOCK, 2, flags[i]);
        fake_pipe *a = fake_connect(s), *b = fake_connect(s), *c = fake_connect(s);
        a->pipe.overdue = b->pipe.overdue = true;
        CHECK_INT(fake_send(s, "1"), MM_OK);
        CHECK_INT(fake_send(s, "2"), MM_OK);
        CHECK_INT(c->pipe.outbox.count, 2);
        CHECK_INT(fake_send(s, "3"), MM_EAGAIN);
        c->pipe.overdue = true;
        for (int k = 0; k < 4; k++) {
            CHECK_INT(fake_send(s, "4"), MM_OK);
        }
        CHECK(a->pipe.outbox.count == 2 && b->pipe.outbox.count == 2);
        CHECK_INT(fake_send(s, "5"), MM_EAGAIN);
        CHECK(fake_take_all(a) + fake_take_all(b) + fake_take_all(c) == 6);
        fake_close(s);
    }
}

int
main(void)
{
    RUN(test_least_loaded_goes_to_who_has_the_fewest_and_in_turn_among_those);
    RUN(test_least_loaded_counts_what_is_not_acknowledged);
    RUN(test_who_is_late_is_passed_over_while_one_is_timely);
    return 0;
}
