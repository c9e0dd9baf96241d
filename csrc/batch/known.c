/*
 * batch/known.c: whom the peers of what was copied into a batch are known as.
 *
 * Not here: copying (batch/batch.c); what is given by reference, whose message has it.
 * Law: all messages of a socket are of peers that are known, or none; room is made before a copy.
 */
#include "batch/batch.h"

bool
mmi_batch_known_room(mmi_batch *b)
{
    uint32_t want = b->taken_count > 0 && b->taken[0].msg->known != NULL ? b->taken_count : 0;
    if (want > b->known_cap) {
        mmi_known **grown = mmi_realloc(b->known, want * sizeof(mmi_known *));
        if (grown == NULL) {
            return false;
        }
        b->known = grown;
        b->known_cap = want;
    }
    return true;
}

void
mmi_batch_known_add(mmi_batch *b, mmi_known *known)
{
    bool again = b->known_count > 0 && b->known[b->known_count - 1] == known;
    if (!again && b->known_count < b->known_cap) {
        b->known[b->known_count++] = mmi_known_ref(known);
    }
}

void
mmi_batch_known_drop(mmi_batch *b)
{
    while (b->known_count > 0) {
        mmi_known_unref(b->known[--b->known_count]);
    }
}

int
mm_batch_known(const mm_batch *batch, uint64_t peer, mm_known *out)
{
    const mmi_batch *b = (const mmi_batch *)batch;
    const mmi_known *found = b->whole != NULL ? b->whole->known : NULL;
    for (uint32_t i = 0; i < b->known_count && found == NULL; i++) {
        found = b->known[i]->pipe_id == peer ? b->known[i] : NULL;
    }
    if (found != NULL) {
        *out = (mm_known){ .user_id = found->user_id,
                           .mechanism = found->mechanism,
                           .properties = found->properties,
                           .properties_size = found->properties_size,
                           .metadata = found->metadata,
                           .metadata_size = found->metadata_size };
    }
    return found != NULL;
}
