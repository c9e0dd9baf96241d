/*
 * msg.h: a message: one or more frames, refcounted, immutable once it is queued.
 *
 * Not here: how frames look on the wire.  The codec may leave each frame's encoded head in the
 * message (frame.head), so that a message that goes to many peers is encoded once.
 * Law: frames of one message live as long as the message; a message made from others (prepend,
 * strip, join) holds references to them and copies no body.  refs is atomic, all else is not.
 */
#ifndef MMI_MSG_H
#define MMI_MSG_H

#include <stdatomic.h>

#include "base/known.h"
#include "base/meta.h"

enum { MMI_FRAME_HEAD_MAX = 9, MMI_BORROW_FRAMES_MAX = 8 };

typedef struct mmi_frame {
    const uint8_t *data;
    size_t size;
    uint8_t head[MMI_FRAME_HEAD_MAX];  /* encoded flags and size                    */
    uint8_t head_size;                 /* 0: not encoded yet                        */
} mmi_frame;

/* What stands in a queue: one message, or a segment of several (base/segment.h). */
typedef enum mmi_msg_kind { MMI_MSG_ONE, MMI_MSG_SEGMENT_OUT, MMI_MSG_SEGMENT_IN } mmi_msg_kind;

/* Where a message was first, of one whose receivers acknowledge: which connection of its sender, and
 * which number it had there.  attempt: how often it was handed to somebody, this time included; 0:
 * this is where it is first.  Of a received segment: its message at 0, the others follow. */
typedef struct mmi_origin {
    uint64_t epoch, number;
    uint32_t attempt;
} mmi_origin;

typedef struct mm_msg {
    atomic_uint refs;
    uint8_t kind;              /* mmi_msg_kind                                      */
    bool borrowed;             /* lives on its sender's stack, body and all         */
    bool alone;                /* it goes into no segment: it has more than octets, or a receipt */
    uint32_t count;            /* messages: 1, or those of the segment                 */
    uint32_t frame_count;
    uint32_t envelope_count;   /* leading frames that are routing, not content      */
    uint32_t owner_count;
    uint64_t pipe_id;          /* received: from whom.  to be sent: to whom, or 0   */
    mmi_known *known;          /* received: whom its peer is known as, or NULL      */
    uint64_t key;              /* REQ: the request id; of what a source has its number there (queue/source.h),
                                  of a segment to be sent that of its first: the others follow. 0: none */
    uint64_t number;           /* received and counted: on its connection, from 1; of a segment, that of
                                  the message at 0.  0: not counted */
    mmi_origin origin;
    uint64_t due_ns;           /* handed out no sooner, by the clock of its engine; 0: at once */
    uint8_t priority;          /* from 0 on: the highest first (queue/levels.h)         */
    mmi_meta *meta;            /* what goes with it, or NULL; of a segment NULL      */
    size_t size;               /* bytes of all frames                               */
    size_t cost;               /* of a segment: what a queue charges for it            */
    mmi_frame *frames;
    struct mm_msg **owners;    /* messages that own frames this one refers to       */
    void *adopted;             /* a malloc'ed body this message frees               */
} mmi_msg;

/* One block with room for frames of these sizes; frames[i].data may be written through
 * mmi_msg_data. */
mmi_msg *mmi_msg_new(const uint64_t *sizes, uint32_t count) MMI_WARN_UNUSED; /* NULL: no memory */
mmi_msg *mmi_msg_copy(const uint8_t *body, size_t size) MMI_WARN_UNUSED;           /* one frame */
mmi_msg *mmi_msg_copy_frames(const uint8_t *bodies, const uint64_t *sizes,
                             uint32_t count) MMI_WARN_UNUSED;
mmi_msg *mmi_msg_gather(const mm_body *frames, uint32_t count) MMI_WARN_UNUSED;   /* likewise */
/* One frame over a block from mmi_alloc/mmi_realloc, which the message then owns.  NULL: the caller
 * still does. */
mmi_msg *mmi_msg_adopt(uint8_t *block, size_t size) MMI_WARN_UNUSED;
/* One message whose frames are those of parts[0..count), in order; takes the parts.  NULL: the
 * caller keeps them. */
mmi_msg *mmi_msg_join(mmi_msg **parts, uint32_t count) MMI_WARN_UNUSED;
/* A message with one more frame in front; takes m.  NULL: the caller keeps m. pipe_id, key,
 * envelope_count are kept. */
mmi_msg *mmi_msg_prepend(mmi_msg *m, const uint8_t *body, size_t size) MMI_WARN_UNUSED;
/* The same with count frames, whose bodies lie end to end. */
mmi_msg *mmi_msg_prepend_frames(mmi_msg *m, const uint8_t *bodies, const uint64_t *sizes,
                                uint32_t count) MMI_WARN_UNUSED;
/* Undoes a prepend of which nobody else holds a reference: frees it and gives back the message that
 * went in. */
mmi_msg *mmi_msg_unwrap(mmi_msg *m);
/* The same message without its first count frames (count < frame_count); takes m.  NULL: the caller
 * keeps m. A message with one reference is changed in place, which cannot fail.  envelope_count
 * shrinks by count. */
mmi_msg *mmi_msg_strip(mmi_msg *m, uint32_t count) MMI_WARN_UNUSED;

/* A message of one frame over memory of the caller's, in memory of the caller's: no allocation, and
 * nothing to free.  Whoever wants to keep it takes mmi_msg_own of it. */
void mmi_msg_borrow(mmi_msg *m, mmi_frame *frame, const uint8_t *body, size_t size);
/* One frame more of such a message, behind the others: its frame is then the first of an array of
 * MMI_BORROW_FRAMES_MAX. */
void mmi_msg_borrow_more(mmi_msg *m, const uint8_t *body, size_t size);
/* Takes m: itself, or of a borrowed one a copy.  NULL: no memory, the caller keeps m. */
mmi_msg *mmi_msg_own(mmi_msg *m) MMI_WARN_UNUSED;

/* It came from that peer; of m nobody else has a reference. */
static inline void
mmi_msg_from(mmi_msg *m, uint64_t pipe_id, mmi_known *known)
{
    m->pipe_id = pipe_id;
    m->known = mmi_known_ref(known);
}
mmi_msg *mmi_msg_ref(mmi_msg *m);
void mmi_msg_unref(mmi_msg *m);                     /* NULL is fine */
static inline bool                                  /* does anybody else hold it? */
mmi_msg_shared(const mmi_msg *m)
{
    return atomic_load_explicit(&m->refs, memory_order_acquire) != 1;
}
static inline uint8_t *mmi_msg_data(mmi_msg *m, uint32_t i) { return (uint8_t *)m->frames[i].data; }
size_t
mmi_msg_cost(const mmi_msg *m); /* bytes a queue charges: bodies and MMI_FRAME_OVERHEAD a frame */

#endif
