/*
 * test_plat_contract.c: what plat.h promises about time, watching, notifiers and names, kept by
 * each of the three platforms.
 * Not here: streams (test_plat_streams.c); what only one does (test_posix.c, test_sim_*.c).
 * Law: one suite, many implementations.
 */
#include "plat_world.h"

static void
test_time_passes_and_randomness_fills_what_it_is_given(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    uint8_t bytes[64] = { 0 }, more[64] = { 0 };
    uint64_t before = p->now_ns(p->self), wall = p->wall_ns(p->self);
    mmi_event events[EVENTS_MAX];
    CHECK_INT(world_poll(&w, events, 1000000), 0);
    CHECK(p->now_ns(p->self) >= before + 1000000);
    CHECK(wall > 1600000000 * PLACE_SECOND_NS && p->wall_ns(p->self) > wall);
    p->random(p->self, bytes, sizeof bytes);
    p->random(p->self, more, sizeof more - 1);
    CHECK(memcmp(bytes, more, 32) != 0 && more[63] == 0);
    p->random(p->self, NULL, 0);
    world_close(&w);
}

static void
test_a_watch_is_level_triggered_and_says_the_tag_it_was_given_last(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    char buf[16];
    mmi_event events[EVENTS_MAX];
    CHECK_INT(plat_put(p, j.near_end, "x", 1), 1);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    world_watch(&w, j.far_end, MMI_WATCH_READ | MMI_WATCH_WRITE, TAG_OTHER);
    world_await(&w, TAG_OTHER, MMI_WATCH_READ | MMI_WATCH_WRITE);
    world_watch(&w, j.far_end, 0, TAG_OTHER);
    CHECK_INT(world_poll(&w, events, 1000000), 0);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    CHECK_INT(plat_get(p, j.far_end, buf, sizeof buf), 1);
    CHECK_INT(world_poll(&w, events, 1000000), 0);
    world_watch(&w, j.far_end, MMI_WATCH_WRITE, UINT64_MAX - 1);
    CHECK_INT(world_poll(&w, events, 1000000), 1);
    CHECK(events[0].tag == UINT64_MAX - 1);
    CHECK_INT(events[0].events, MMI_WATCH_WRITE);
    world_part(&w, &j);
    CHECK_INT(world_poll(&w, events, 1000000), 0);
    world_close(&w);
}

static void
test_poll_gives_no_more_events_than_there_is_room_for(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    int ends[6][2];
    mmi_event events[EVENTS_MAX];
    memset(events, 0xff, sizeof events);
    for (int i = 0; i < 6; i++) {
        CHECK_INT(p->pair(p->self, ends[i]), MM_OK);
        world_watch(&w, ends[i][0], MMI_WATCH_WRITE, (uint64_t)i + 1);
    }
    CHECK_INT(p->poll(p->self, events, 4, 0), 4);
    CHECK(events[4].tag == UINT64_MAX);
    CHECK_INT(p->poll(p->self, events, EVENTS_MAX, 0), 6);
    for (int i = 0; i < 6; i++) {
        p->close(p->self, ends[i][0]);
        p->close(p->self, ends[i][1]);
    }
    CHECK_INT(p->poll(p->self, events, EVENTS_MAX, 0), 0);
    world_close(&w);
}

static void
test_a_notifier_stays_rung_until_it_is_cleared(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    uint64_t now = p->now_ns(p->self);
    int n, other;
    CHECK_INT(p->notifier_open(p->self, &n), MM_OK);
    CHECK_INT(p->notifier_open(p->self, &other), MM_OK);
    CHECK(n != other);
    CHECK_INT(p->wait(p->self, n, now), MM_ETIMEDOUT);
    CHECK_INT(p->wait(p->self, n, now + 2000000), MM_ETIMEDOUT);
    CHECK(p->now_ns(p->self) >= now + 2000000);
    p->notifier_ring(p->self, n);
    p->notifier_ring(p->self, n);
    CHECK_INT(p->wait(p->self, n, 0), MM_OK);
    CHECK_INT(p->wait(p->self, n, UINT64_MAX), MM_OK);
    CHECK_INT(p->wait(p->self, other, 0), MM_ETIMEDOUT);
    p->notifier_clear(p->self, n);
    p->notifier_clear(p->self, n);
    CHECK_INT(p->wait(p->self, n, 0), MM_ETIMEDOUT);
    p->notifier_close(p->self, n);
    p->notifier_close(p->self, other);
    world_close(&w);
}

static void
test_a_number_is_resolved_at_once_and_a_name_by_an_event(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    mmi_addr found[MMI_ADDRS_MAX];
    char text[64];
    CHECK_INT(p->resolve(p->self, "127.0.0.1", 5, TAG_OTHER, found, MMI_ADDRS_MAX), 1);
    mmi_addr_format(&found[0], "tcp", text, sizeof text);
    CHECK(strcmp(text, "tcp://127.0.0.1:5") == 0);
    CHECK_INT(p->resolve_take(p->self, TAG_OTHER, found, MMI_ADDRS_MAX), MM_EAGAIN);
    CHECK_INT(p->resolve(p->self, "localhost", 6, TAG_OTHER, found, MMI_ADDRS_MAX), MM_EAGAIN);
    world_await(&w, TAG_OTHER, MMI_RESOLVED);
    int count = p->resolve_take(p->self, TAG_OTHER, found, MMI_ADDRS_MAX);
    CHECK(count >= 1 && found[0].port == 6 && mmi_addr_loopback(&found[0]));
    CHECK_INT(p->resolve_take(p->self, TAG_OTHER, found, MMI_ADDRS_MAX), MM_EAGAIN);
    CHECK(p->resolve_wait(p->self, "localhost", 8, found, MMI_ADDRS_MAX) >= 1);
    CHECK_INT(found[0].port, 8);
    CHECK_INT(p->resolve(p->self, "localhost", 6, TAG_FAR, found, MMI_ADDRS_MAX), MM_EAGAIN);
    p->resolve_forget(p->self, TAG_FAR);
    p->resolve_forget(p->self, TAG_FAR);
    CHECK_INT(p->resolve_take(p->self, TAG_FAR, found, MMI_ADDRS_MAX), MM_EAGAIN);
    world_close(&w);
}

int
main(void)
{
    static world_test *const tests[] = {
        test_time_passes_and_randomness_fills_what_it_is_given,
        test_a_watch_is_level_triggered_and_says_the_tag_it_was_given_last,
        test_poll_gives_no_more_events_than_there_is_room_for,
        test_a_notifier_stays_rung_until_it_is_cleared,
        test_a_number_is_resolved_at_once_and_a_name_by_an_event,
    };
    world_run(tests, MMI_COUNT_OF(tests));
    return 0;
}
