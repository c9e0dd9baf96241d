/*
 * test_memory.c: streams within the process: what is copied, what is lent, and until when; how much
 * a queue takes; what is left of one end when the other goes.
 * Not here: what they share with other streams (test_plat_streams.c); links over them
 * (test_engine_threads.c).
 * Law: every message lent is freed, and by its reader; nothing is left open.
 */
#include <pthread.h>

#include "places.h"
#include "plat/memory/end.h"
#include "plat/posix/posix.h"

enum { BODY = 20000, MANY = 3 * 1024, LARGE = 64 * 1024 * 1024 };

typedef struct rig {
    mmi_plat near_plat, far_plat;
    int ends[2];
} rig;

static rig
rig_open(void)
{
    rig r;
    CHECK_INT(mmi_plat_posix(false, &r.near_plat), MM_OK);
    CHECK_INT(mmi_plat_posix(true, &r.far_plat), MM_OK);
    CHECK_INT(r.near_plat.pair(r.near_plat.self, r.ends), MM_OK);
    CHECK_INT(r.far_plat.watch(r.far_plat.self, r.ends[1], MMI_WATCH_READ, 5), MM_OK);
    return r;
}

static void
rig_close(rig *r)
{
    r->near_plat.free(r->near_plat.self);
    r->far_plat.free(r->far_plat.self);
}

static mmi_msg *
message_of(size_t size, uint8_t first)
{
    uint64_t sizes[1] = { size };
    mmi_msg *m = mmi_msg_new(sizes, 1);
    CHECK(m != NULL);
    for (size_t i = 0; i < size; i += 512) {
        mmi_msg_data(m, 0)[i] = (uint8_t)(first + i / 512);
    }
    return m;
}

static int64_t
lend(const rig *r, mmi_msg *m, size_t from)
{
    mmi_iov iov = { .data = mmi_msg_data(m, 0) + from, .size = m->size - from };
    return r->near_plat.lend(r->near_plat.self, r->ends[0], &iov, &m, 1);
}

static void
test_copies_and_loans_are_one_stream(void)
{
    rig r = rig_open();
    mmi_msg *m = message_of(BODY, 3);
    static uint8_t buf[2 * BODY];
    CHECK_INT(plat_put(&r.near_plat, r.ends[0], "head", 4), 4);
    CHECK_INT(lend(&r, m, 0), BODY);
    CHECK_INT(plat_put(&r.near_plat, r.ends[0], "tail", 4), 4);
    CHECK_INT(atomic_load(&m->refs), 2);
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf, 4 + BODY - 1), 4 + BODY - 1);
    CHECK_INT(atomic_load(&m->refs), 2);   /* an octet of it is not read yet */
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf + 4 + BODY - 1, BODY), 5);
    CHECK_INT(atomic_load(&m->refs), 1);
    CHECK(memcmp(buf, "head", 4) == 0 && memcmp(buf + 4 + BODY, "tail", 4) == 0);
    CHECK(memcmp(buf + 4, mmi_msg_data(m, 0), BODY) == 0);
    mmi_msg_unref(m);
    rig_close(&r);
}

static mmi_segment_out *
segment_of(size_t size)
{
    mmi_segment_out *segment = mmi_segment_out_new(NULL, 2 * size);
    CHECK(segment != NULL);
    memset(segment->data, 7, 2 * size);
    segment->used = size;
    return segment;
}

