/*
 * test_acks.c: what came from a peer that wants acknowledgements: when it is told what, and which
 * credit it has.
 * Not here: what it makes of that (test_unacked.c), the commands (test_command.c).
 */
#include "queue/acks.h"

#include "check.h"
#include "queue/host.h"

static int wrote;
static uint64_t due_ns;
static mm_socket_opts opts = { .recv_queue_messages = 1000 };
static uint64_t now_ns;

static uint64_t
clock_ns(const mmi_proto_host *of)
{
    (void)of;
    return now_ns;
}

static void
note_due(mmi_proto_host *of, uint64_t at_ns)
{
    (void)of;
    due_ns = at_ns;
}

static mmi_proto_host host = { .opts = &opts, .now_ns = clock_ns, .due = note_due };
static mmi_pipe pipe;

static void
note(mmi_pipe *p)
{
    CHECK(p == &pipe);
    wrote++;
}

static mmi_acks *
begin(uint32_t prefetch)
{
    static const mmi_pipe_ops ops = { .wrote = note };
    static const mmi_count count = { .epoch = 3 };
    mmi_list_init(&host.given);
    mmi_list_init(&host.untold);
    pipe.ops = &ops;
    opts.prefetch = prefetch;
    wrote = 0;
    due_ns = 0;
    mmi_acks *a = mmi_acks_new(&pipe, &host, &count);
    CHECK(a != NULL && a->due);
    return a;
}

/* The ACK as it would go now. */
static mmi_ack
told(mmi_acks *a, uint8_t *out)
{
    mmi_ack ack;
    size_t size = mmi_acks_size(a);
    mmi_acks_put(a, out);
    CHECK(mmi_ack_get(out, size, &ack));
    mmi_acks_invariants(a);
    return ack;
}

static void
test_the_first_one_gives_credit(void)
{
    static const uint32_t prefetches[][2] = { { 0, 1000 }, { 1, 1 }, { 70000, MMI_UNACKED_MAX } };
    uint8_t out[64];
    for (size_t i = 0; i < MMI_COUNT_OF(prefetches); i++) {
        mmi_acks *a = begin(prefetches[i][0]);
        CHECK_INT(told(a, out).limit, prefetches[i][1]);
        CHECK(!a->due && mmi_acks_may(a, prefetches[i][1]));
        CHECK(!mmi_acks_may(a, prefetches[i][1] + 1));
        mmi_acks_free(a);
    }
}

static void
test_what_was_given_out_is_done_when_all_of_it_is(void)
{
    uint8_t out[64];
    mmi_acks *a = begin(100);
    (void)told(a, out);
    CHECK_INT(mmi_acks_came(a, 10), 1);
    CHECK(!mmi_acks_done(a, 1));   /* nobody has it yet */
    mmi_acks_gave(a, 4);
    mmi_acks_done_all(&host);
    mmi_acks_done_all(&host);
    CHECK_INT(a->done.count, 4);
    CHECK_INT(wrote, 0);           /* too few to be worth an ACK of their own */
    mmi_acks_idle(&host);
    CHECK(a->due && wrote == 1);
    mmi_ack ack = told(a, out);
    CHECK(ack.floor == 4 && ack.limit == 104 && ack.bits_size == 0 && !ack.ends);
    mmi_acks_idle(&host);
    CHECK_INT(wrote, 1);           /* it knows */
    mmi_acks_free(a);
}

/* So many came, and all of them are done. */
static void
work(mmi_acks *a, uint32_t count)
{
    (void)mmi_acks_came(a, count);
    mmi_acks_gave(a, count);
    mmi_acks_done_all(&host);
}

static void
test_who_sends_little_is_told_as_nothing_more_is_there(void)
{
    uint8_t out[64];
    mmi_acks *a = begin(10000);
    (void)told(a, out);
    for (int i = 1; i <= 3; i++) {   /* at the same moment: it may wait for each */
        work(a, 16);
        mmi_acks_idle(&host);
        CHECK(a->due && wrote == i);
        (void)told(a, out);
    }
    CHECK_INT(due_ns, 0);
    mmi_acks_free(a);
}

