/*
 * test_unacked_numbered.c: segments of what a source has, written and not acknowledged: each
 * message is told of once, by its number there, as it is acknowledged.
 * Not here: segments without numbers (test_unacked.c), the source (tests/unit/test_push_spool*.py).
 */
#include "queue/unacked.h"

#include "check.h"
#include "wire/zmtp/frame.h"

enum { LIMIT = 1000, BYTES = 1 << 20, RUNS = 400, MESSAGES = 120, FIRST = 5000 };

/* What the source was told: of number FIRST + i of message i on the connection. */
typedef struct source {
    int outcomes[MESSAGES + 1];
} source;

static mmi_ring outbox;

static void
told(void *arg, uint64_t first, uint64_t count, int outcome)
{
    source *of = arg;
    CHECK(first > FIRST && first + count <= FIRST + MESSAGES + 1);
    for (uint64_t i = first - FIRST; i < first - FIRST + count; i++) {
        CHECK_INT(of->outcomes[i], 0); /* once */
        of->outcomes[i] = outcome;
    }
}

static mmi_unacked *
begin(mmi_receipts *receipts, source *of)
{
    uint64_t newly;
    *of = (source){ { 0 } };
    *receipts = (mmi_receipts){ .source = { .arg = of, .told = told } };
    mmi_ring_init(&outbox, LIMIT, BYTES);
    mmi_unacked *u = mmi_unacked_new(&outbox, receipts, 77);
    const mmi_ack first = { .limit = LIMIT };
    CHECK(u != NULL);
    CHECK_INT(mmi_unacked_ack(u, &first, &newly), MM_OK);
    return u;
}

static void
end(mmi_unacked *u)
{
    mmi_unacked_free(u);
    mmi_ring_fini(&outbox);
}

static mmi_msg *
numbered(uint64_t i)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)&i, sizeof i);
    CHECK(m != NULL);
    m->origin = (mmi_origin){ .epoch = 9, .number = FIRST + i, .attempt = 1 };
    return m;
}

static mmi_segment_out *
segment(uint64_t first, uint32_t count)
{
    const mmi_framing *f = &mmi_framing_zmtp_counted;
    mmi_segment_out *s = mmi_segment_out_new(f, 4096);
    CHECK(s != NULL);
    s->msg.key = FIRST + first;
    for (uint64_t i = first; i < first + count; i++) {
        size_t cost;
        mmi_msg *m = numbered(i);
        f->put(f, m, s->data + s->used);
        s->used += f->size(f, m, &cost);
        s->msg.cost += cost;
        s->msg.count++;
        mmi_msg_unref(m);
    }
    return s;
}

/* Those of the outbox, in parts as a socket takes them. */
static void
write_segment(mmi_unacked *u, mmi_segment_out *s, uint32_t part)
{
    size_t cost = 0, one, at = s->first;
    CHECK_INT(mmi_ring_push(&outbox, &s->msg), MM_OK);
    for (uint32_t i = 0; i < part; i++, cost += one) {
        s->first += s->framing->next(s->framing, s->data + s->first, &one);
    }
    mmi_ring_shrank(&outbox, &s->msg, part, cost);
    CHECK_INT(mmi_unacked_reserve(u, 2), MM_OK);
    if (part > 0) {
        mmi_unacked_wrote_part(u, s, at, s->first, part, cost);
    }
    mmi_msg *rest = mmi_ring_pop(&outbox);
    if (s->msg.count > 0) {
        mmi_unacked_wrote(u, rest);
    } else {
        mmi_msg_unref(rest);
    }
}

static void
write_all(mmi_unacked *u, uint32_t *seed)
{
    while (u->written < MESSAGES) {
        uint64_t next = u->written + 1, left = MESSAGES - u->written;
        uint32_t count = 1 + check_random(seed) % 30;
        count = count < left ? count : (uint32_t)left;
        if (check_random(seed) % 4 == 0) {
            mmi_msg *m = numbered(next);
            m->key = FIRST + next;
            m->alone = true;
            CHECK_INT(mmi_unacked_reserve(u, 1), MM_OK);
            mmi_unacked_wrote(u, m);
        } else {
            write_segment(u, segment(next, count), check_random(seed) % (count + 1));
        }
        mmi_unacked_invariants(u);
    }
}

