/*
 * test_push.c: PUSH and PULL: turns, room, the backlog of a lost peer, the overflow policies.
 * Not here: DEALER and PAIR, which use the same policies (test_pair_dealer.c).
 * Law: every message sent is somewhere: taken, queued, or in one counter.
 */
#include "base/limits.h"
#include "wire/sp/reader.h"
#include "queue/backlog.h"
#include "fake.h"
#include "queue/backlog.h"

static void
test_push_with_no_peer_says_again_and_is_not_writable(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 2);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send(s, "a"), MM_EAGAIN);
    CHECK(s->ops->recv == NULL);
    CHECK_INT(fake_dropped(s), 0);
    fake_close(s);
}

static mmi_segment_out *
segment_of(fake_pipe *p, uint32_t count, size_t cap)
{
    mmi_segment_out *segment = mmi_segment_out_new(p->pipe.framing, cap);
    for (uint32_t i = 0; i < count; i++) {
        mmi_msg *m = mmi_msg_copy((const uint8_t *)"abc", 3);
        size_t cost;
        segment->framing->put(segment->framing, m, segment->data + segment->used);
        segment->used += segment->framing->size(segment->framing, m, &cost);
        segment->msg.count++;
        segment->msg.cost += cost;
        mmi_msg_unref(m);
    }
    return segment;
}

/* A block for every few messages would be far more memory than they are charged for. */
static void
test_small_segments_share_a_block_and_large_ones_have_their_own(void)
{
    enum { SMALL = 20, SEGMENTS = 50, LARGE = MMI_SEGMENT_CAP / 8 };
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 1000000);
    fake_pipe *a = fake_connect(s);
    a->pipe.framing = &mmi_framing_zmtp;
    a->pipe.outbox.bytes_max = 64 * 1024 * 1024;
    for (uint32_t i = 1; i <= SEGMENTS; i++) {
        CHECK_INT(mmi_pipe_send(&a->pipe, &segment_of(a, SMALL, MMI_SEGMENT_CAP)->msg), MM_OK);
        CHECK_INT(a->pipe.outbox.count, i * SMALL);
        CHECK_INT(a->pipe.outbox.slot_count, 1);
    }
    CHECK_INT(a->pipe.accepted, SEGMENTS * SMALL);
    CHECK_INT(mmi_pipe_send(&a->pipe, &segment_of(a, LARGE, MMI_SEGMENT_CAP)->msg), MM_OK);
    CHECK_INT(a->pipe.outbox.slot_count, 2);
    CHECK_INT(a->pipe.outbox.count, SEGMENTS * SMALL + LARGE);
    mmi_pipe_invariants(&a->pipe);
    fake_close(s);
}

/* A queue that is empty takes any one message, also one that stands in a segment. */
static void
test_a_message_over_the_limit_that_was_packed_goes_to_the_next_peer(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->opts.send_queue_bytes = 100;
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    char large[1001];
    memset(large, 'x', sizeof large);
    large[1000] = 0;
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, large), MM_OK);
    fake_cut(a);
    CHECK_INT(fake_queued(s), 1);
    fake_pipe *b = fake_connect(s);
    CHECK_INT(b->pipe.outbox.count, 1);
    CHECK_INT(fake_take_all(b), 1);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, large), MM_OK);
    fake_close(s);
}

/* Takes entries until there are none; the messages that were in them. */
static uint32_t
messages_taken(fake_pipe *p)
{
    uint32_t count = 0;
    for (mmi_msg *m = fake_take(p); m != NULL; m = fake_take(p)) {
        count += m->count;
        mmi_msg_unref(m);
    }
    return count;
}

/* What is given back fills the room there is, also that of a queue with lower limits. */
static void
test_a_segment_that_fits_nowhere_as_a_whole_goes_in_parts(void)
{
    enum { MESSAGES = 40, ROOM = 7 };
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    const mmi_framing *wires[] = { &mmi_framing_zmtp,
                                   mmi_framing_sp(MMI_SP_PLAIN, mmi_sp_of_role(MM_PUSH)) };
    s->segments = true;
    for (size_t i = 0; i < MMI_COUNT_OF(wires); i++) {
        s->framing = &mmi_framing_zmtp;
        s->opts.send_queue_messages = 100;
        fake_pipe *a = fake_connect(s);
        for (int k = 0; k < MESSAGES; k++) {
            CHECK_INT(fake_send(s, "x"), MM_OK);
        }
        fake_cut(a);
        uint64_t bytes;
        CHECK_INT(mmi_back_count(s->host.back, &bytes), MESSAGES);
        CHECK_INT(bytes, MESSAGES * (1 + MMI_FRAME_OVERHEAD));
        s->framing = wires[i];
        s->opts.send_queue_messages = ROOM;
        fake_pipe *b = fake_connect(s);
        CHECK_INT(b->pipe.outbox.count, ROOM);
        CHECK_INT(mmi_back_count(s->host.back, &bytes), MESSAGES - ROOM);
        CHECK_INT(bytes, (MESSAGES - ROOM) * (1 + MMI_FRAME_OVERHEAD));
        CHECK_INT(messages_taken(b), MESSAGES);
        CHECK_INT(fake_queued(s) + fake_dropped(s), 0);
        fake_cut(b);
    }
    fake_close(s);
}