static void
test_what_is_borrowed_lies_where_its_writer_put_it_until_it_is_spent(void)
{
    rig r = rig_open();
    const mmi_plat *p = &r.near_plat, *q = &r.far_plat;
    mmi_segment_out *segment = segment_of(BODY);
    mmi_msg *owner = &segment->msg;
    mmi_iov iov = { .data = segment->data, .size = BODY }, piece;
    CHECK_INT(q->borrow(q->self, r.ends[1], &piece), MM_EAGAIN);
    CHECK_INT(p->lend(p->self, r.ends[0], &iov, &owner, 1), BODY);
    CHECK_INT(q->borrow(q->self, r.ends[1], &piece), MM_OK);
    CHECK(piece.data == segment->data && piece.size == BODY);
    iov = (mmi_iov){ .data = segment->data + BODY, .size = BODY };
    CHECK_INT(p->lend(p->self, r.ends[0], &iov, &owner, 1), BODY);   /* put behind it meanwhile */
    q->consume(q->self, r.ends[1], BODY - 10);
    CHECK_INT(q->borrow(q->self, r.ends[1], &piece), MM_OK);
    CHECK(piece.data == segment->data + BODY - 10 && piece.size == BODY + 10);
    mmi_msg *m = message_of(BODY, 1);
    CHECK_INT(lend(&r, m, 0), BODY);
    CHECK_INT(q->borrow(q->self, r.ends[1], &piece), MM_ENOTSUP);   /* no run of messages next */
    mmi_msg_unref(m);
    CHECK_INT(atomic_load(&owner->refs), 2);
    q->close(q->self, r.ends[1]);
    CHECK_INT(atomic_load(&owner->refs), 1);
    mmi_msg_unref(owner);
    rig_close(&r);
}

static void
test_a_stalled_reader_bounds_octets_and_pieces(void)
{
    rig r = rig_open();
    const mmi_plat *p = &r.near_plat;
    mmi_msg *m = message_of(BODY, 0);
    uint64_t taken = 0;
    mmi_event event;
    while (lend(&r, m, 0) == BODY) {
        taken += BODY;
    }
    CHECK(taken >= MEMORY_BYTES_MAX && taken < MEMORY_BYTES_MAX + BODY);
    CHECK_INT(plat_put(p, r.ends[0], "x", 1), MM_EAGAIN);
    CHECK_INT(p->watch(p->self, r.ends[0], MMI_WATCH_WRITE, 9), MM_OK);
    CHECK_INT(p->poll(p->self, &event, 1, 0), 0);
    static uint8_t buf[MEMORY_BYTES_MAX + BODY];
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf, sizeof buf), (int64_t)taken);
    CHECK_INT(p->poll(p->self, &event, 1, UINT64_MAX), 1);
    CHECK(event.tag == 9 && event.events == MMI_WATCH_WRITE);
    mmi_msg *other = message_of(MEMORY_LEND_MIN, 0);
    int pieces = 0;
    while (lend(&r, pieces % 2 == 0 ? other : m, pieces % 2 == 0 ? 0 : m->size - other->size) > 0) {
        pieces++;
    }
    CHECK_INT(pieces, MEMORY_BYTES_MAX / MEMORY_LEND_MIN);   /* octets bound it, not pieces */
    CHECK(pieces < MEMORY_PIECES_MAX);
    mmi_msg_unref(m);
    mmi_msg_unref(other);
    rig_close(&r);
}

static void
test_a_message_larger_than_the_bound_goes_in_parts(void)
{
    rig r = rig_open();
    mmi_msg *m = message_of(LARGE, 11);
    static uint8_t buf[MEMORY_BYTES_MAX];
    size_t put = 0, got = 0;
    while (got < LARGE) {
        int64_t n = put < LARGE ? lend(&r, m, put) : 0;
        CHECK(n == MM_EAGAIN || (n >= 0 && n <= MEMORY_BYTES_MAX));
        put += n > 0 ? (size_t)n : 0;
        n = plat_get(&r.far_plat, r.ends[1], buf, sizeof buf);
        CHECK(n > 0 && memcmp(buf, mmi_msg_data(m, 0) + got, (size_t)n) == 0);
        got += (size_t)n;
    }
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf, sizeof buf), MM_EAGAIN);
    mmi_msg_unref(m);
    rig_close(&r);
}

static void
test_what_a_closed_end_has_written_is_read_before_the_end(void)
{
    rig r = rig_open();
    static uint8_t buf[2 * BODY];
    mmi_msg *m = message_of(BODY, 0);
    CHECK_INT(lend(&r, m, 0), BODY);
    r.near_plat.close(r.near_plat.self, r.ends[0]);
    CHECK_INT(atomic_load(&m->refs), 2);
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf, sizeof buf), BODY);
    CHECK_INT(plat_get(&r.far_plat, r.ends[1], buf, sizeof buf), 0);
    CHECK_INT(plat_put(&r.far_plat, r.ends[1], "x", 1), MM_ECONNRESET);
    CHECK_INT(atomic_load(&m->refs), 1);
    mmi_msg_unref(m);
    rig_close(&r);
}

