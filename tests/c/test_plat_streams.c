/*
 * test_plat_streams.c: what plat.h promises about streams and listeners, kept by each of the three
 * platforms.
 * Not here: watching, names, notifiers (test_plat_contract.c); what only one does (test_stream.c).
 * Law: one suite, many implementations.
 */
#include "plat_world.h"

static void
test_an_address_has_one_listener_and_is_free_when_it_closes(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    mmi_addr a = addr_tcp4(0), b = addr_tcp4(0);
    int first, second;
    CHECK_INT(p->listen(p->self, &a, &first), MM_OK);
    CHECK_INT(p->listen(p->self, &b, &second), MM_OK);
    CHECK(a.port != 0 && b.port != 0 && a.port != b.port);
    p->close(p->self, second);
    b = a;
    CHECK_INT(p->listen(p->self, &b, &second), MM_EADDRINUSE);
    p->close(p->self, first);
    CHECK_INT(p->listen(p->self, &b, &second), MM_OK);
    CHECK_INT(b.port, a.port);
    p->close(p->self, second);
    world_close(&w);
}

static void
test_connecting_where_nobody_listens_is_refused_now_or_soon(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    mmi_addr a = addr_tcp4(0);
    int s;
    CHECK_INT(p->listen(p->self, &a, &s), MM_OK);
    p->close(p->self, s);
    int rc = p->connect(p->self, &a, &s);
    if (rc == MM_EAGAIN) {
        world_watch(&w, s, MMI_WATCH_WRITE, TAG_NEAR);
        world_await(&w, TAG_NEAR, MMI_WATCH_WRITE);
        rc = p->connected(p->self, s);
        p->close(p->self, s);
    }
    CHECK_INT(rc, MM_ECONNREFUSED);
    world_close(&w);
}

static void
test_gathered_writes_are_read_in_order_whatever_the_pieces(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    char head[3], body[16] = "";
    mmi_iov out[] = { { "ab", 2 }, { "", 0 }, { "cdefg", 5 } };
    mmi_iov in[] = { { head, sizeof head }, { body, sizeof body } };
    CHECK_INT(p->readv(p->self, j.far_end, in, 2), MM_EAGAIN);
    CHECK_INT(p->writev(p->self, j.near_end, out, 3), 7);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(p->readv(p->self, j.far_end, in, 2), 7);
    CHECK(memcmp(head, "abc", 3) == 0 && memcmp(body, "defg", 5) == 0);
    CHECK_INT(p->readv(p->self, j.far_end, in, 2), MM_EAGAIN);
    CHECK_INT(plat_put(p, j.far_end, "back", 4), 4);
    world_watch(&w, j.near_end, MMI_WATCH_READ, TAG_NEAR);
    world_await(&w, TAG_NEAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.near_end, body, 1), 1);
    world_await(&w, TAG_NEAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.near_end, body + 1, 15), 3);
    CHECK(memcmp(body, "back", 4) == 0);
    world_part(&w, &j);
    world_close(&w);
}

static void
test_finish_ends_one_direction_after_what_was_written(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    char buf[16];
    CHECK_INT(plat_put(p, j.near_end, "last", 4), 4);
    p->finish(p->self, j.near_end);
    p->finish(p->self, j.near_end);
    CHECK_INT(plat_put(p, j.near_end, "x", 1), MM_ECONNRESET);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.far_end, buf, sizeof buf), 4);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.far_end, buf, sizeof buf), 0);
    CHECK_INT(plat_put(p, j.far_end, "still", 5), 5);
    world_watch(&w, j.near_end, MMI_WATCH_READ, TAG_NEAR);
    world_await(&w, TAG_NEAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.near_end, buf, sizeof buf), 5);
    world_part(&w, &j);
    world_close(&w);
}

