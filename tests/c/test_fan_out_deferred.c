/*
 * test_fan_out_deferred.c: deferred fan-out: a publisher only counts what goes where the last
 * message went, and the queues get it before anybody looks.
 * Not here: how queues share octets (test_fan_out.c), when the engine looks (tests/unit).
 * Law: once they have caught up, queues, counters and refusals are those of a publisher whose
 * fan-out is never deferred.
 */
#include "fake.h"

enum { PEERS_MAX = 5, STEPS = 700, SEEDS = 60, QUEUE = 12, QUEUE_BYTES = 700, TEXT_MAX = 64 };

static fake_sock *
deferred_open(uint32_t overflow, uint32_t slack)
{
    fake_sock *s = fake_open(MM_PUB, overflow, QUEUE);
    s->framing = &mmi_framing_zmtp;
    s->segments = true;
    s->slack = slack;
    return s;
}

static void
deferred_tell(fake_pipe *p, bool add, const char *topic)
{
    CHECK_INT(p->sock->ops->subscription(p->sock->state, &p->pipe, add, (const uint8_t *)topic,
                                         strlen(topic)),
              MM_OK);
}

static fake_pipe *
deferred_connect(fake_sock *s, const char *topic)
{
    fake_pipe *p = fake_connect(s);
    deferred_tell(p, true, topic);
    return p;
}

static void
test_queues_get_what_was_counted_when_they_materialize(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, ""), *b = deferred_connect(s, "");
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(s->deferred && a->pipe.outbox.count == 1 && a->wrote_count == 1);
    fake_materialize(s);
    CHECK(a->pipe.outbox.count == 5 && b->pipe.outbox.count == 5);
    CHECK(a->wrote_count == 2 && a->pipe.accepted == 5);
    CHECK_INT(a->pipe.outbox.slot_count, 1);   /* the view it had has become longer */
    fake_close(s);
}

static void
test_the_queue_of_a_lone_subscriber_is_deferred_as_any(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, "");
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK(s->deferred && a->pipe.outbox.count == 1 && a->wrote_count == 1);
    fake_materialize(s);
    CHECK(a->pipe.outbox.count == 5 && a->wrote_count == 2);
    fake_close(s);
}

static void
test_what_was_written_meanwhile_does_not_come_twice(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, ""), *b = deferred_connect(s, "");
    CHECK(fake_send(s, "1") == MM_OK && fake_send(s, "2") == MM_OK && s->deferred);
    mmi_msg *written = fake_take_deferred(a);
    CHECK_INT(written->count, 1);
    mmi_msg_unref(written);
    CHECK_INT(fake_send(s, "3"), MM_OK);
    fake_materialize(s);
    CHECK(a->pipe.outbox.count == 2 && b->pipe.outbox.count == 3);
    fake_close(s);
}

static void
test_a_publisher_that_has_written_all_keeps_no_segment(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, "");
    CHECK(fake_send(s, "1") == MM_OK && fake_send(s, "2") == MM_OK);
    mmi_msg_unref(fake_take_deferred(a));
    s->ops->out(s->state, &a->pipe);   /* the second is in the shared segment alone */
    mmi_segment_out *other = mmi_segment_out_new(s->framing, MMI_SEGMENT_CAP);
    fake_materialize(s);
    const mmi_segment_out *view = mmi_segment_out_of(mmi_ring_at(&a->pipe.outbox, 0));
    CHECK(view->first > 0 && view->owner != &other->msg);
    mmi_msg_unref(fake_take_deferred(a));
    s->ops->out(s->state, &a->pipe);
    CHECK_INT(fake_send(s, "3"), MM_OK);
    CHECK_INT(mmi_segment_out_of(mmi_ring_at(&a->pipe.outbox, 0))->first, 0);   /* a new one */
    mmi_msg_unref(&other->msg);
    fake_close(s);
}

static void
test_no_queue_is_deferred_beyond_its_room(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, ""), *b = deferred_connect(s, "");
    for (int i = 0; i < QUEUE; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(fake_send(s, "y"), MM_EAGAIN);
    CHECK(a->pipe.outbox.count == QUEUE && b->pipe.outbox.count == QUEUE);
    fake_close(s);
}

static void
test_a_queue_is_deferred_only_as_far_as_its_link_lets_it(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, 3);
    fake_pipe *a = deferred_connect(s, "");
    (void)deferred_connect(s, "");
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(a->wrote_count, 1);
    CHECK_INT(fake_send(s, "x"), MM_OK);
    CHECK(a->wrote_count == 3 && a->pipe.outbox.count == 5);
    fake_close(s);
}

static void
test_no_memory_to_materialize_is_a_loss_that_is_counted(void)
{
    fake_sock *s = deferred_open(MM_OVERFLOW_BLOCK, UINT32_MAX);
    fake_pipe *a = deferred_connect(s, ""), *b = deferred_connect(s, "");
    CHECK(fake_send(s, "1") == MM_OK && fake_send(s, "2") == MM_OK && fake_send(s, "3") == MM_OK);
    mmi_msg_unref(fake_take_deferred(a));   /* so it needs a new view */
    mm_test_alloc_fail(1);
    fake_materialize(s);
    mm_test_alloc_fail(0);
    CHECK(a->pipe.outbox.count == 0 && a->pipe.dropped == 2);
    CHECK_INT(b->pipe.outbox.count, 3);
    CHECK_INT(s->stats.dropped_overflow, 2);
    fake_close(s);
}

/* ---- against a publisher that never defers ---- */

typedef struct deferred_pair {
    fake_sock *sock[2];                /* the second may defer */
    fake_pipe *pipe[2][PEERS_MAX];
    uint32_t seed;
} deferred_pair;

