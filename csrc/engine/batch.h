/*
 * batch.h: received messages on their way to the user: taken under the lock, copied without it.
 *
 * Law: a batch belongs to one thread; its arrays are reused, and given back when they were huge.
 */
#ifndef MMI_BATCH_H
#define MMI_BATCH_H

#include "base/msg.h"

enum { MMI_BATCH_MESSAGES_MAX = 4096 };      /* messages a batch takes at most */

typedef struct mmi_batch {
    mm_batch pub;                            /* first: what the user sees */
    mmi_msg **taken;                         /* taken from the socket, not copied yet */
    uint32_t taken_count, taken_cap;
    uint8_t *data;
    uint64_t *offset, *peer;
    uint32_t *first_frame, *envelope;
    size_t data_cap;
    uint32_t frame_cap, message_cap;
} mmi_batch;

int mmi_batch_reserve(mmi_batch *b,
                      uint32_t messages) MMI_WARN_UNUSED; /* room in taken; MM_ENOMEM */
/* Copies what was taken into the public arrays. MM_ENOMEM: *lost says how many messages could not
 * be kept. */
int mmi_batch_fill(mmi_batch *b, uint32_t *lost) MMI_WARN_UNUSED;

#endif