static void
test_a_closed_peer_is_an_end_for_the_reader_and_a_reset_for_the_writer(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    char buf[16];
    p->close(p->self, j.near_end);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, j.far_end, buf, sizeof buf), 0);
    int64_t rc = plat_put(p, j.far_end, "x", 1);
    for (int tries = 0; rc > 0 && tries < 1000; tries++) {   /* TCP has to be told first */
        world_watch(&w, j.far_end, MMI_WATCH_WRITE, TAG_FAR);
        world_await(&w, TAG_FAR, MMI_WATCH_WRITE);
        rc = plat_put(p, j.far_end, "x", 1);
    }
    CHECK_INT(rc, MM_ECONNRESET);
    p->close(p->self, j.far_end);
    p->close(p->self, j.listener);
    world_close(&w);
}

static void
test_a_full_stream_says_again_until_the_peer_reads(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    static char block[65536];
    uint64_t written = 0, got = 0;
    int64_t rc;
    mmi_event events[EVENTS_MAX];
    world_watch(&w, j.near_end, MMI_WATCH_WRITE, TAG_NEAR);
    do {
        rc = plat_put(p, j.near_end, block, sizeof block);
        written += rc > 0 ? (uint64_t)rc : 0;
    } while (rc > 0 || world_poll(&w, events, 1000000) > 0);
    CHECK_INT(rc, MM_EAGAIN);
    CHECK(written > 0);
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    while (got < written) {
        world_await(&w, TAG_FAR, MMI_WATCH_READ);
        rc = plat_get(p, j.far_end, block, sizeof block);
        CHECK(rc > 0);
        got += (uint64_t)rc;
    }
    CHECK(got == written);
    world_await(&w, TAG_NEAR, MMI_WATCH_WRITE);
    CHECK_INT(plat_put(p, j.near_end, "x", 1), 1);
    world_part(&w, &j);
    world_close(&w);
}

/* Looks until nothing is held any more, for as long as world_await does. */
static void
await_taken(world *w, int s)
{
    mmi_transit t = { .untaken = 1 };
    mmi_event events[EVENTS_MAX];
    for (int looks = 0; looks < 10000 && t.untaken > 0; looks++) {
        (void)world_poll(w, events, 1000000);
        w->plat.transit(w->plat.self, s, 0, &t);
    }
    CHECK_INT(t.untaken, 0);
    CHECK(!t.owed);
}

static void
test_what_the_peer_has_taken_is_in_transit_no_more(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    joined j = world_join(&w);
    static char block[65536];
    mmi_event events[EVENTS_MAX];
    mmi_transit t;
    await_taken(&w, j.near_end);
    world_watch(&w, j.near_end, MMI_WATCH_WRITE, TAG_NEAR);
    while (plat_put(p, j.near_end, block, sizeof block) > 0 ||
           world_poll(&w, events, 1000000) > 0) {
    }
    p->transit(p->self, j.near_end, 1000, &t);
    CHECK(t.untaken > 0);
    CHECK(t.heard_ns < 60 * PLACE_SECOND_NS);
    uint64_t before = t.untaken;
    world_watch(&w, j.far_end, MMI_WATCH_READ, TAG_FAR);
    while (t.untaken >= before) {
        world_await(&w, TAG_FAR, MMI_WATCH_READ);
        CHECK(plat_get(p, j.far_end, block, sizeof block) > 0);
        p->transit(p->self, j.near_end, 1000, &t);
    }
    while (t.untaken > 0) {
        (void)plat_get(p, j.far_end, block, sizeof block);
        (void)world_poll(&w, events, 1000000);
        p->transit(p->self, j.near_end, 1000, &t);
    }
    await_taken(&w, j.near_end);
    world_part(&w, &j);
    world_close(&w);
}