static void
test_no_memory_for_a_part_leaves_the_segment_as_it_was(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->segments = true;
    s->framing = &mmi_framing_zmtp;
    fake_pipe *a = fake_connect(s);
    for (int k = 0; k < 10; k++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    fake_cut(a);
    s->opts.send_queue_messages = 3;
    mm_test_alloc_fail(1);
    fake_pipe *b = fake_connect(s);
    int64_t failures = 1;   /* the message that is looked at, a slot, the part */
    for (; b->pipe.outbox.count == 0; failures++) {
        uint64_t bytes;
        CHECK_INT(mmi_back_count(s->host.back, &bytes), 10);
        mm_test_alloc_fail(failures);
        s->ops->out(s->state, &b->pipe);
        mm_test_alloc_fail(0);
    }
    CHECK(failures > 3 && b->pipe.outbox.count == 3);
    CHECK_INT(fake_queued(s), 10);
    CHECK_INT(messages_taken(b), 10);
    fake_close(s);
}

static void
test_push_takes_turns_over_peers_with_room(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 2);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    const char *bodies[] = { "1", "2", "3", "4" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    CHECK_INT(fake_send(s, "5"), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    fake_is(fake_take(b), "2");
    CHECK_INT(fake_send(s, "6"), MM_OK);
    fake_is(fake_take(a), "1");
    fake_is(fake_take(a), "3");
    fake_is(fake_take(b), "4");
    fake_is(fake_take(b), "6");
    CHECK(a->wrote_count == 2 && b->wrote_count == 3);
    CHECK(a->pipe.accepted == 2 && b->pipe.accepted == 3);
    fake_close(s);
}

static void
test_push_becomes_writable_again_when_a_queue_is_half_empty(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    CHECK_INT(fake_send(s, "x"), MM_EAGAIN);
    mmi_msg_unref(fake_take(a));
    CHECK_INT(s->ops->ready(s->state), 0);
    mmi_msg_unref(fake_take(a));
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    fake_close(s);
}

/* Not woken for one slot, but one slot is enough for who tries. */
static void
test_push_refuses_nothing_that_fits(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(fake_send(s, "x"), i < 4 ? MM_OK : MM_EAGAIN);
    }
    mmi_msg_unref(fake_take(a));
    CHECK_INT(fake_send(s, "y"), MM_OK);
    CHECK_INT(fake_send(s, "z"), MM_EAGAIN);
    fake_close(s);
}

static void
test_push_by_bytes_a_large_message_waits_for_an_empty_queue(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    s->opts.send_queue_bytes = 300;
    fake_pipe *a = fake_connect(s);
    char large[1001];
    memset(large, 'x', sizeof(large));
    large[1000] = 0;
    CHECK_INT(fake_send(s, "small"), MM_OK);
    CHECK_INT(fake_send(s, large), MM_EAGAIN);
    CHECK_INT(s->ops->ready(s->state), 0);
    CHECK_INT(fake_send(s, "small"), MM_OK);
    CHECK_INT(fake_take_all(a), 2);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, large), MM_OK);
    CHECK_INT(fake_send(s, "s"), MM_EAGAIN);
    fake_close(s);
}

static void
test_push_without_frames_is_a_bad_argument(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 2);
    CHECK_INT(fake_send_msg(s, fake_frames(0, NULL)), MM_EINVAL);
    fake_close(s);
}

static void
test_what_a_lost_peer_had_not_begun_goes_to_the_others_first(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 3);
    uint64_t bytes;
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "begun"), MM_OK);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    a->pipe.pinned = true;
    fake_cut(a);
    CHECK_INT(s->stats.dropped_peer_gone, 1);
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 2);
    CHECK_INT(bytes, 2 + 2 * MMI_FRAME_OVERHEAD);
    CHECK_INT(fake_send(s, "3"), MM_EAGAIN);
    fake_pipe *b = fake_connect(s);
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 0);
    CHECK_INT(fake_send(s, "3"), MM_OK);
    fake_is(fake_take(b), "1");
    fake_is(fake_take(b), "2");
    fake_is(fake_take(b), "3");
    fake_close(s);
}