static void
test_an_end_that_had_not_read_all_resets_the_other(void)
{
    rig r = rig_open();
    uint8_t buf[4];
    mmi_msg *m = message_of(BODY, 0);
    mmi_event event;
    CHECK_INT(lend(&r, m, 0), BODY);
    CHECK_INT(r.near_plat.watch(r.near_plat.self, r.ends[0], MMI_WATCH_READ, 4), MM_OK);
    r.far_plat.close(r.far_plat.self, r.ends[1]);
    CHECK_INT(atomic_load(&m->refs), 1);
    CHECK_INT(r.near_plat.poll(r.near_plat.self, &event, 1, UINT64_MAX), 1);
    CHECK((event.events & MMI_WATCH_HANGUP) != 0);
    CHECK_INT(plat_get(&r.near_plat, r.ends[0], buf, sizeof buf), MM_ECONNRESET);
    CHECK_INT(lend(&r, m, 0), MM_ECONNRESET);
    mmi_msg_unref(m);
    rig_close(&r);
}

static void *
writer(void *arg)
{
    const rig *r = arg;
    for (uint32_t i = 0; i < MANY; i++) {
        while (plat_put(&r->near_plat, r->ends[0], &i, sizeof i) < 0) {
        }
    }
    return NULL;
}

static void
test_a_poll_that_sleeps_is_woken_by_another_platforms_writer(void)
{
    rig r = rig_open();
    const mmi_plat *q = &r.far_plat;
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, writer, &r), 0);
    uint32_t next = 0;
    while (next < MANY) {
        mmi_event event;
        uint32_t number;
        if (q->poll(q->self, &event, 1, UINT64_MAX) == 1) {
            CHECK(event.tag == 5 && event.events == MMI_WATCH_READ);
            while (plat_get(q, r.ends[1], &number, sizeof number) > 0) {
                CHECK_INT(number, next);
                next++;
            }
        }
    }
    pthread_join(thread, NULL);
    rig_close(&r);
}

static void
test_ends_are_many_and_their_numbers_are_used_again(void)
{
    mmi_plat p;
    static int ends[MANY][2];
    CHECK_INT(mmi_plat_posix(false, &p), MM_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(p.pair(p.self, ends[i]), MM_OK);
        CHECK(mmi_memory_is(ends[i][0]) && mmi_memory_is(ends[i][1]));
    }
    int last = ends[MANY - 1][0];
    p.close(p.self, last);
    p.close(p.self, ends[MANY - 1][1]);
    CHECK_INT(p.pair(p.self, ends[MANY - 1]), MM_OK);
    CHECK(ends[MANY - 1][0] == last || ends[MANY - 1][1] == last);
    for (int i = 0; i < MANY; i++) {
        p.close(p.self, ends[i][1]);
    }
    p.free(p.self);   /* closes the other half */
}

static void
test_no_memory_opens_no_pair_and_takes_no_copy(void)
{
    rig r = rig_open();
    int ends[2];
    mm_test_alloc_fail(1);
    CHECK_INT(r.near_plat.pair(r.near_plat.self, ends), MM_ENOMEM);
    mm_test_alloc_fail(1);
    CHECK_INT(plat_put(&r.near_plat, r.ends[0], "x", 1), MM_EAGAIN);
    mm_test_alloc_fail(0);
    CHECK_INT(plat_put(&r.near_plat, r.ends[0], "x", 1), 1);
    rig_close(&r);
}

int
main(void)
{
    int before = fds_open();
    RUN(test_copies_and_loans_are_one_stream);
    RUN(test_what_is_borrowed_lies_where_its_writer_put_it_until_it_is_spent);
    RUN(test_a_stalled_reader_bounds_octets_and_pieces);
    RUN(test_a_message_larger_than_the_bound_goes_in_parts);
    RUN(test_what_a_closed_end_has_written_is_read_before_the_end);
    RUN(test_an_end_that_had_not_read_all_resets_the_other);
    RUN(test_a_poll_that_sleeps_is_woken_by_another_platforms_writer);
    RUN(test_ends_are_many_and_their_numbers_are_used_again);
    RUN(test_no_memory_opens_no_pair_and_takes_no_copy);
    fds_are(before);
    return 0;
}