static void
test_what_is_in_transit_to_an_end_of_this_machine_is_what_it_has_not_read(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    int ends[2];
    char buf[4];
    mmi_transit t;
    CHECK_INT(p->pair(p->self, ends), MM_OK);
    p->transit(p->self, ends[0], 0, &t);
    CHECK(t.untaken == 0 && !t.owed);
    CHECK_INT(plat_put(p, ends[0], "pq", 2), 2);
    p->transit(p->self, ends[0], 0, &t);
    CHECK(t.untaken == 2 && !t.owed);
    world_watch(&w, ends[1], MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, ends[1], buf, sizeof buf), 2);
    p->transit(p->self, ends[0], 0, &t);
    CHECK_INT(t.untaken, 0);
    p->close(p->self, ends[0]);
    p->close(p->self, ends[1]);
    world_close(&w);
}

static void
test_a_pair_is_joined_both_ways(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    int ends[2];
    char buf[4];
    CHECK_INT(p->pair(p->self, ends), MM_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(plat_put(p, ends[i], "pq", 2), 2);
        world_watch(&w, ends[1 - i], MMI_WATCH_READ, TAG_FAR);
        world_await(&w, TAG_FAR, MMI_WATCH_READ);
        CHECK_INT(plat_get(p, ends[1 - i], buf, sizeof buf), 2);
        world_watch(&w, ends[1 - i], 0, TAG_FAR);
    }
    p->close(p->self, ends[0]);
    world_watch(&w, ends[1], MMI_WATCH_READ, TAG_FAR);
    world_await(&w, TAG_FAR, MMI_WATCH_READ);
    CHECK_INT(plat_get(p, ends[1], buf, sizeof buf), 0);
    CHECK_INT(plat_put(p, ends[1], "x", 1), MM_ECONNRESET);
    p->close(p->self, ends[1]);
    world_close(&w);
}

static void
test_a_unix_path_is_an_address_like_any_other(const char *kind)
{
    world w = world_open(kind);
    const mmi_plat *p = &w.plat;
    char folder[PLACE_SIZE];
    place_open(folder);
    mmi_addr a = addr_unix(folder, "a"), b = addr_unix(folder, "b");
    int l, s, t;
    CHECK_INT(p->listen(p->self, &a, &l), MM_OK);
    CHECK_INT(p->listen(p->self, &a, &t), MM_EADDRINUSE);
    CHECK_INT(p->connect(p->self, &b, &s), MM_ECONNREFUSED);
    int rc = p->connect(p->self, &a, &s);
    CHECK(rc == MM_OK || rc == MM_EAGAIN);
    world_watch(&w, l, MMI_WATCH_READ, TAG_LISTENER);
    world_await(&w, TAG_LISTENER, MMI_WATCH_READ);
    CHECK_INT(p->accept(p->self, l, &t, &b), MM_OK);
    CHECK_INT(b.kind, MMI_ADDR_UNIX);
    world_watch(&w, s, MMI_WATCH_WRITE, TAG_NEAR);
    world_await(&w, TAG_NEAR, MMI_WATCH_WRITE);
    CHECK_INT(p->connected(p->self, s), MM_OK);
    p->close(p->self, s);
    p->close(p->self, t);
    p->close(p->self, l);
    place_close(folder);
    world_close(&w);
}

int
main(void)
{
    static world_test *const tests[] = {
        test_an_address_has_one_listener_and_is_free_when_it_closes,
        test_connecting_where_nobody_listens_is_refused_now_or_soon,
        test_gathered_writes_are_read_in_order_whatever_the_pieces,
        test_finish_ends_one_direction_after_what_was_written,
        test_a_closed_peer_is_an_end_for_the_reader_and_a_reset_for_the_writer,
        test_a_full_stream_says_again_until_the_peer_reads,
        test_what_the_peer_has_taken_is_in_transit_no_more,
        test_what_is_in_transit_to_an_end_of_this_machine_is_what_it_has_not_read,
        test_a_pair_is_joined_both_ways,
        test_a_unix_path_is_an_address_like_any_other,
    };
    world_run(tests, MMI_COUNT_OF(tests));
    return 0;
}
