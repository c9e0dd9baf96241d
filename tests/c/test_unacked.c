/*
 * test_unacked.c: what was written and not acknowledged: as segments and alone, acknowledged in any
 * order, given back, taken back; and what a peer may not say.
 * Not here: the commands (test_command.c), whom else a message is given to (tests/sim).
 */
#include "queue/unacked.h"

#include "check.h"
#include "wire/zmtp/frame.h"

enum { LIMIT = 1000, BYTES = 1 << 20, RUNS = 400, MESSAGES = 120 };

static mmi_ring outbox;

static mmi_unacked *
begin(uint64_t credit)
{
    uint64_t newly;
    mmi_ring_init(&outbox, LIMIT, BYTES);
    mmi_unacked *u = mmi_unacked_new(&outbox, NULL, 77);
    const mmi_ack first = { .limit = credit };
    CHECK(u != NULL && outbox.count_max == 0);
    CHECK_INT(mmi_unacked_ack(u, &first, &newly), MM_OK);
    return u;
}

static mmi_msg *
alone(uint64_t number)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)&number, sizeof number);
    CHECK(m != NULL);
    return m;
}

static uint64_t
number_of(const mmi_msg *m)
{
    uint64_t number;
    CHECK_INT(m->frames[0].size, sizeof number);
    memcpy(&number, m->frames[0].data, sizeof number);
    return number;
}

/* A segment of so many, from that number on. */
static mmi_segment_out *
segment(uint64_t first, uint32_t count)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    mmi_segment_out *s = mmi_segment_out_new(f, 4096);
    CHECK(s != NULL);
    for (uint64_t i = first; i < first + count; i++) {
        s->used += f->put_body((const uint8_t *)&i, sizeof i, s->data + s->used, s->cap - s->used);
        s->msg.count++;
        s->msg.cost += sizeof i + MMI_FRAME_OVERHEAD;
    }
    return s;
}

/* The first so many of a segment were written, and then the rest. */
static void
write_in_parts(mmi_unacked *u, mmi_segment_out *s, uint32_t part)
{
    size_t cost = 0, one, at = s->first, end = at;
    for (uint32_t i = 0; i < part; i++, cost += one) {
        end += s->framing->next(s->framing, s->data + end, &one);
    }
    if (part > 0) {
        s->first = end;
        s->msg.count -= part;
        s->msg.cost -= cost;
        mmi_unacked_wrote_part(u, s, at, end, part, cost);
    }
    if (s->msg.count > 0) {
        mmi_unacked_wrote(u, &s->msg);
    } else {
        mmi_msg_unref(&s->msg);
    }
}

static void
write_some(mmi_unacked *u, uint32_t *seed)
{
    while (u->written < MESSAGES) {
        uint64_t next = u->written + 1, left = MESSAGES - u->written;
        uint32_t count = 1 + check_random(seed) % 7;
        if (check_random(seed) % 3 == 0) {
            CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
            mmi_unacked_wrote(u, alone(next));
        } else {
            count = count < left ? count : (uint32_t)left;
            CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
            write_in_parts(u, segment(next, count), check_random(seed) % (count + 1));
        }
    }
}

/* What those of the numbers that are done is as an ACK; bits has room for all. */
static mmi_ack
ack_of(const bool *done, uint8_t *bits)
{
    uint64_t floor = 0;
    while (floor < MESSAGES && done[floor + 1]) {
        floor++;
    }
    memset(bits, 0, MESSAGES / 8 + 1);
    for (uint64_t i = floor + 1; i <= MESSAGES; i++) {
        uint64_t bit = i - floor - 1;
        bits[bit / 8] |= (uint8_t)((done[i] ? 1 : 0) << (bit % 8));
    }
    return (mmi_ack){ .floor = floor, .limit = LIMIT, .bits = bits, .bits_size = MESSAGES / 8 + 1 };
}

static void
test_what_is_not_acknowledged_is_taken_back_once_and_in_order(void)
{
    uint32_t seed = 3;
    for (int run = 0; run < RUNS; run++) {
        bool done[MESSAGES + 1] = { false };
        uint8_t bits[MESSAGES / 8 + 1];
        uint64_t newly, acked = 0, expected = 0;
        mmi_unacked *u = begin(LIMIT);
        write_some(u, &seed);
        for (int i = 0; i < 5; i++) {
            for (uint32_t k = check_random(&seed) % 40; k > 0; k--) {
                done[1 + check_random(&seed) % MESSAGES] = true;
            }
            const mmi_ack ack = ack_of(done, bits);
            CHECK_INT(mmi_unacked_ack(u, &ack, &newly), MM_OK);
            acked += newly;
            mmi_unacked_invariants(u);
        }
        for (uint64_t i = 1; i <= MESSAGES; i++) {
            expected += done[i];
        }
        CHECK_INT(acked, expected);
        CHECK_INT(mmi_unacked_count(u), MESSAGES - expected);
        mmi_msg *m;
        uint64_t next = 1;
        while ((m = mmi_unacked_take_back(u)) != NULL) {
            for (; done[next]; next++) {
            }
            CHECK_INT(number_of(m), next);
            CHECK(m->origin.epoch == 77 && m->origin.number == next && m->origin.attempt == 2);
            next++;
            mmi_msg_unref(m);
        }
        for (; next <= MESSAGES && done[next]; next++) {
        }
        CHECK_INT(next, MESSAGES + 1);
        mmi_unacked_free(u);
    }
}