static void
test_a_backlog_larger_than_the_next_queue_goes_in_parts_and_in_order(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 4);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    const char *bodies[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    for (int i = 0; i < 8; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    fake_cut(a);                       /* 0 2 4 6 are kept: b is full */
    uint64_t bytes;
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 4);
    CHECK_INT(fake_send(s, "8"), MM_EAGAIN);
    fake_is(fake_take(b), "1");
    CHECK_INT(mmi_back_count(s->host.back, &bytes), 3);
    CHECK_INT(fake_send(s, "8"), MM_EAGAIN);
    const char *wanted[] = { "3", "5", "7", "0", "2", "4", "6" };
    for (int i = 0; i < 7; i++) {
        fake_is(fake_take(b), wanted[i]);
    }
    CHECK(fake_take(b) == NULL);
    CHECK_INT(fake_send(s, "8"), MM_OK);
    fake_is(fake_take(b), "8");
    fake_close(s);
}

static void
test_no_memory_for_the_backlog_leaves_the_rest_to_be_counted(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fake_connect(s);
    for (int i = 0; i < 40; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    mm_test_alloc_fail(2);             /* the second growth of the backlog */
    fake_cut(a);
    mm_test_alloc_fail(0);
    CHECK_INT(s->stats.dropped_peer_gone, 24);
    CHECK_INT(fake_queued(s), 16);
    fake_close(s);
}

static void
test_no_memory_to_queue_leaves_the_message_with_the_caller(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 100);
    fake_pipe *a = fake_connect(s);
    mmi_msg *m = fake_text("x");
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, mmi_msg_ref(m)), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send_msg(s, m), MM_OK);
    fake_is(fake_take(a), "x");
    fake_close(s);
}

static void
test_drop_newest_counts_full_and_no_peer_apart(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_NEWEST, 1);
    CHECK_INT(s->ops->ready(s->state), MM_WRITABLE);
    CHECK_INT(fake_send(s, "none"), MM_OK);
    CHECK_INT(s->stats.dropped_no_peer, 1);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "kept"), MM_OK);
    CHECK_INT(fake_send(s, "new"), MM_OK);
    CHECK_INT(s->stats.dropped_overflow, 1);
    CHECK_INT(s->event_counts[MM_EVENT_DROPPED], 2);
    fake_is(fake_take(a), "kept");
    CHECK(fake_take(a) == NULL);
    fake_close(s);
}

static void
test_drop_oldest_takes_turns_and_spares_what_is_being_written(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 2);
    CHECK_INT(fake_send(s, "none"), MM_OK);
    CHECK_INT(s->stats.dropped_no_peer, 1);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    const char *bodies[] = { "a0", "b0", "a1", "b1" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    a->pipe.pinned = true;
    CHECK_INT(fake_send(s, "new1"), MM_OK);
    CHECK_INT(fake_send(s, "new2"), MM_OK);
    CHECK_INT(s->stats.dropped_overflow, 2);
    CHECK(a->pipe.dropped == 1 && b->pipe.dropped == 1);
    fake_is(fake_take(a), "a0");
    fake_is(fake_take(a), "new1");
    fake_is(fake_take(b), "b1");
    fake_is(fake_take(b), "new2");
    fake_close(s);
}

static void
test_drop_oldest_drops_the_new_one_when_only_the_pinned_one_is_left(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 1);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "pinned"), MM_OK);
    a->pipe.pinned = true;
    CHECK_INT(fake_send(s, "new"), MM_OK);
    CHECK_INT(s->stats.dropped_overflow, 1);
    fake_is(fake_take(a), "pinned");
    CHECK(fake_take(a) == NULL);
    fake_close(s);
}

static void
test_drop_oldest_drops_as_many_as_the_bytes_need(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 100);
    s->opts.send_queue_bytes = 4 * (1 + MMI_FRAME_OVERHEAD);
    fake_pipe *a = fake_connect(s);
    const char *bodies[] = { "0", "1", "2", "3" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    char large[121];
    memset(large, 'y', sizeof(large));
    large[120] = 0;
    CHECK_INT(fake_send(s, large), MM_OK);
    CHECK_INT(s->stats.dropped_overflow, 3);
    fake_is(fake_take(a), "3");
    fake_is(fake_take(a), large);
    fake_close(s);
}

