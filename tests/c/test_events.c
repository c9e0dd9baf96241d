/*
 * test_events.c: the ring of what happened to a socket's connections, and how drops are told.
 * Not here: who causes them; the socket is one without links, its clock the test's.
 * Law: reading takes nothing away; what is missing is visible as a gap, and counted.
 */
#include "check.h"
#include "link/link.h"

enum { FULL = MMI_SOCKET_EVENTS_MAX };

static const uint64_t SECOND_NS = 1000000000, MS_NS = 1000000;
static mmi_engine engine;
static uint64_t wall_ns;

static uint64_t
clock_wall_ns(void *self)
{
    (void)self;
    return wall_ns;
}

static mmi_socket *
open_socket(void)
{
    mmi_socket *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    engine.plat.wall_ns = clock_wall_ns;
    engine.now_ns = 50 * SECOND_NS;
    engine.events_notifier = -1;
    mmi_list_init(&engine.told);
    mmi_list_init(&s->told);
    s->engine = &engine;
    return s;
}

static void
close_socket(mmi_socket *s)
{
    mmi_timer_clear(&engine.timers, &s->drops_timer);
    mmi_timers_fini(&engine.timers);
    mmi_free(s->events);
    free(s);
}

static int rung, cleared, closed;

static int
notifier_open(void *self, int *notifier)
{
    (void)self;
    *notifier = 7;
    return MM_OK;
}

static void
notifier_ring(void *self, int notifier)
{
    (void)self;
    rung += notifier == 7;
}

static void
notifier_clear(void *self, int notifier)
{
    (void)self;
    cleared += notifier == 7;
}

static void
notifier_close(void *self, int notifier)
{
    (void)self;
    closed += notifier == 7;
}

/* An event that can be told from all others: its count is its number. */
static void
happen(mmi_socket *s, uint64_t number)
{
    wall_ns = number * 10;
    mmi_socket_event(s, MM_EVENT_PEER_UP, MM_REASON_NONE, number + 1000, number, "here", NULL,
                     "there");
}

/* Reads all from a number on, in pieces, and checks each; how many there were. */
static int
read_from(mmi_socket *s, uint64_t from, uint32_t piece, uint64_t *first)
{
    mm_event out[FULL + 1];
    uint64_t next = from, last = 0;
    int total = 0;
    for (;;) {
        uint32_t count = mmi_socket_events(s, next, out, piece, &next);
        CHECK(count <= piece);
        for (uint32_t i = 0; i < count; i++) {
            CHECK(out[i].seq > last && out[i].seq >= from && out[i].seq < next);
            CHECK(out[i].count == out[i].seq && out[i].peer == out[i].seq + 1000);
            CHECK(out[i].time_ns == out[i].seq * 10 && strcmp(out[i].detail, "there") == 0);
            *first = total == 0 ? out[i].seq : *first;
            last = out[i].seq;
            total++;
        }
        if (count == 0) {
            CHECK(next == s->event_seq + 1 || next == from);
            return total;
        }
    }
}

static void
test_nothing_has_happened_yet(void)
{
    mmi_socket *s = open_socket();
    mm_event out[1];
    uint64_t next = 77;
    CHECK_INT(mmi_socket_events(s, 0, out, 1, &next), 0);
    CHECK_INT(next, 1);
    CHECK_INT(mmi_socket_events(s, 1, out, 1, &next), 0);
    CHECK_INT(next, 1);
    CHECK_INT(mmi_socket_events(s, 99, out, 1, &next), 0);
    CHECK_INT(next, 99);
    close_socket(s);
}

static void
test_events_are_numbered_and_read_in_pieces_as_often_as_one_likes(void)
{
    mmi_socket *s = open_socket();
    uint64_t first = 0;
    for (uint64_t number = 1; number <= FULL; number++) {
        happen(s, number);
        CHECK_INT(s->event_seq, number);
        if (number == 1 || number == 15 || number == 16 || number == 17 || number == FULL) {
            CHECK_INT(read_from(s, 1, 7, &first), number);
            CHECK_INT(first, 1);
        }
    }
    CHECK_INT(read_from(s, 0, FULL, &first), FULL);
    CHECK_INT(read_from(s, 100, 1, &first), FULL - 99);
    CHECK_INT(first, 100);
    CHECK_INT(s->stats.events_lost, 0);
    close_socket(s);
}