static void
test_one_that_is_given_back_is_no_longer_its_peers(void)
{
    uint32_t seed = 5;
    for (int run = 0; run < RUNS; run++) {
        bool given[MESSAGES + 1] = { false };
        mmi_unacked *u = begin(LIMIT);
        write_some(u, &seed);
        for (int i = 0; i < 50; i++) {
            uint64_t number = 1 + check_random(&seed) % MESSAGES;
            mmi_msg *m = NULL;
            CHECK_INT(mmi_unacked_give_back(u, number, &m), given[number] ? MM_EAGAIN : MM_OK);
            if (m != NULL) {
                CHECK_INT(number_of(m), number);
                CHECK_INT(m->origin.number, number);
                CHECK_INT(m->origin.attempt, 2);
                mmi_msg_unref(m);
            }
            given[number] = true;
            mmi_unacked_invariants(u);
        }
        mmi_msg *m = NULL;
        CHECK_INT(mmi_unacked_give_back(u, MESSAGES + 1, &m), MM_EPROTO);
        CHECK_INT(mmi_unacked_give_back(u, 0, &m), MM_EPROTO);
        while ((m = mmi_unacked_take_back(u)) != NULL) {
            CHECK(!given[number_of(m)]);
            mmi_msg_unref(m);
        }
        mmi_unacked_free(u);
    }
}

static void
test_a_peer_that_ends_in_order_has_tried_nothing(void)
{
    mmi_unacked *u = begin(LIMIT);
    uint64_t newly;
    CHECK_INT(mmi_unacked_reserve(u, 2), MM_OK);
    mmi_unacked_wrote(u, alone(1));
    mmi_msg *second = alone(2);
    second->origin = (mmi_origin){ .epoch = 5, .number = 9, .attempt = 4 };
    mmi_unacked_wrote(u, second);
    const mmi_ack last = { .ends = true, .limit = LIMIT };
    CHECK_INT(mmi_unacked_ack(u, &last, &newly), MM_OK);
    mmi_msg *m = mmi_unacked_take_back(u);
    CHECK_INT(m->origin.attempt, 1);
    mmi_msg_unref(m);
    m = mmi_unacked_take_back(u);
    CHECK(m->origin.epoch == 5 && m->origin.number == 9 && m->origin.attempt == 4);
    mmi_msg_unref(m);
    mmi_unacked_free(u);
}

static void
test_a_peer_says_no_more_than_it_may(void)
{
    mmi_unacked *u = begin(10);
    uint64_t newly;
    CHECK_INT(mmi_unacked_reserve(u, 3), MM_OK);
    for (uint64_t i = 1; i <= 3; i++) {
        mmi_unacked_wrote(u, alone(i));
    }
    const uint8_t beyond[] = { 8 };   /* number 4 */
    const mmi_ack bad[] = {
        { .floor = 4, .limit = 10 },                                  /* never written        */
        { .floor = 0, .limit = 10, .bits = beyond, .bits_size = 1 },
        { .floor = 0, .limit = 9 },                                   /* less credit          */
    };
    for (size_t i = 0; i < MMI_COUNT_OF(bad); i++) {
        CHECK_INT(mmi_unacked_ack(u, &bad[i], &newly), MM_EPROTO);
    }
    const mmi_ack two = { .floor = 2, .limit = 10 }, one = { .floor = 1, .limit = 10 };
    CHECK_INT(mmi_unacked_ack(u, &two, &newly), MM_OK);
    CHECK_INT(newly, 2);
    CHECK_INT(mmi_unacked_ack(u, &one, &newly), MM_EPROTO);   /* backwards */
    const mmi_ack most = { .floor = 2, .limit = UINT64_MAX };
    CHECK_INT(mmi_unacked_ack(u, &most, &newly), MM_OK);
    CHECK_INT(u->limit, 2 + MMI_UNACKED_MAX);
    mmi_unacked_invariants(u);
    mmi_unacked_free(u);
}

static void
test_the_outbox_has_what_is_left_of_credit_and_limits(void)
{
    mmi_unacked *u = begin(5);
    CHECK_INT(outbox.count_max, 5);
    CHECK_INT(mmi_ring_push(&outbox, alone(1)), MM_OK);
    CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
    mmi_unacked_wrote(u, mmi_ring_pop(&outbox));
    CHECK_INT(outbox.count_max, 4);
    CHECK_INT(outbox.bytes_max, BYTES - sizeof(uint64_t) - MMI_FRAME_OVERHEAD);
    uint64_t newly;
    const mmi_ack more = { .floor = 1, .limit = 6 };
    CHECK_INT(mmi_unacked_ack(u, &more, &newly), MM_OK);
    CHECK_INT(outbox.count_max, 5);
    CHECK_INT(outbox.bytes_max, BYTES);
    const uint64_t large = 2 * BYTES;   /* a message over the limit fills it, until it is done */
    mmi_msg *m = mmi_msg_new(&large, 1);
    CHECK_INT(mmi_ring_push(&outbox, m), MM_OK);
    CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
    mmi_unacked_wrote(u, mmi_ring_pop(&outbox));
    CHECK_INT(outbox.count_max, 0);
    mmi_unacked_free(u);
}

int
main(void)
{
    RUN(test_what_is_not_acknowledged_is_taken_back_once_and_in_order);
    RUN(test_one_that_is_given_back_is_no_longer_its_peers);
    RUN(test_a_peer_that_ends_in_order_has_tried_nothing);
    RUN(test_a_peer_says_no_more_than_it_may);
    RUN(test_the_outbox_has_what_is_left_of_credit_and_limits);
    return 0;
}