static void
acknowledge(mmi_unacked *u, const bool *done)
{
    uint8_t bits[MESSAGES / 8 + 1] = { 0 };
    uint64_t floor = 0, newly;
    while (floor < MESSAGES && done[floor + 1]) {
        floor++;
    }
    for (uint64_t i = floor + 1; i <= MESSAGES; i++) {
        uint64_t bit = i - floor - 1;
        bits[bit / 8] |= (uint8_t)((done[i] ? 1 : 0) << (bit % 8));
    }
    const mmi_ack ack = { .floor = floor, .limit = LIMIT, .bits = bits, .bits_size = sizeof bits };
    CHECK_INT(mmi_unacked_ack(u, &ack, &newly), MM_OK);
    mmi_unacked_invariants(u);
}

/* A message that somebody else is to have: it stands alone, with its number. */
static uint64_t
check_alone(mmi_msg *m, uint32_t attempt)
{
    uint64_t i;
    CHECK(m->kind == MMI_MSG_ONE && m->alone);
    memcpy(&i, m->frames[0].data, sizeof i);
    CHECK_INT(m->key, FIRST + i);
    CHECK_INT(m->origin.number, FIRST + i);
    CHECK(m->origin.epoch == 9 && m->origin.attempt == attempt);
    mmi_msg_unref(m);
    return i;
}

static void
test_each_is_told_of_once_as_it_is_acknowledged(void)
{
    uint32_t seed = 7;
    for (int run = 0; run < RUNS; run++) {
        mmi_receipts receipts;
        source of;
        bool done[MESSAGES + 1] = { false }, back[MESSAGES + 1] = { false };
        mmi_unacked *u = begin(&receipts, &of);
        write_all(u, &seed);
        for (int i = 0; i < 8; i++) {
            uint64_t number = 1 + check_random(&seed) % MESSAGES;
            mmi_msg *m = NULL;
            int rc = mmi_unacked_give_back(u, number, &m);
            CHECK_INT(rc, done[number] ? MM_EAGAIN : MM_OK);
            if (m != NULL) {
                CHECK_INT(check_alone(m, 2), number);
                done[number] = back[number] = true;
            }
            for (uint32_t k = check_random(&seed) % 40; k > 0; k--) {
                done[1 + check_random(&seed) % MESSAGES] = true;
            }
            acknowledge(u, done);
            for (uint64_t k = 1; k <= MESSAGES; k++) {
                CHECK_INT(of.outcomes[k], done[k] && !back[k] ? MM_RECEIPT_ACKED : 0);
            }
        }
        mmi_msg *m;
        uint64_t next = 1;
        while ((m = mmi_unacked_take_back(u)) != NULL) {
            for (; done[next]; next++) {
            }
            CHECK_INT(check_alone(m, 2), next);
            next++;
        }
        for (; next <= MESSAGES; next++) {
            CHECK(done[next]);
        }
        end(u);
    }
}

/* Where there is no memory for one of a segment its source gives it again. */
static void
test_what_cannot_be_taken_back_is_its_sources(void)
{
    for (int64_t failing = 1; failing <= 3; failing++) {
        mmi_receipts receipts;
        source of;
        uint32_t taken = 0, dropped = 0;
        bool done[MESSAGES + 1] = { [2] = true };
        mmi_unacked *u = begin(&receipts, &of);
        write_segment(u, segment(1, 10), 4);
        acknowledge(u, done);
        mm_test_alloc_fail(failing);
        mmi_msg *m;
        while ((m = mmi_unacked_take_back(u)) != NULL) {
            (void)check_alone(m, 2);
            taken++;
        }
        mm_test_alloc_fail(0);
        for (uint64_t i = 1; i <= 10; i++) {
            dropped += of.outcomes[i] == MM_RECEIPT_DROPPED;
        }
        CHECK(of.outcomes[2] == MM_RECEIPT_ACKED && dropped > 0);
        CHECK_INT(taken + dropped, 9);
        end(u);
    }
}

int
main(void)
{
    RUN(test_each_is_told_of_once_as_it_is_acknowledged);
    RUN(test_what_cannot_be_taken_back_is_its_sources);
    return 0;
}
