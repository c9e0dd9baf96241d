/*
 * queue/unacked.c: see queue/unacked.h.
 * Law: nothing is forgotten: an entry leaves when all its messages are acknowledged, or is taken
 * back.  A message of a segment that a source has is settled as it is acknowledged, one that stands
 * alone as it leaves.
 */
#include "queue/unacked.h"

#include <string.h>

#include "wire/framing.h"

enum {
    UNACKED_OCTET_BITS = 8,
    UNACKED_APPEND_MAX = MMI_SEGMENT_FIRST_CAP / 2 /* octets of a segment that goes into another */
};

/* What is left of the limits is the outbox's. */
static void
unacked_fit(mmi_unacked *u)
{
    mmi_ring *out = u->outbox;
    uint64_t credit = u->limit - u->written;
    size_t bytes = u->sent.bytes;
    uint32_t count = credit < u->count_max ? (uint32_t)credit : u->count_max;
    size_t left = bytes < u->bytes_max ? u->bytes_max - bytes : 0;
    if (left == 0 || count < out->count) {
        count = out->count;
    }
    out->count_max = count;
    out->bytes_max = left > out->bytes ? left : out->bytes;
}

mmi_unacked *
mmi_unacked_new(mmi_ring *outbox, mmi_receipts *receipts, uint64_t epoch)
{
    mmi_unacked *u = mmi_alloc(sizeof *u);
    mmi_msg *hole = u != NULL ? mmi_msg_copy(NULL, 0) : NULL;
    if (hole == NULL) {
        mmi_free(u);
        return NULL;
    }
    u->hole = hole;
    mmi_ring_init(&u->sent, UINT32_MAX, SIZE_MAX);
    u->sent.keeps = true;
    u->outbox = outbox;
    u->receipts = receipts;
    u->count_max = outbox->count_max;
    u->bytes_max = outbox->bytes_max;
    u->epoch = epoch;
    u->first = 1;
    unacked_fit(u);
    return u;
}

void
mmi_unacked_free(mmi_unacked *u)
{
    if (u != NULL) {
        mmi_ring_fini(&u->sent);
        mmi_msg_unref(u->hole);
        mmi_overdue_free(u->overdue);
        for (size_t i = 0; i < MMI_COUNT_OF(u->spares); i++) {
            mmi_msg_unref(u->spares[i] != NULL ? &u->spares[i]->msg : NULL);
        }
        mmi_free(u);
    }
}

int
mmi_unacked_reserve(mmi_unacked *u, uint32_t entries)
{
    for (size_t i = 0; i < MMI_COUNT_OF(u->spares); i++) {
        u->spares[i] = u->spares[i] != NULL ? u->spares[i] : mmi_segment_out_view_of_nothing();
        if (u->spares[i] == NULL) {
            return MM_ENOMEM;
        }
    }
    return mmi_ring_reserve_for(&u->sent, entries + (uint32_t)MMI_COUNT_OF(u->spares));
}

/* A few small messages that were written by themselves go into the segment that was written before
 * them: each would keep a block that is far larger than it.  Takes m; false: it stays the
 * caller's. */
static bool
unacked_append(mmi_unacked *u, mmi_msg *m)
{
    mmi_ring *sent = &u->sent;
    const mmi_segment_out *segment = mmi_segment_out_of(m);
    mmi_segment_out *last =
        sent->slot_count > 0 ? mmi_segment_out_of(mmi_ring_at(sent, sent->slot_count - 1)) : NULL;
    size_t size = segment != NULL ? segment->used - segment->first : 0;
    if (segment == NULL || last == NULL || size > (size_t)UNACKED_APPEND_MAX ||
        last->cap - last->used < size || last->framing != segment->framing ||
        m->origin.attempt > 0 || last->msg.origin.attempt > 0 ||
        !mmi_segment_out_follows(&last->msg, m) || mmi_msg_shared(&last->msg)) {
        return false;
    }
    memcpy(last->data + last->used, segment->data + segment->first, size);
    last->used += size;
    mmi_ring_grew(sent, &last->msg, m->count, m->cost);
    mmi_msg_unref(m);
    return true;
}