static void
test_the_oldest_fall_out_and_are_counted(void)
{
    mmi_socket *s = open_socket();
    uint64_t first = 0;
    for (uint64_t number = 1; number <= 3 * FULL + 5; number++) {
        happen(s, number);
    }
    CHECK_INT(read_from(s, 1, 50, &first), FULL);
    CHECK_INT(first, 2 * FULL + 6);
    CHECK_INT(s->stats.events_lost, 2 * FULL + 5);
    CHECK_INT(s->event_cap, FULL);
    close_socket(s);
}

/* Whenever memory fails, what is read is true, in order, and with what was lost makes up all. */
static void
test_no_memory_loses_events_and_never_makes_any_up(void)
{
    static const uint64_t failing[][2] = {
        { 1, 1 },   { 1, 5 },     { 17, 17 },   { 17, 20 },
        { 33, 60 }, { 129, 129 }, { 129, 700 }, { 1, 700 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(failing); i++) {
        mmi_socket *s = open_socket();
        for (uint64_t number = 1; number <= 600; number++) {
            bool fails = number >= failing[i][0] && number <= failing[i][1];
            mm_test_alloc_fail(fails ? 1 : 0);
            happen(s, number);
            mm_test_alloc_fail(0);
            uint64_t first = 0;
            if (number < 80 || number % 50 == 0) {
                int got = read_from(s, 1, 16, &first);
                CHECK_INT((uint64_t)got + s->stats.events_lost, number);
            }
        }
        close_socket(s);
    }
}

/* How often it happened, if it is told now. */
static uint64_t
repeats(mmi_socket *s, int reason, const char *address, const char *detail)
{
    uint64_t count = mmi_socket_event_repeats(s, reason, "tcp://a:1", address, detail);
    if (count > 0) {
        mmi_socket_event(s, MM_EVENT_HANDSHAKE_FAILED, reason, 0, count, "tcp://a:1", address,
                         detail);
    }
    return count;
}

static void
test_what_repeats_is_told_once_in_a_while_with_how_often(void)
{
    mmi_socket *s = open_socket();
    char address[64];
    for (int i = 0; i < 60; i++) {
        snprintf(address, sizeof address, "tcp://10.0.0.1:%d", 4000 + i);
        CHECK_INT(repeats(s, MM_REASON_FEATURE, address, "no"), i == 0);
    }
    engine.now_ns += MMI_EVENT_REPEATS_MS * MS_NS - 1;
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.1:9", "no"), 0);
    engine.now_ns++;
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.1:9", "no"), 61);
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.1:8", "no"), 0);
    engine.now_ns += MMI_EVENT_REPEATS_MS * MS_NS;
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.1:8", "no"), 2);
    CHECK_INT(s->event_seq, 3);
    close_socket(s);
}

static void
test_what_differs_is_no_repetition(void)
{
    static const char *const addresses[] = { "tcp://10.0.0.1:1", "tcp://10.0.0.11:1",
                                             "tcp://[::1]:1",    "tcp://[::1%lo]:1",
                                             "ipc:///a",         "ipc:///a:b" };
    mmi_socket *s = open_socket();
    for (size_t i = 0; i < MMI_COUNT_OF(addresses); i++) {
        CHECK_INT(repeats(s, MM_REASON_FEATURE, addresses[i], "no"), 1);
    }
    CHECK_INT(repeats(s, MM_REASON_FEATURE, addresses[0], "not that"), 1);
    CHECK_INT(repeats(s, MM_REASON_ROLE_REFUSED, addresses[0], "no"), 1);
    for (size_t i = 0; i < MMI_COUNT_OF(addresses); i++) {
        CHECK_INT(repeats(s, MM_REASON_FEATURE, addresses[i], "no"), 0);
    }
    close_socket(s);
}

static void
test_what_is_not_remembered_is_told_at_once(void)
{
    mmi_socket *s = open_socket();
    char address[64];
    for (int i = 0; i <= MMI_SOCKET_REPEATS_MAX; i++, engine.now_ns++) {
        snprintf(address, sizeof address, "tcp://10.0.0.%d:1", i);
        CHECK_INT(repeats(s, MM_REASON_FEATURE, address, "no"), 1);
    }
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.1:1", "no"), 0);
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.0:1", "no"), 1);
    for (uint64_t number = 0; number < FULL; number++) {   /* its event falls out */
        happen(s, number);
    }
    CHECK_INT(repeats(s, MM_REASON_FEATURE, "tcp://10.0.0.0:1", "no"), 1);
    close_socket(s);
}

static void
test_long_texts_are_cut_and_missing_ones_are_empty(void)
{
    mmi_socket *s = open_socket();
    char text[400];
    mm_event out[2];
    uint64_t next;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    mmi_socket_event(s, MM_EVENT_PEER_DOWN, MM_REASON_EOF, 1, 1, text, text, text);
    mmi_socket_event(s, MM_EVENT_PEER_DOWN, MM_REASON_EOF, 1, 1, NULL, NULL, NULL);
    CHECK_INT(mmi_socket_events(s, 1, out, 2, &next), 2);
    CHECK_INT(strlen(out[0].endpoint), MM_ENDPOINT_MAX);
    CHECK_INT(strlen(out[0].detail), sizeof out[0].detail - 1);
    CHECK(out[0].kind == MM_EVENT_PEER_DOWN && out[0].reason == MM_REASON_EOF);
    CHECK(out[1].endpoint[0] == '\0' && out[1].detail[0] == '\0');
    close_socket(s);
}

static void
drop(mmi_socket *s, uint64_t peer, uint64_t count)
{
    mmi_proto_event(&s->host, MM_EVENT_DROPPED, MM_REASON_NONE, peer, count, "full");
}

static void
test_the_first_drop_is_told_at_once_and_then_one_event_a_second(void)
{
    mmi_socket *s = open_socket();
    mm_event out[8];
    uint64_t next;
    drop(s, 7, 3);
    CHECK_INT(mmi_socket_events(s, 1, out, 8, &next), 1);
    CHECK(out[0].kind == MM_EVENT_DROPPED && out[0].count == 3 && out[0].peer == 7);
    for (int i = 0; i < 1000; i++) {
        engine.now_ns += SECOND_NS / 2000;
        drop(s, 8, 2);
    }
    CHECK_INT(s->event_seq, 1);
    CHECK(s->drops_timer.index != 0);
    CHECK(mmi_timers_next(&engine.timers) == 51 * SECOND_NS);
    CHECK(mmi_timers_pop_due(&engine.timers, 51 * SECOND_NS) == &s->drops_timer);
    engine.now_ns = 51 * SECOND_NS;
    mmi_socket_tell_drops(s);   /* as the engine does when the timer is due */
    CHECK_INT(mmi_socket_events(s, 2, out, 8, &next), 1);
    CHECK(out[0].count == 2000 && out[0].peer == 8);
    mmi_socket_tell_drops(s);
    CHECK_INT(s->event_seq, 2);   /* none since: nothing to tell */
    engine.now_ns += SECOND_NS;
    drop(s, 9, 1);
    CHECK_INT(s->event_seq, 3);
    close_socket(s);
}

static void
test_each_cause_of_drops_is_told_for_itself(void)
{
    static const char *const whys[MMI_SOCKET_DROPS_MAX + 1] = { "a", "b", "c", "d", "e" };
    mmi_socket *s = open_socket();
    mm_event out[8];
    uint64_t next;
    drop(s, 1, 1);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < MMI_SOCKET_DROPS_MAX; i++) {
            mmi_proto_event(&s->host, MM_EVENT_DROPPED, MM_REASON_NONE, round, i + 1, whys[i]);
        }
    }
    CHECK_INT(s->event_seq, 1);
    mmi_proto_event(&s->host, MM_EVENT_DROPPED, MM_REASON_NONE, 5, 9, whys[MMI_SOCKET_DROPS_MAX]);
    CHECK_INT(mmi_socket_events(s, 2, out, 8, &next), MMI_SOCKET_DROPS_MAX); /* no place: told */
    for (size_t i = 0; i < MMI_SOCKET_DROPS_MAX; i++) {
        CHECK(strcmp(out[i].detail, whys[i]) == 0 && out[i].count == 2 * (i + 1));
        CHECK(out[i].peer == 1);
    }
    mmi_socket_tell_drops(s);
    CHECK_INT(mmi_socket_events(s, next, out, 8, &next), 1);
    CHECK(strcmp(out[0].detail, "e") == 0 && out[0].count == 9);
    close_socket(s);
}