static void
test_who_sends_much_is_told_after_a_pause(void)
{
    static const uint64_t pause = 200000;
    uint8_t out[64];
    mmi_acks *a = begin(10000);
    now_ns = 1000000;
    (void)told(a, out);
    for (int i = 1; i <= 2; i++) {
        work(a, 17);
        mmi_acks_idle(&host);
        mmi_acks_idle(&host);
        CHECK(!a->due && due_ns == now_ns + pause);
        CHECK(mmi_acks_tick(&host, now_ns + pause - 1) == now_ns + pause && !a->due);
        now_ns += pause;
        CHECK(mmi_acks_tick(&host, now_ns) == UINT64_MAX && a->due);
        CHECK_INT(wrote, i);
        CHECK_INT(told(a, out).floor, 17 * (uint64_t)i);
    }
    work(a, 17);
    now_ns += pause;                 /* it was not told for that long */
    mmi_acks_idle(&host);
    CHECK(a->due && wrote == 3);
    mmi_acks_free(a);
}

static void
test_who_may_soon_wait_for_credit_is_told_at_once(void)
{
    uint8_t out[64];
    mmi_acks *a = begin(1000);
    (void)told(a, out);
    (void)mmi_acks_came(a, 501);     /* less than half of its credit is left */
    mmi_acks_gave(a, 200);
    mmi_acks_done_all(&host);
    CHECK_INT(wrote, 0);
    mmi_acks_idle(&host);
    CHECK(a->due && wrote == 1);
    mmi_acks_free(a);
}

static void
test_much_that_is_done_is_told_at_once(void)
{
    mmi_acks *a = begin(8);
    (void)mmi_acks_came(a, 8);
    mmi_acks_gave(a, 8);
    CHECK(mmi_acks_done(a, 1));
    CHECK_INT(wrote, 0);
    CHECK(mmi_acks_done(a, 5) && a->due);   /* a quarter of the prefetch */
    CHECK_INT(wrote, 1);
    CHECK(!mmi_acks_done(a, 5));
    mmi_acks_free(a);
}

static void
test_what_is_done_out_of_order_is_a_bitmap_and_gives_credit(void)
{
    uint8_t out[64];
    mmi_acks *a = begin(10);
    (void)mmi_acks_came(a, 10);
    mmi_acks_gave(a, 10);
    CHECK(mmi_acks_done(a, 2) && mmi_acks_done(a, 9));
    mmi_ack ack = told(a, out);
    CHECK(ack.floor == 0 && ack.limit == 12 && ack.bits_size == 2);
    CHECK(ack.bits[0] == 2 && ack.bits[1] == 1);
    mmi_acks_free(a);
}

/* Whatever is never done, no number is beyond what the bitmap can tell of. */
static void
test_credit_ends_where_the_bitmap_does(void)
{
    static uint8_t out[MMI_ACK_SIZE + MMI_ACK_BITMAP_MAX];
    mmi_acks *a = begin(MMI_UNACKED_MAX);
    (void)told(a, out);
    (void)mmi_acks_came(a, MMI_UNACKED_MAX);
    mmi_acks_gave(a, MMI_UNACKED_MAX);
    for (uint64_t i = 2; i <= MMI_UNACKED_MAX; i++) {
        CHECK(mmi_acks_done(a, i));
    }
    CHECK_INT(told(a, out).limit, MMI_UNACKED_MAX);
    CHECK(!mmi_acks_may(a, 1));
    CHECK(mmi_acks_done(a, 1));
    CHECK_INT(told(a, out).limit, 2 * MMI_UNACKED_MAX);
    mmi_acks_free(a);
}

int
main(void)
{
    RUN(test_the_first_one_gives_credit);
    RUN(test_what_was_given_out_is_done_when_all_of_it_is);
    RUN(test_who_sends_little_is_told_as_nothing_more_is_there);
    RUN(test_who_sends_much_is_told_after_a_pause);
    RUN(test_who_may_soon_wait_for_credit_is_told_at_once);
    RUN(test_much_that_is_done_is_told_at_once);
    RUN(test_what_is_done_out_of_order_is_a_bitmap_and_gives_credit);
    RUN(test_credit_ends_where_the_bitmap_does);
    return 0;
}
