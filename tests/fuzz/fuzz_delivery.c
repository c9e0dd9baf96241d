/*
 * fuzz_delivery.c: libFuzzer harness of what a peer may say of messages that are acknowledged: ACK,
 * NACK and EXTEND in any order, between writes and while time goes on, beside a table that says
 * what became of each number.
 *
 * The input is a list of steps: an octet says which, those behind it are its own.
 * Not here: the commands' frames (fuzz_reader.c).
 * Law: what is refused changes nothing; what is taken does what the table says, no more.
 */
#include <string.h>

#include "queue/unacked.h"
#include "wire/zmtp/frame.h"

enum {
    FUZZ_NUMBERS = 600,  /* messages, at most                         */
    FUZZ_QUEUE = 50,     /* messages that the outbox takes            */
    FUZZ_SEGMENT = 4096, /* octets                                    */
    FUZZ_RUN = 7,        /* messages of a segment, at most            */
    FUZZ_ACK = 40,       /* octets of an ACK that is drawn, at most   */
    FUZZ_TIMEOUT = 100,  /* ns that a peer has for a message          */
    FUZZ_STEPS = 8
};

typedef struct fuzz {
    const uint8_t *data;
    size_t size;
    mmi_ring outbox;
    mmi_unacked *u;
    bool done[FUZZ_NUMBERS + 1];
    uint64_t now, since[FUZZ_NUMBERS + 1];   /* since: written, or extended last */
    uint64_t told, limit;
} fuzz;

static unsigned
fuzz_octet(fuzz *f)
{
    if (f->size == 0) {
        return 0;
    }
    f->size--;
    return *f->data++;
}

static void
fuzz_check(const fuzz *f)
{
    uint64_t left = 0;
    for (uint64_t i = 1; i <= f->u->written; i++) {
        left += !f->done[i];
    }
    mmi_unacked_invariants(f->u);
    MMI_ASSERT(mmi_unacked_count(f->u) == left);
    MMI_ASSERT(f->u->limit == f->limit && f->u->told == f->told);
    MMI_ASSERT(f->outbox.count_max <= FUZZ_QUEUE);
}

static mmi_msg *
fuzz_segment(uint64_t first, uint32_t count)
{
    const mmi_framing *framing = &mmi_framing_zmtp_counted;
    mmi_segment_out *s = mmi_segment_out_new(framing, FUZZ_SEGMENT);
    MMI_ASSERT(s != NULL);
    for (uint64_t i = first; i < first + count; i++) {
        s->used +=
            framing->put_body((const uint8_t *)&i, sizeof i, s->data + s->used, s->cap - s->used);
        s->msg.count++;
        s->msg.cost += sizeof i + MMI_FRAME_OVERHEAD;
    }
    return &s->msg;
}

/* As many as there is credit for. */
static void
fuzz_write(fuzz *f, uint32_t count)
{
    uint64_t next = f->u->written + 1, most = f->limit < FUZZ_NUMBERS ? f->limit : FUZZ_NUMBERS;
    uint64_t left = next <= most ? most - next + 1 : 0;
    count = count < left ? count : (uint32_t)left;
    if (count == 0) {
        return;
    }
    int rc = mmi_unacked_reserve(f->u, 1);
    MMI_ASSERT(rc == MM_OK);
    mmi_msg *m =
        count == 1 ? mmi_msg_copy((const uint8_t *)&next, sizeof next) : fuzz_segment(next, count);
    MMI_ASSERT(m != NULL);
    mmi_unacked_wrote(f->u, m);
    for (uint64_t i = next; i < next + count; i++) {
        f->since[i] = f->now;
    }
}

/* What the table says of an ACK. */
static bool
fuzz_may(const fuzz *f, const mmi_ack *ack)
{
    bool may = ack->floor >= f->told && ack->floor <= f->u->written && ack->limit >= f->limit &&
               ack->limit >= ack->floor;
    for (size_t i = 0; may && i < ack->bits_size * 8; i++) {
        may = (ack->bits[i / 8] >> (i % 8) & 1) == 0 || i < f->u->written - ack->floor;
    }
    return may;
}

static void
fuzz_took(fuzz *f, const mmi_ack *ack)
{
    uint64_t floor = 0;
    for (uint64_t i = 1; i <= ack->floor; i++) {
        f->done[i] = true;
    }
    for (size_t i = 0; i < ack->bits_size * 8; i++) {
        if ((ack->bits[i / 8] >> (i % 8) & 1) != 0) {
            f->done[ack->floor + 1 + i] = true;
        }
    }
    while (floor < f->u->written && f->done[floor + 1]) {
        floor++;
    }
    f->told = ack->floor;
    f->limit = ack->limit < floor + MMI_UNACKED_MAX ? ack->limit : floor + MMI_UNACKED_MAX;
}

static void
fuzz_ack(fuzz *f, const uint8_t *octets, size_t size)
{
    mmi_ack ack;
    if (!mmi_ack_get(octets, size, &ack)) {
        return;
    }
    uint64_t newly, before = mmi_unacked_count(f->u);
    bool may = fuzz_may(f, &ack);
    int rc = mmi_unacked_ack(f->u, &ack, &newly);
    MMI_ASSERT((rc == MM_OK) == may && before - mmi_unacked_count(f->u) == newly);
    if (may) {
        fuzz_took(f, &ack);
    }
}