static void
test_without_memory_for_the_timer_drops_are_told_at_once(void)
{
    mmi_socket *s = open_socket();
    drop(s, 1, 1);
    mm_test_alloc_fail(1);
    drop(s, 1, 5);
    mm_test_alloc_fail(0);
    CHECK_INT(s->event_seq, 2);
    CHECK_INT(s->drops[0].count, 0);
    CHECK(s->drops_timer.index == 0);
    close_socket(s);
}

static void
test_other_events_of_a_role_are_told_as_they_come(void)
{
    mmi_socket *s = open_socket();
    mm_event out[4];
    uint64_t next;
    for (uint64_t i = 1; i <= 3; i++) {
        mmi_proto_event(&s->host, MM_EVENT_LATE_REPLY, MM_REASON_NONE, i, 1, "late");
    }
    CHECK_INT(mmi_socket_events(s, 1, out, 4, &next), 3);
    CHECK(out[2].kind == MM_EVENT_LATE_REPLY && out[2].peer == 3);
    CHECK(strcmp(out[2].detail, "late") == 0);
    close_socket(s);
}

static void
test_who_is_told_of_events_is_rung_once_until_it_asks(void)
{
    mmi_socket *s = open_socket(), *other = open_socket();
    mm_handle out[2];
    int fd;
    s->handle = 11;
    other->handle = 12;
    engine.plat.notifier_open = notifier_open;
    engine.plat.notifier_ring = notifier_ring;
    engine.plat.notifier_clear = notifier_clear;
    engine.plat.notifier_close = notifier_close;
    happen(s, 1); /* nobody wants to know yet */
    CHECK_INT(mmi_events_open(&engine, &fd), MM_OK);
    CHECK_INT(mmi_events_open(&engine, &fd), MM_ESTATE);
    happen(s, 2);
    happen(s, 3);
    happen(other, 1);
    CHECK_INT(rung, 1);
    CHECK_INT(mmi_events_take(&engine, out, 1), 1);
    CHECK_INT(out[0], 11);
    CHECK_INT(cleared, 0); /* there is more */
    CHECK_INT(mmi_events_take(&engine, out, 2), 1);
    CHECK_INT(out[0], 12);
    CHECK_INT(cleared, 1);
    CHECK_INT(mmi_events_take(&engine, out, 2), 0);
    happen(s, 4);
    CHECK_INT(rung, 2);
    s->closing = true;
    mmi_events_close(&engine);
    CHECK_INT(closed, 1);
    CHECK_INT(rung, 3); /* who watches a copy is told of the end */
    happen(other, 2);
    CHECK_INT(rung, 3);
    close_socket(other);
    close_socket(s);
}

int
main(void)
{
    RUN(test_nothing_has_happened_yet);
    RUN(test_events_are_numbered_and_read_in_pieces_as_often_as_one_likes);
    RUN(test_the_oldest_fall_out_and_are_counted);
    RUN(test_no_memory_loses_events_and_never_makes_any_up);
    RUN(test_what_repeats_is_told_once_in_a_while_with_how_often);
    RUN(test_what_differs_is_no_repetition);
    RUN(test_what_is_not_remembered_is_told_at_once);
    RUN(test_long_texts_are_cut_and_missing_ones_are_empty);
    RUN(test_the_first_drop_is_told_at_once_and_then_one_event_a_second);
    RUN(test_each_cause_of_drops_is_told_for_itself);
    RUN(test_without_memory_for_the_timer_drops_are_told_at_once);
    RUN(test_other_events_of_a_role_are_told_as_they_come);
    RUN(test_who_is_told_of_events_is_rung_once_until_it_asks);
    return 0;
}
