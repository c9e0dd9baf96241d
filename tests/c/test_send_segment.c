/*
 * test_send_segment.c: a segment of what a source has, sent to the only peer: whole or in parts,
 * and with the number of each of its messages wherever that goes.
 * Not here: what is acknowledged of it (test_unacked_numbered.c), who makes it (api/feed_form.c).
 */
#include "queue/backlog.h"

#include "fake.h"

enum { QUEUE = 100, FIRST = 40, COUNT = 10, TOLD = FIRST + 100 };

typedef struct source {
    int outcomes[TOLD];
} source;

static void
told(void *arg, uint64_t first, uint64_t count, int outcome)
{
    source *of = arg;
    for (uint64_t i = first; i < first + count; i++) {
        CHECK(i >= FIRST && i < TOLD && of->outcomes[i] == 0);
        of->outcomes[i] = outcome;
    }
}

static void
gone(void *arg)
{
    (void)arg;
}

static fake_sock *
begin(source *of, uint32_t overflow)
{
    fake_sock *s = fake_open_with(MM_PUSH, overflow, QUEUE, MM_OPT_AT_LEAST_ONCE);
    *of = (source){ { 0 } };
    s->host.back->receipts.source = (mmi_source){ .arg = of, .told = told, .gone = gone };
    s->host.back->framing = &mmi_framing_zmtp_counted; /* somebody acknowledged before */
    s->framing = &mmi_framing_zmtp_counted;
    s->segments = true;
    return s;
}

static mmi_segment_out *
segment(uint64_t first, uint32_t count)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    mmi_segment_out *segment = mmi_segment_out_new(f, MMI_SEGMENT_CAP);
    CHECK(segment != NULL);
    segment->msg.key = first;
    for (uint64_t i = first; i < first + count; i++) {
        size_t cost;
        mmi_msg *m = mmi_msg_copy((const uint8_t *)&i, sizeof i);
        m->origin = (mmi_origin){ .epoch = 3, .number = i, .attempt = 1 };
        f->put(f, m, segment->data + segment->used);
        segment->used += f->size(f, m, &cost);
        segment->msg.cost += cost;
        segment->msg.count++;
        mmi_msg_unref(m);
    }
    return segment;
}

static int
send(fake_sock *s, uint64_t first, uint32_t count)
{
    mmi_segment_out *one = segment(first, count);
    int rc = mmi_back_send_segment(s->host.back, one);
    if (rc != MM_OK) {
        CHECK(one->msg.count == count && one->msg.key == first && one->first == 0);
        mmi_msg_unref(&one->msg);
    }
    return rc;
}

/* Takes all that a peer has, by message or segment: numbers in a row from that one on; how many. */
static uint32_t
take_from(fake_pipe *p, uint64_t next)
{
    uint64_t first = next;
    mmi_msg *m;
    while ((m = fake_take(p)) != NULL) {
        const mmi_segment_out *segment = mmi_segment_out_of(m);
        CHECK_INT(m->key, next);
        if (segment == NULL) {
            CHECK(m->alone);
            CHECK_INT(m->origin.number, next);
        } else {
            mmi_msg *one = segment->framing->open(segment->framing, segment->data + segment->first);
            CHECK_INT(one->origin.number, next);
            mmi_msg_unref(one);
        }
        next += m->count;
        mmi_msg_unref(m);
    }
    return (uint32_t)(next - first);
}

static void
test_one_peer_has_it_whole(void)
{
    source of;
    fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
    CHECK_INT(send(s, FIRST, COUNT), MM_ENOTSUP); /* nobody is there */
    CHECK(mmi_back_segments(s->host.back) == NULL);
    fake_pipe *p = fake_connect(s);
    CHECK(mmi_back_segments(s->host.back) == &mmi_framing_zmtp_counted);
    CHECK_INT(send(s, FIRST, COUNT), MM_OK);
    CHECK_INT(p->pipe.outbox.slot_count, 1);
    CHECK_INT(p->pipe.outbox.count, COUNT);
    CHECK_INT(send(s, FIRST + COUNT, COUNT), MM_OK); /* the next numbers: it shares the block */
    CHECK_INT(p->pipe.outbox.slot_count, 1);
    CHECK_INT(send(s, FIRST + 5 * COUNT, COUNT), MM_OK); /* others do not */
    CHECK_INT(p->pipe.outbox.slot_count, 2);
    mmi_msg *m = fake_take(p);
    CHECK(m->key == FIRST && m->count == 2 * COUNT);
    mmi_msg_unref(m);
    CHECK_INT(take_from(p, FIRST + 5 * COUNT), COUNT);
    fake_close(s);
}

