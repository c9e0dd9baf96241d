/*
 * test_ended.c: the list of what closed sockets dropped, up to its limit, and what is beyond it.
 * Not here: when a socket drops what (tests/unit/test_dropped_after_close.py); the sockets have no
 * links.
 */
#include "check.h"
#include "socket/ended.h"

static mmi_engine engine;
static const mmi_proto_ops ops = { .is = { .number = MM_PUSH } };

static uint64_t
clock_wall_ns(void *self)
{
    (void)self;
    return 7;
}

static int rung;

static void
notifier_ring(void *self, int notifier)
{
    (void)self;
    rung += notifier == 3;
}

static void
begin(void)
{
    memset(&engine, 0, sizeof engine);
    engine.plat.wall_ns = clock_wall_ns;
    engine.plat.notifier_ring = notifier_ring;
    engine.events_notifier = 3;
    mmi_list_init(&engine.ended);
    rung = 0;
}

/* A socket that is closed with a peer, and drops so many messages as its linger is over. */
static void
drop(mm_handle handle, uint64_t messages)
{
    mmi_socket s = { .engine = &engine, .handle = handle, .ops = &ops, .peer_count = 1 };
    mmi_ended_begin(&s, "tcp://there");
    s.end.why = MMI_END_LINGER;
    mmi_ended_note(&s, messages, messages * 10);
    mmi_ended_tell(&s);
    mmi_ended_tell(&s); /* once is enough */
    mmi_free(s.end.endpoint);
}

static void
test_each_drop_is_listed_up_to_the_limit_and_counted_beyond_it(void)
{
    static const uint32_t sockets[] = { MMI_ENDED_MAX - 1, MMI_ENDED_MAX, MMI_ENDED_MAX + 1 };
    static mm_ended out[MMI_ENDED_MAX + 1];
    for (int i = 0; i < 3; i++) {
        begin();
        for (uint32_t j = 0; j < sockets[i]; j++) {
            drop(j + 1, 2);
        }
        uint32_t listed = sockets[i] < MMI_ENDED_MAX ? sockets[i] : MMI_ENDED_MAX;
        CHECK_INT(engine.abandoned_messages, 2 * sockets[i]);
        CHECK_INT(mmi_ended_take(&engine, out, 1), 1);
        CHECK_INT(out[0].socket, 1);
        CHECK_INT(out[0].role, MM_PUSH);
        CHECK(out[0].event.kind == MM_EVENT_DROPPED && out[0].event.count == 2);
        CHECK(strcmp(out[0].event.endpoint, "tcp://there") == 0);
        CHECK_INT(mmi_ended_take(&engine, out, MMI_ENDED_MAX + 1), listed - 1);
        CHECK_INT(engine.abandoned_messages, 2 * (sockets[i] - listed));
        CHECK_INT(mmi_ended_take_unlisted(&engine), 2 * (sockets[i] - listed));
        CHECK_INT(engine.abandoned_messages, 0);
        CHECK_INT(mmi_ended_pending(&engine), 0);
    }
}

static void
test_who_waits_is_rung_for_a_drop_and_for_the_end_of_the_last_that_lingers(void)
{
    mm_ended out;
    begin();
    drop(1, 0);
    CHECK_INT(rung, 0); /* nothing was dropped, and nobody waits for it */
    mmi_socket s = { .engine = &engine, .handle = 2, .ops = &ops, .peer_count = 1 };
    mmi_ended_begin(&s, NULL);
    CHECK_INT(mmi_ended_pending(&engine), 1);
    mmi_ended_tell(&s);
    CHECK_INT(rung, 1);
    CHECK_INT(mmi_ended_take(&engine, &out, 1), 0);
    CHECK_INT(mmi_ended_pending(&engine), 0);
    drop(3, 1);
    CHECK_INT(rung, 2);
    mmi_ended_fini(&engine); /* nobody took it */
    CHECK_INT(engine.abandoned_messages, 1);
}

int
main(void)
{
    RUN(test_each_drop_is_listed_up_to_the_limit_and_counted_beyond_it);
    RUN(test_who_waits_is_rung_for_a_drop_and_for_the_end_of_the_last_that_lingers);
    return 0;
}