static void
test_drop_oldest_with_a_backlog_drops_the_oldest_of_it(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 2);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    const char *bodies[] = { "a0", "b0", "a1", "b1" };
    for (int i = 0; i < 4; i++) {
        CHECK_INT(fake_send(s, bodies[i]), MM_OK);
    }
    fake_cut(a);
    CHECK_INT(fake_send(s, "new"), MM_OK);
    CHECK_INT(s->stats.dropped_overflow, 1);
    const char *wanted[] = { "b0", "b1", "a1", "new" };
    for (int i = 0; i < 4; i++) {
        fake_is(fake_take(b), wanted[i]);
    }
    fake_close(s);
}

static void
test_drop_oldest_needs_no_memory_for_a_queue_and_fails_cleanly_for_the_backlog(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_DROP_OLDEST, 100);
    s->opts.send_queue_bytes = 16 * (1 + MMI_FRAME_OVERHEAD);
    fake_pipe *a = fake_connect(s), *b = fake_connect(s);
    for (int i = 0; i < 32; i++) {
        CHECK_INT(fake_send(s, "x"), MM_OK);
    }
    mmi_msg *m = fake_text("y");
    mm_test_alloc_fail(1);             /* both queues have as many slots as messages */
    CHECK_INT(fake_send_msg(s, m), MM_OK);
    mm_test_alloc_fail(0);
    CHECK_INT(s->stats.dropped_overflow, 1);
    CHECK_INT(a->pipe.outbox.count + b->pipe.outbox.count, 32);
    fake_cut(a);                       /* the backlog has as many slots as messages */
    m = fake_text("y");
    mm_test_alloc_fail(1);
    CHECK_INT(fake_send_msg(s, m), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(fake_dropped(s), 1);
    CHECK_INT(fake_queued(s), 32);
    fake_close(s);
}

static void
test_what_a_peer_sends_to_push_is_counted_as_malformed(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 2);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_deliver(a, fake_text("?")), MM_OK);
    CHECK_INT(s->stats.dropped_malformed, 1);
    CHECK_INT(s->last_event_peer, a->pipe.id);
    CHECK_INT(a->pipe.inbox.count, 0);
    fake_close(s);
}

static void
test_closing_counts_the_backlog_as_closed(void)
{
    fake_sock *s = fake_open(MM_PUSH, MM_OVERFLOW_BLOCK, 3);
    fake_pipe *a = fake_connect(s);
    CHECK_INT(fake_send(s, "1"), MM_OK);
    CHECK_INT(fake_send(s, "2"), MM_OK);
    fake_cut(a);
    s->ops->fini(s->state);
    CHECK_INT(s->stats.dropped_closed, 2);
    CHECK_INT(s->ops->init(s->state, &s->host), MM_OK);
    fake_close(s);
}

int
main(void)
{
    RUN(test_small_segments_share_a_block_and_large_ones_have_their_own);
    RUN(test_a_message_over_the_limit_that_was_packed_goes_to_the_next_peer);
    RUN(test_a_segment_that_fits_nowhere_as_a_whole_goes_in_parts);
    RUN(test_no_memory_for_a_part_leaves_the_segment_as_it_was);
    RUN(test_push_with_no_peer_says_again_and_is_not_writable);
    RUN(test_push_takes_turns_over_peers_with_room);
    RUN(test_push_becomes_writable_again_when_a_queue_is_half_empty);
    RUN(test_push_refuses_nothing_that_fits);
    RUN(test_push_by_bytes_a_large_message_waits_for_an_empty_queue);
    RUN(test_push_without_frames_is_a_bad_argument);
    RUN(test_what_a_lost_peer_had_not_begun_goes_to_the_others_first);
    RUN(test_a_backlog_larger_than_the_next_queue_goes_in_parts_and_in_order);
    RUN(test_no_memory_for_the_backlog_leaves_the_rest_to_be_counted);
    RUN(test_no_memory_to_queue_leaves_the_message_with_the_caller);
    RUN(test_drop_newest_counts_full_and_no_peer_apart);
    RUN(test_drop_oldest_takes_turns_and_spares_what_is_being_written);
    RUN(test_drop_oldest_drops_the_new_one_when_only_the_pinned_one_is_left);
    RUN(test_drop_oldest_drops_as_many_as_the_bytes_need);
    RUN(test_drop_oldest_with_a_backlog_drops_the_oldest_of_it);
    RUN(test_drop_oldest_needs_no_memory_for_a_queue_and_fails_cleanly_for_the_backlog);
    RUN(test_what_a_peer_sends_to_push_is_counted_as_malformed);
    RUN(test_closing_counts_the_backlog_as_closed);
    return 0;
}