static void
test_what_takes_turns_or_may_be_dropped_goes_by_the_message(void)
{
    source of;
    fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
    (void)fake_connect(s);
    fake_pipe *second = fake_connect(s);
    CHECK_INT(send(s, FIRST, COUNT), MM_ENOTSUP);
    fake_cut(second);
    CHECK_INT(send(s, FIRST, COUNT), MM_OK);
    fake_close(s);
    s = begin(&of, MM_OVERFLOW_DROP_OLDEST);
    (void)fake_connect(s);
    CHECK_INT(send(s, FIRST, COUNT), MM_ENOTSUP);
    fake_close(s);
    s = begin(&of, MM_OVERFLOW_BLOCK);
    s->framing = &mmi_framing_zmtp; /* it does not acknowledge */
    (void)fake_connect(s);
    CHECK_INT(send(s, FIRST, COUNT), MM_ENOTSUP);
    fake_close(s);
}

static void
test_of_a_full_queue_the_rest_waits_with_its_numbers(void)
{
    source of;
    fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
    fake_pipe *p = fake_connect(s);
    p->pipe.outbox.count_max = 3; /* its credit */
    CHECK_INT(send(s, FIRST, COUNT), MM_OK);
    CHECK_INT(p->pipe.outbox.count, 3);
    uint64_t bytes, sent = FIRST + COUNT;
    CHECK_INT(mmi_back_count(s->host.back, &bytes), COUNT - 3);
    int rc = MM_OK;
    while ((rc = send(s, sent, COUNT)) == MM_OK) {
        sent += COUNT;
    }
    CHECK_INT(rc, MM_EAGAIN);
    CHECK(mmi_back_count(s->host.back, &bytes) <= QUEUE && sent > FIRST + QUEUE / 2);
    for (uint64_t next = FIRST; next < sent;) {
        uint32_t some = take_from(p, next);
        CHECK(some > 0);
        next += some;
        s->ops->out(s->state, &p->pipe);
    }
    fake_close(s);
}

static void
test_the_next_peer_has_the_numbers_also_on_another_wire(void)
{
    source of;
    const mmi_framing *wires[] = { &mmi_framing_zmtp_counted, &mmi_framing_zmtp,
                                   mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUSH)) };
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
        fake_pipe *p = fake_connect(s);
        CHECK_INT(send(s, FIRST, COUNT), MM_OK);
        fake_cut(p);
        s->framing = wires[i];
        p = fake_connect(s);
        CHECK_INT(take_from(p, FIRST), COUNT);
        fake_close(s);
    }
}

static void
test_what_is_left_at_the_end_is_its_sources(void)
{
    source of;
    fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
    fake_pipe *p = fake_connect(s);
    CHECK_INT(send(s, FIRST, COUNT), MM_OK);
    fake_cut(p);
    fake_close(s);
    for (uint64_t i = FIRST; i < FIRST + COUNT; i++) {
        CHECK_INT(of.outcomes[i], MM_RECEIPT_DROPPED); /* that is: it is not done */
    }
}

static void
test_without_memory_nothing_is_lost(void)
{
    source of;
    for (int64_t failing = 1; failing < 4; failing++) {
        fake_sock *s = begin(&of, MM_OVERFLOW_BLOCK);
        fake_pipe *p = fake_connect(s);
        mmi_segment_out *one = segment(FIRST, COUNT);
        mm_test_alloc_fail(failing);
        int rc = mmi_back_send_segment(s->host.back, one);
        mm_test_alloc_fail(0);
        if (rc != MM_OK) {
            CHECK_INT(rc, MM_ENOMEM);
            CHECK_INT(mmi_back_send_segment(s->host.back, one), MM_OK);
        }
        s->ops->out(s->state, &p->pipe);
        CHECK_INT(take_from(p, FIRST), COUNT);
        fake_close(s);
    }
}

int
main(void)
{
    RUN(test_one_peer_has_it_whole);
    RUN(test_what_takes_turns_or_may_be_dropped_goes_by_the_message);
    RUN(test_of_a_full_queue_the_rest_waits_with_its_numbers);
    RUN(test_the_next_peer_has_the_numbers_also_on_another_wire);
    RUN(test_what_is_left_at_the_end_is_its_sources);
    RUN(test_without_memory_nothing_is_lost);
    return 0;
}