static uint32_t
deferred_pick(deferred_pair *both, uint32_t below)
{
    return check_random(&both->seed) % below;
}

static const char *
deferred_topic(deferred_pair *both)
{
    const char *topics[] = { "", "a", "ab", "b", "abc" };
    return topics[deferred_pick(both, MMI_COUNT_OF(topics))];
}

/* The messages of a queue, in order, as text. */
static void
deferred_text(const fake_pipe *p, char *text, size_t room)
{
    size_t used = 0, cost;
    const mmi_framing *f = p->pipe.framing;
    for (uint32_t i = 0; i < p->pipe.outbox.slot_count; i++) {
        const mmi_segment_out *segment = mmi_segment_out_of(mmi_ring_at(&p->pipe.outbox, i));
        for (size_t at = segment->first; at < segment->used;
             at += f->next(f, segment->data + at, &cost)) {
            mmi_msg *m = f->open(f, segment->data + at);
            CHECK(m != NULL && used + m->size + 2 < room);
            memcpy(text + used, m->frames[0].data, m->size);
            used += m->size;
            text[used++] = ' ';
            mmi_msg_unref(m);
        }
    }
    text[used] = '\0';
}

static void
deferred_compare(const deferred_pair *both)
{
    fake_materialize(both->sock[1]);
    for (int i = 0; i < PEERS_MAX; i++) {
        const fake_pipe *one = both->pipe[0][i], *other = both->pipe[1][i];
        char text[2][QUEUE * TEXT_MAX];
        if (one == NULL) {
            continue;
        }
        mmi_pipe_invariants(&other->pipe);
        CHECK_INT(other->pipe.outbox.count, one->pipe.outbox.count);
        CHECK_INT(other->pipe.outbox.bytes, one->pipe.outbox.bytes);
        CHECK(other->pipe.accepted == one->pipe.accepted &&
              other->pipe.dropped == one->pipe.dropped);
        deferred_text(one, text[0], sizeof text[0]);
        deferred_text(other, text[1], sizeof text[1]);
        CHECK(strcmp(text[0], text[1]) == 0);
    }
    CHECK_INT(fake_dropped(both->sock[1]), fake_dropped(both->sock[0]));
}

static void
deferred_send(deferred_pair *both, int step)
{
    char body[TEXT_MAX];
    snprintf(body, sizeof body, "%s.%d", deferred_topic(both), step);
    int rc = fake_send(both->sock[0], body);
    CHECK_INT(fake_send(both->sock[1], body), rc);
}

/* One peer comes or goes, or wants more or less. */
static void
deferred_change(deferred_pair *both)
{
    uint32_t i = deferred_pick(both, PEERS_MAX), what = deferred_pick(both, 4);
    const char *topic = deferred_topic(both);
    for (int k = 0; k < 2; k++) {
        if (both->pipe[k][i] == NULL) {
            both->pipe[k][i] = deferred_connect(both->sock[k], topic);
        } else if (what == 0) {
            fake_cut(both->pipe[k][i]);
            both->pipe[k][i] = NULL;
        } else {
            deferred_tell(both->pipe[k][i], what == 1, topic);
        }
    }
}

/* The same messages leave both queues: all that is there; of the one that defers maybe later. */
static void
deferred_write(deferred_pair *both)
{
    uint32_t i = deferred_pick(both, PEERS_MAX);
    if (both->pipe[0][i] == NULL) {
        return;
    }
    if (deferred_pick(both, 2) == 0) {
        mmi_msg_unref(fake_take_deferred(both->pipe[1][i]));
        fake_materialize(both->sock[1]);
    }
    (void)fake_take_all(both->pipe[0][i]);
    (void)fake_take_all(both->pipe[1][i]);
}

static void
deferred_run(uint32_t seed, uint32_t overflow)
{
    deferred_pair both = { .seed = seed };
    both.sock[0] = deferred_open(overflow, 0);
    both.sock[1] = deferred_open(overflow, seed % 3 == 0 ? 4 : UINT32_MAX);
    for (int k = 0; k < 2 && seed % 2 == 0; k++) {
        both.sock[k]->opts.send_queue_bytes = QUEUE_BYTES;
    }
    for (int step = 0; step < STEPS; step++) {
        uint32_t what = deferred_pick(&both, 40);
        if (what < 30) {
            deferred_send(&both, step);
        } else if (what < 33) {
            deferred_change(&both);
        } else if (what < 38) {
            deferred_write(&both);
        } else {
            deferred_compare(&both);
        }
    }
    deferred_compare(&both);
    fake_close(both.sock[0]);
    fake_close(both.sock[1]);
}

static void
test_nobody_can_tell_that_queues_lagged(void)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        deferred_run(seed, MM_OVERFLOW_BLOCK);
        deferred_run(seed, MM_OVERFLOW_DROP_NEWEST);
        deferred_run(seed, MM_OVERFLOW_ERROR);
    }
}

int
main(void)
{
    RUN(test_queues_get_what_was_counted_when_they_materialize);
    RUN(test_the_queue_of_a_lone_subscriber_is_deferred_as_any);
    RUN(test_what_was_written_meanwhile_does_not_come_twice);
    RUN(test_a_publisher_that_has_written_all_keeps_no_segment);
    RUN(test_no_queue_is_deferred_beyond_its_room);
    RUN(test_a_queue_is_deferred_only_as_far_as_its_link_lets_it);
    RUN(test_no_memory_to_materialize_is_a_loss_that_is_counted);
    RUN(test_nobody_can_tell_that_queues_lagged);
    return 0;
}