void
mmi_unacked_wrote(mmi_unacked *u, mmi_msg *m)
{
    u->written += m->count;
    if (!unacked_append(u, m)) {
        int rc = mmi_ring_push(&u->sent, m);
        MMI_ASSERT(rc == MM_OK); /* it was reserved */
    }
    unacked_fit(u);
}

void
mmi_unacked_wrote_part(mmi_unacked *u, mmi_segment_out *segment, size_t at, size_t end,
                       uint32_t count, size_t cost)
{
    size_t i = u->spares[0] != NULL ? 0 : 1;
    mmi_segment_out *part = u->spares[i];
    MMI_ASSERT(part != NULL); /* it was reserved */
    u->spares[i] = NULL;
    mmi_segment_out_view_begin(part, segment, at);
    mmi_segment_out_follow(part, end);
    part->msg.count = count;
    part->msg.cost = cost;
    part->msg.key = segment->msg.key > 0 ? segment->msg.key - count : 0; /* they left it before */
    mmi_unacked_wrote(u, &part->msg);
}

static bool
unacked_sourced(const mmi_unacked *u)
{
    return u->receipts != NULL && u->receipts->source.arg != NULL;
}

/* It stands alone, and is acknowledged. */
static void
unacked_settle(const mmi_unacked *u, mmi_msg *m)
{
    if (u->receipts != NULL && mmi_receipts_awaited(u->receipts)) {
        mmi_receipts_settle(u->receipts, m, MM_RECEIPT_ACKED);
    }
}

/* The first n messages of what was written are done, and not kept any more. */
static void
unacked_forget(mmi_unacked *u, uint64_t n)
{
    u->first += n;
    while (n > 0) {
        mmi_msg *m = mmi_ring_at(&u->sent, 0);
        mmi_segment_out *segment = mmi_segment_out_of(m);
        if (segment == NULL || n >= m->count) {
            n -= m->count;
            if (segment == NULL) {
                unacked_settle(u, m);
            }
            mmi_msg_unref(mmi_ring_pop(&u->sent));
            continue;
        }
        size_t cost = 0, one;
        uint32_t count = (uint32_t)n;
        for (; n > 0; n--, cost += one) {
            segment->first +=
                segment->framing->next(segment->framing, segment->data + segment->first, &one);
        }
        mmi_ring_shrank(&u->sent, m, count, cost);
    }
}

/* The entry that has the message of that number, and how many of it are in front of that; found
 * from the nearer end. */
static uint32_t
unacked_entry(const mmi_unacked *u, uint64_t number, uint64_t *before)
{
    const mmi_ring *sent = &u->sent;
    uint64_t in_front = number - u->first, behind = u->written - number;
    uint32_t i = 0;
    if (in_front <= behind) {
        for (; in_front >= mmi_ring_at(sent, i)->count; i++) {
            in_front -= mmi_ring_at(sent, i)->count;
        }
        *before = in_front;
        return i;
    }
    for (i = sent->slot_count - 1; behind >= mmi_ring_at(sent, i)->count; i--) {
        behind -= mmi_ring_at(sent, i)->count;
    }
    *before = mmi_ring_at(sent, i)->count - 1 - behind;
    return i;
}

/* Of an entry whose first message is number `first`: those from `from` to before `to` that were not
 * acknowledged before are now. */
static void
unacked_tell_entry(const mmi_unacked *u, const mmi_msg *m, uint64_t first, uint64_t from,
                   uint64_t to)
{
    bool any = u->acked.top > u->acked.floor; /* above it are some that were */
    uint64_t end;
    for (uint64_t n = from; n < to; n = end) {
        bool told = any && mmi_marks_has(&u->acked, n);
        for (end = any ? n + 1 : to; end < to && mmi_marks_has(&u->acked, end) == told; end++) {
        }
        if (!told) {
            mmi_receipts_settle_run(u->receipts, m->key + (n - first), end - n, MM_RECEIPT_ACKED);
        }
    }
}

/* Up to that number all are acknowledged: those of segments that a source has are settled. */
static void
unacked_tell_to(const mmi_unacked *u, uint64_t floor)
{
    uint64_t first = u->first;
    for (uint32_t i = 0; unacked_sourced(u) && first <= floor; i++) {
        const mmi_msg *m = mmi_ring_at(&u->sent, i);
        uint64_t end = first + m->count;
        if (m->kind == MMI_MSG_SEGMENT_OUT && m->key > 0) {
            unacked_tell_entry(u, m, first, first, end <= floor ? end : floor + 1);
        }
        first = end;
    }
}

