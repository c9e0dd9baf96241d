/*
 * batch/lease.c: by which numbers the messages of a batch are acknowledged, and where they were
 * first.
 *
 * Not here: acknowledging (queue/acks.c).
 * Law: of what is given by reference, its message says so; of what was copied, an array; room is
 * made before a copy.
 */
#include "batch/batch.h"

bool
mmi_batch_lease_room(mmi_batch *b)
{
    b->leased = false;
    for (uint32_t i = 0; i < b->taken_count && !b->leased; i++) {
        b->leased = b->taken[i].msg->number > 0;
    }
    if (!b->leased || b->message_count <= b->lease_cap) {
        return true;
    }
    mm_lease *grown = mmi_realloc(b->lease, b->message_count * sizeof *grown);
    b->leased = grown != NULL;
    if (grown != NULL) {
        b->lease = grown;
        b->lease_cap = b->message_count;
    }
    return b->leased;
}

/* The i-th message of an entry of a queue. */
static mm_lease
lease_of(const mmi_msg *m, uint32_t i)
{
    if (m->number == 0) {
        return (mm_lease){ .peer = m->pipe_id };
    }
    mm_lease lease = { .peer = m->pipe_id,
                       .number = m->number + i,
                       .epoch = m->origin.epoch,
                       .seq = m->origin.number,
                       .attempt = m->origin.attempt };
    if (lease.attempt == 0) {
        lease.seq = lease.number;
        lease.attempt = 1;
    }
    return lease;
}

void
mmi_batch_lease_add(mmi_batch *b, uint32_t i, const mmi_span *span)
{
    for (uint32_t k = 0; k < span->count; k++) {
        b->lease[i + k] = lease_of(span->msg, span->first + k);
    }
}

int
mm_batch_lease(const mm_batch *batch, uint32_t i, mm_lease *out)
{
    const mmi_batch *b = (const mmi_batch *)batch;
    *out = (mm_lease){ .number = 0 };
    if (b->whole != NULL) {
        *out = lease_of(b->whole, b->whole_first + i);
    } else if (b->leased) {
        *out = b->lease[i];
    }
    return out->number > 0;
}
