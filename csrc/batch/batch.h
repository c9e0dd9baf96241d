/*
 * batch.h: received messages on their way to the user: taken under the lock, copied without it.
 *
 * Law: a batch belongs to one thread; its arrays are reused, and given back when they were huge.
 */
#ifndef MMI_BATCH_H
#define MMI_BATCH_H

#include "base/segment.h"
#include "meshmsg_binding.h"

enum {
    MMI_BATCH_INLINE_MAX = 262144,           /* bytes: a larger frame is given by reference */
    MMI_BATCH_SPANS_MAX = 4096,              /* entries of queues it takes them from */
    MMI_BATCH_WHOLE_MIN = 32                 /* messages of one segment that are worth no copy */
};

/* What goes with one of its messages. */
typedef struct mmi_batch_note {
    uint32_t message;
    mmi_meta *meta;
} mmi_batch_note;

/* What its messages are acknowledged by, from that one on to the next of these; attempt 0: they were nowhere before. */
typedef struct mmi_batch_lease {
    uint32_t message;
    mm_lease first;
} mmi_batch_lease;

typedef struct mmi_batch {
    mm_batch pub;                            /* first: what the user sees */
    mmi_span *taken;                         /* taken from the socket, not copied yet */
    uint32_t taken_count, taken_cap;
    uint32_t message_count;                  /* of those */
    uint64_t bytes;
    uint64_t gather_end_ns;                  /* when a receive that gathers is over */
    mmi_msg *whole;                          /* the entry that pub points into, or NULL */
    uint32_t whole_first;                    /* pub's first message in it */
    mmi_batch_lease *lease;                  /* of what was copied, in its order; or NULL */
    uint32_t lease_count, lease_cap;
    bool leased;                             /* it has them */
    mmi_batch_note *note;                    /* what goes with messages of what was copied */
    uint32_t note_count, note_cap;
    mmi_known **known;                       /* whom peers of what was copied are known as */
    uint32_t known_count, known_cap;
    atomic_uint refs;                        /* its user, and each array exported from it */
    bool lasting;                            /* its user may keep it for long */
    uint8_t *body;                           /* bodies of messages of several frames */
    uint32_t *body_offset;
    size_t body_cap;
    uint32_t body_offset_cap;
    uint8_t *data;
    uint64_t *peer;
    uint32_t *offset, *first_frame, *envelope;
    size_t data_cap;
    uint32_t frame_cap, message_cap;
} mmi_batch;

/* Empties the batch. Room for one span more than it has; MM_ENOMEM. */
void mmi_batch_reset(mmi_batch *b);
int mmi_batch_reserve(mmi_batch *b) MMI_WARN_UNUSED;
void mmi_batch_add(mmi_batch *b, const mmi_span *span);     /* takes its reference */
/* Would a lasting batch of this span alone pin much more than it is?  Then it will be a copy. */
bool mmi_batch_pins(const mmi_batch *b, const mmi_span *span);
int mmi_batch_reserve_lent(mmi_batch *b) MMI_WARN_UNUSED;   /* room for lend; MM_ENOMEM */
void mmi_batch_lend(mmi_batch *b, mmi_msg *m);   /* all of it is m, by reference; takes it */
/* Makes the public arrays of what was taken, by reference or by copy. MM_ENOMEM: *lost says how
 * many messages could not be kept. */
int mmi_batch_fill(mmi_batch *b, uint32_t *lost) MMI_WARN_UNUSED;
/* Then: sets body and body_offset.  MM_ENOMEM, MM_EMSGSIZE: over 2^31 - 1 bytes. */
int mmi_batch_bodies(mmi_batch *b) MMI_WARN_UNUSED;
mmi_batch *mmi_batch_ref(mmi_batch *b);
/* batch/known.c.  Room for those of what was taken; false: no memory.  Then what is copied is known as that. */
bool mmi_batch_known_room(mmi_batch *b) MMI_WARN_UNUSED;
void mmi_batch_known_add(mmi_batch *b, mmi_known *known);
void mmi_batch_known_drop(mmi_batch *b);
/* batch/lease.c.  Likewise: room for what is known of what was taken; then that of a span, as message i and on. */
bool mmi_batch_lease_room(mmi_batch *b) MMI_WARN_UNUSED;
void mmi_batch_lease_add(mmi_batch *b, uint32_t i, const mmi_span *span);
/* batch/note.c.  Likewise, of what goes with messages; add: with message i, if anything does. */
bool mmi_batch_note_room(mmi_batch *b) MMI_WARN_UNUSED;
void mmi_batch_note_add(mmi_batch *b, uint32_t i, const mmi_msg *m);
void mmi_batch_note_drop(mmi_batch *b);
/* Of message i, which there is: leading frames that are routing; frame j, those included. */
uint32_t mmi_batch_envelope(const mm_batch *batch, uint32_t i);
const void *mmi_batch_frame(const mm_batch *batch, uint32_t i, uint32_t j, size_t *size);

#endif