/* An entry, and the number of its first message; 0: it was not looked for. */
typedef struct unacked_place {
    uint32_t entry;
    uint64_t first;
} unacked_place;

/* To the entry of that number, from that of a lower one: so that all bits of an ACK are one way
 * through what was sent. */
static mmi_msg *
unacked_seek(const mmi_unacked *u, unacked_place *at, uint64_t number)
{
    const mmi_ring *sent = &u->sent;
    if (at->first == 0) {
        uint64_t before;
        at->entry = unacked_entry(u, number, &before);
        at->first = number - before;
    }
    while (number - at->first >= mmi_ring_at(sent, at->entry)->count) {
        at->first += mmi_ring_at(sent, at->entry++)->count;
    }
    return mmi_ring_at(sent, at->entry);
}

/* That message is acknowledged; if it is behind one that is not, its memory goes all the same, if
 * it stands alone: those of a segment are small. */
static void
unacked_mark_one(mmi_unacked *u, unacked_place *at, uint64_t number)
{
    if (mmi_marks_has(&u->acked, number)) {
        return;
    }
    mmi_msg *m = unacked_seek(u, at, number);
    bool segment = m->kind == MMI_MSG_SEGMENT_OUT;
    if (segment && m->key > 0 && unacked_sourced(u)) {
        mmi_receipts_settle_run(u->receipts, m->key + (number - at->first), 1, MM_RECEIPT_ACKED);
    }
    (void)mmi_marks_add(&u->acked, number);
    if (!segment && number > u->acked.floor) {
        unacked_settle(u, m);
        mmi_ring_replace_at(&u->sent, at->entry, mmi_msg_ref(u->hole));
    }
}

/* Are its bits of what was written?  Before anything is changed by it. */
static int
unacked_check(const mmi_unacked *u, const mmi_ack *ack)
{
    size_t octets = ack->bits_size;
    while (octets > 0 && ack->bits[octets - 1] == 0) {
        octets--;
    }
    uint64_t top = 0; /* its last bit, from 1 on */
    for (unsigned last = octets > 0 ? ack->bits[octets - 1] : 0; last != 0; last >>= 1) {
        top++;
    }
    top += octets > 0 ? (octets - 1) * UNACKED_OCTET_BITS : 0;
    return top <= u->written - ack->floor ? MM_OK : MM_EPROTO;
}

/* The bits of what the peer says, from the first on. */
static void
unacked_mark(mmi_unacked *u, const mmi_ack *ack)
{
    unacked_place at = { .first = 0 };
    for (size_t i = 0; i < ack->bits_size; i++) {
        for (unsigned bit = 0; ack->bits[i] >> bit != 0; bit++) {
            if ((ack->bits[i] >> bit & 1) != 0) {
                unacked_mark_one(u, &at, ack->floor + 1 + i * UNACKED_OCTET_BITS + bit);
            }
        }
    }
}

int
mmi_unacked_ack(mmi_unacked *u, const mmi_ack *ack, uint64_t *newly)
{
    uint64_t before = u->acked.count;
    *newly = 0;
    if (ack->floor < u->told || ack->floor > u->written || ack->limit < u->limit ||
        ack->limit < ack->floor) {
        return MM_EPROTO;
    }
    int rc = unacked_check(u, ack);
    if (rc != MM_OK) {
        return rc;
    }
    u->told = ack->floor;
    unacked_tell_to(u, ack->floor);
    (void)mmi_marks_add_to(&u->acked, ack->floor);
    unacked_mark(u, ack);
    unacked_forget(u, u->acked.floor + 1 - u->first);
    uint64_t most = u->acked.floor + MMI_UNACKED_MAX;
    u->limit = ack->limit < most ? ack->limit : most;
    u->ends |= ack->ends;
    unacked_fit(u);
    *newly = u->acked.count - before;
    return MM_OK;
}

