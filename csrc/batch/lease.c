/*
 * batch/lease.c: by which numbers the messages of a batch are acknowledged, and where they were
 * first.
 *
 * Not here: acknowledging (queue/acks.c).
 * Law: of what is given by reference, its message says so; of what was copied, an array of its
 * runs: the messages of one entry follow each other.  Room is made before a copy.
 */
#include "batch/batch.h"

bool
mmi_batch_lease_room(mmi_batch *b)
{
    b->leased = false;
    b->lease_count = 0;
    for (uint32_t i = 0; i < b->taken_count && !b->leased; i++) {
        b->leased = b->taken[i].msg->number > 0;
    }
    if (!b->leased || b->taken_count <= b->lease_cap) {
        return true;
    }
    mmi_batch_lease *grown = mmi_realloc(b->lease, b->taken_count * sizeof *grown);
    b->leased = grown != NULL;
    if (grown != NULL) {
        b->lease = grown;
        b->lease_cap = b->taken_count;
    }
    return b->leased;
}

/* Of an entry of a queue, from its i-th message on; attempt 0: it was nowhere before. */
static mm_lease
lease_from(const mmi_msg *m, uint32_t i)
{
    if (m->number == 0) {
        return (mm_lease){ .peer = m->pipe_id };
    }
    return (mm_lease){ .peer = m->pipe_id,
                       .number = m->number + i,
                       .epoch = m->origin.epoch,
                       .seq = m->origin.number + (m->origin.attempt > 0 ? i : 0),
                       .attempt = m->origin.attempt };
}

/* The message i further on. */
static mm_lease
lease_at(mm_lease first, uint32_t i)
{
    if (first.number > 0) {
        first.number += i;
        first.seq = first.attempt == 0 ? first.number : first.seq + i;
        first.attempt = first.attempt == 0 ? 1 : first.attempt;
    }
    return first;
}

void
mmi_batch_lease_add(mmi_batch *b, uint32_t i, const mmi_span *span)
{
    b->lease[b->lease_count++] =
        (mmi_batch_lease){ .message = i, .first = lease_from(span->msg, span->first) };
}

/* The last run that begins at that message or before it: there is one. */
static const mmi_batch_lease *
lease_find(const mmi_batch *b, uint32_t message)
{
    uint32_t from = 0, to = b->lease_count;
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        if (b->lease[middle].message <= message) {
            from = middle;
        } else {
            to = middle;
        }
    }
    return &b->lease[from];
}

int
mm_batch_lease(const mm_batch *batch, uint32_t i, mm_lease *out)
{
    const mmi_batch *b = (const mmi_batch *)batch;
    *out = (mm_lease){ .number = 0 };
    if (b->whole != NULL) {
        *out = lease_at(lease_from(b->whole, b->whole_first), i);
    } else if (b->leased) {
        const mmi_batch_lease *run = lease_find(b, i);
        *out = lease_at(run->first, i - run->message);
    }
    return out->number > 0;
}