/* One that may well be right, or takes back a credit. */
static void
fuzz_likely(fuzz *f)
{
    uint8_t octets[MMI_ACK_SIZE + 4];
    unsigned more = fuzz_octet(f);
    const mmi_ack ack = { .floor = f->told + fuzz_octet(f) % FUZZ_RUN,
                          .limit = f->limit + more % FUZZ_QUEUE - more / (FUZZ_QUEUE * 4) };
    mmi_ack_put(octets, &ack);
    for (size_t i = MMI_ACK_SIZE; i < sizeof octets; i++) {
        octets[i] = (uint8_t)(more % 2 == 0 ? 0 : fuzz_octet(f) & fuzz_octet(f));
    }
    fuzz_ack(f, octets, sizeof octets - more % 4);
}

static void
fuzz_nack(fuzz *f, uint64_t number)
{
    mmi_msg *m;
    int rc = mmi_unacked_give_back(f->u, number, &m);
    if (number == 0 || number > f->u->written) {
        MMI_ASSERT(rc == MM_EPROTO);
    } else if (f->done[number]) {
        MMI_ASSERT(rc == MM_EAGAIN);
    } else {
        MMI_ASSERT(rc == MM_OK && m->origin.number == number && m->origin.attempt == 2);
        MMI_ASSERT(memcmp(m->frames[0].data, &number, sizeof number) == 0);
        mmi_msg_unref(m);
        f->done[number] = true;
    }
}

/* As link/ack.c does: of what was written and is not done. */
static void
fuzz_extend(fuzz *f)
{
    uint8_t octets[MMI_NUMBER_SIZE * 3];
    mmi_numbers numbers;
    size_t size = fuzz_octet(f) % (sizeof octets + 1);
    for (size_t i = 0; i < size; i++) {
        bool low = i % MMI_NUMBER_SIZE == MMI_NUMBER_SIZE - 1;
        octets[i] = (uint8_t)(low ? fuzz_octet(f) : 0);
    }
    if (!mmi_extend_get(octets, size, &numbers)) {
        MMI_ASSERT(size == 0 || size % MMI_NUMBER_SIZE != 0);
        return;
    }
    for (uint32_t i = 0; i < numbers.count; i++) {
        uint64_t number = numbers.at[i * MMI_NUMBER_SIZE + MMI_NUMBER_SIZE - 1];
        if (number > 0 && number <= f->u->written && !f->done[number]) {
            int rc = mmi_overdue_extend(f->u->overdue, &f->u->acked, number, f->now);
            MMI_ASSERT(rc == MM_OK);
            f->since[number] = f->now;
        }
    }
}

/* Time goes on, and what a peer has had for too long is taken back, and never early. */
static void
fuzz_look(fuzz *f)
{
    f->now += fuzz_octet(f) % (2 * FUZZ_TIMEOUT);
    mmi_overdue_look(f->u->overdue, f->u->written, f->now);
    uint64_t number;
    while ((number = mmi_overdue_take(f->u->overdue, &f->u->acked, f->now)) != 0) {
        MMI_ASSERT(number <= f->u->written && !f->done[number]);
        MMI_ASSERT(f->now - f->since[number] >= FUZZ_TIMEOUT);
        fuzz_nack(f, number);
    }
}

static void
fuzz_step(fuzz *f)
{
    uint8_t octets[FUZZ_ACK];
    size_t size = 0;
    switch (fuzz_octet(f) % FUZZ_STEPS) {
    case 0: fuzz_write(f, 1); break;
    case 1: fuzz_write(f, 2 + fuzz_octet(f) % (FUZZ_RUN - 1)); break;
    case 2: fuzz_nack(f, fuzz_octet(f)); break;
    case 3: fuzz_nack(f, f->u->written - fuzz_octet(f) % FUZZ_QUEUE + 1); break;
    case 4:
        for (size_t most = fuzz_octet(f) % FUZZ_ACK; size < most && f->size > 0;) {
            octets[size++] = (uint8_t)fuzz_octet(f);
        }
        fuzz_ack(f, octets, size);
        break;
    case 5: fuzz_extend(f); break;
    case 6: fuzz_look(f); break;
    default: fuzz_likely(f); break;
    }
    fuzz_check(f);
}

/* The peer is gone: all that is not done comes back, once, in order. */
static void
fuzz_end(fuzz *f)
{
    uint64_t next = 1, written = f->u->written;
    mmi_msg *m;
    while ((m = mmi_unacked_take_back(f->u)) != NULL) {
        for (; next <= written && f->done[next]; next++) {
        }
        MMI_ASSERT(m->origin.number == next);
        MMI_ASSERT(memcmp(m->frames[0].data, &next, sizeof next) == 0);
        next++;
        mmi_msg_unref(m);
    }
    for (; next <= written && f->done[next]; next++) {
    }
    MMI_ASSERT(next == written + 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz f = { .data = data, .size = size };
    mmi_ring_init(&f.outbox, FUZZ_QUEUE, SIZE_MAX);
    f.u = mmi_unacked_new(&f.outbox, NULL, 1);
    MMI_ASSERT(f.u != NULL);
    f.u->overdue = mmi_overdue_new(FUZZ_TIMEOUT);
    MMI_ASSERT(f.u->overdue != NULL);
    while (f.size > 0) {
        fuzz_step(&f);
    }
    fuzz_end(&f);
    mmi_unacked_free(f.u);
    mmi_ring_fini(&f.outbox);
    return 0;
}