/* Where a message was first, if it was written now for the first time; how often it was tried. */
static void
unacked_origin(const mmi_unacked *u, uint64_t number, mmi_origin *origin)
{
    uint32_t tried = u->ends ? 0 : 1;
    if (origin->attempt == 0) {
        *origin = (mmi_origin){ .epoch = u->epoch, .number = number, .attempt = 1 };
    }
    origin->attempt += origin->attempt < UINT32_MAX ? tried : 0;
}

/* The message of that number, with a reference of its own, and where it is; NULL: no memory. */
static mmi_msg *
unacked_find(const mmi_unacked *u, uint64_t number, uint32_t *entry)
{
    uint64_t before;
    *entry = unacked_entry(u, number, &before);
    mmi_msg *m = mmi_ring_at(&u->sent, *entry);
    const mmi_segment_out *segment = mmi_segment_out_of(m);
    if (segment == NULL) {
        return mmi_msg_ref(m);
    }
    size_t cost, at = segment->first;
    for (uint64_t i = 0; i < before; i++) {
        at += segment->framing->next(segment->framing, segment->data + at, &cost);
    }
    mmi_msg *one = segment->framing->open(segment->framing, segment->data + at);
    if (one != NULL) {
        mmi_segment_out_gave(segment, before, one);
    }
    return one;
}

int
mmi_unacked_give_back(mmi_unacked *u, uint64_t number, mmi_msg **m)
{
    if (number == 0 || number > u->written) {
        return MM_EPROTO;
    }
    if (mmi_marks_has(&u->acked, number)) {
        return MM_EAGAIN;
    }
    uint32_t entry;
    *m = unacked_find(u, number, &entry);
    if (*m == NULL) {
        return MM_ENOMEM;
    }
    unacked_origin(u, number, &(*m)->origin);
    uint64_t key = (*m)->key;
    (*m)->key = 0; /* it is not done: its receipt stays open */
    (void)mmi_marks_add(&u->acked, number);
    if (mmi_ring_at(&u->sent, entry) == *m) { /* it stands alone */
        mmi_ring_replace_at(&u->sent, entry, mmi_msg_ref(u->hole));
    }
    unacked_forget(u, u->acked.floor + 1 - u->first);
    (*m)->key = key;
    unacked_fit(u);
    return MM_OK;
}

static mmi_msg *
unacked_pop(mmi_unacked *u)
{
    mmi_msg *m = mmi_ring_pop(&u->sent);
    u->first += m->count;
    return m;
}

/* The first message of a segment, by itself; NULL: no memory. */
static mmi_msg *
unacked_open(const mmi_segment_out *segment)
{
    mmi_msg *m = segment->framing->open(segment->framing, segment->data + segment->first);
    if (m != NULL) {
        mmi_segment_out_gave(segment, 0, m);
    }
    return m;
}

mmi_msg *
mmi_unacked_take_back(mmi_unacked *u)
{
    while (u->sent.slot_count > 0) {
        mmi_msg *m = mmi_ring_at(&u->sent, 0);
        mmi_segment_out *segment = mmi_segment_out_of(m);
        uint64_t number = u->first;
        bool acked = mmi_marks_has(&u->acked, number);
        mmi_msg *one = segment == NULL || acked ? NULL : unacked_open(segment);
        bool source = segment != NULL && m->key > 0 && unacked_sourced(u);
        if (source && !acked && one == NULL) { /* it gives it again, without memory */
            mmi_receipts_settle_run(u->receipts, m->key, 1, MM_RECEIPT_DROPPED);
        }
        if (segment != NULL && (acked || one != NULL || source)) {
            unacked_forget(u, 1);
        } else {
            one = unacked_pop(u); /* alone; or all that is left of a segment, without memory */
        }
        if (segment == NULL && acked) {
            mmi_msg_unref(one);
        } else if (one != NULL) {
            unacked_origin(u, number, &one->origin);
            return one;
        }
    }
    return NULL;
}

void
mmi_unacked_invariants(const mmi_unacked *u)
{
    mmi_marks_invariants(&u->acked);
    MMI_ASSERT(u->acked.top <= u->written && u->written <= u->limit);
    MMI_ASSERT(u->limit <= u->acked.floor + MMI_UNACKED_MAX);
    MMI_ASSERT(u->first == u->acked.floor + 1 && u->first + u->sent.count == u->written + 1);
}
