/*
 * segment.h: several messages in one block, as one entry of a queue: so a message costs a copy and
 * no allocation.  A segment to be sent holds them as they go on the wire, end to end; a received one
 * holds their bodies end to end and where each begins, which is how Arrow lays out binary data.
 *
 * Law: bytes once appended never move or change, so a segment may be read by who holds a reference
 * while more is appended; first, used and count belong to whoever holds the queue's lock.
 */
#ifndef MMI_SEGMENT_H
#define MMI_SEGMENT_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/msg.h"

enum {
    MMI_SEGMENT_CAP = 128 * 1024,     /* bytes of a segment that is filled by a burst                  */
    MMI_SEGMENT_FIRST_CAP = 2 * 1024, /* bytes of a segment when nothing else is queued                */
    MMI_SEGMENT_IN_BYTES = 96 * 1024, /* bytes of a copied one: what malloc gives without mmap      */
    MMI_SEGMENT_IN_BLOCK = 124 * 1024, /* bytes, head included, of a received one that needs above half of it */
    MMI_SEGMENT_KEEPS_MIN = MMI_IO_BUFFER_SIZE / 2, /* bytes: one that stays in its arena           */
    MMI_SEGMENT_FRAMES_MAX = 16       /* frames of a message in a received segment                     */
};

struct mmi_framing;            /* wire/framing.h: how messages look on a wire */

typedef struct mmi_segment_out {
    mmi_msg msg;               /* kind MMI_MSG_SEGMENT_OUT                       */
    const struct mmi_framing *framing; /* whose octets these are                      */
    size_t first, used, cap;   /* octets: where the first message begins, ... */
    size_t room;               /* of the block, whatever was cut off; 0: a view has none */
    uint8_t *data;
    mmi_msg *owner;            /* of a view: the segment whose octets these are; else NULL */
} mmi_segment_out;

typedef struct mmi_segment_in {
    mmi_msg msg;               /* kind MMI_MSG_SEGMENT_IN; msg.count are left    */
    uint32_t first;            /* the first message that is left              */
    uint32_t one_size;         /* not 0: every message is one frame of that size */
    uint32_t *offset;          /* where frame j begins; one more than frames  */
    uint32_t *first_frame;     /* of message i; NULL: every message is one frame */
    mmi_arena *arena;          /* that data is in; NULL: it is in this block   */
    size_t pinned;              /* octets that a reference keeps: this block and the arena */
    uint8_t *data;
} mmi_segment_in;

/* Some messages of an entry: count of them from the first-th of the segment; a reference to it. */
typedef struct mmi_span {
    mmi_msg *msg;
    uint32_t first, count;
    size_t bytes;              /* of all their frames */
} mmi_span;

static inline mmi_segment_out *
mmi_segment_out_of(mmi_msg *m)
{
    return m->kind == MMI_MSG_SEGMENT_OUT ? MMI_CONTAINER_OF(m, mmi_segment_out, msg) : NULL;
}

static inline mmi_segment_in *
mmi_segment_in_of(mmi_msg *m)
{
    return m->kind == MMI_MSG_SEGMENT_IN ? MMI_CONTAINER_OF(m, mmi_segment_in, msg) : NULL;
}

mmi_segment_out *mmi_segment_out_new(const struct mmi_framing *framing,
                               size_t cap) MMI_WARN_UNUSED;               /* NULL: no memory */
/* A view: an empty segment over the octets of another from at on.  Whoever appends to that one may let
 * the view, while it ends there, have what was appended (mmi_segment_out_follow), so that what goes to
 * many stands in memory once.  NULL: no memory. */
mmi_segment_out *mmi_segment_out_view(mmi_segment_out *owner, size_t at) MMI_WARN_UNUSED;
/* The same in two steps, of which the second cannot fail: of nothing yet, to be given up by
 * mmi_msg_unref; then of octets of that owner. */
mmi_segment_out *mmi_segment_out_view_of_nothing(void) MMI_WARN_UNUSED;
void mmi_segment_out_view_begin(mmi_segment_out *view, mmi_segment_out *owner, size_t at);
/* Do the numbers of a segment go on with those of the other (mmi_msg.key)?  Likewise if neither has any. */
static inline bool
mmi_segment_out_follows(const mmi_msg *before, const mmi_msg *m)
{
    return before->key == 0 ? m->key == 0 : m->key == before->key + before->count;
}
/* That message, taken out of a segment by itself, is its i-th: it has the number of that. */
static inline void
mmi_segment_out_gave(const mmi_segment_out *segment, uint64_t i, mmi_msg *m)
{
    m->key = segment->msg.key > 0 ? segment->msg.key + i : 0;
    m->alone |= m->key > 0;
}
/* The view now reaches to an octet of its owner; what it holds more is for its queue to count. */
static inline void
mmi_segment_out_follow(mmi_segment_out *view, size_t end)
{
    view->used = view->cap = end;   /* nothing else is ever appended to it */
}
/* base/segment_spare.c: a block of MMI_SEGMENT_CAP octets and a head that was kept; NULL: there is none. */
void *mmi_segment_spare(void);
void *mmi_segment_in_spare(void);   /* the same of MMI_SEGMENT_IN_BLOCK octets in all */
/* Of mmi_msg_unref: nobody holds it any more.  true: it is kept for the next; false: to be freed. */
bool mmi_segment_unused(mmi_msg *m);
/* A segment of its own with a copy of the count messages from octet at to octet end.  NULL: no memory.
 */
mmi_segment_out *mmi_segment_out_copy(const mmi_segment_out *segment, size_t at, size_t end, uint32_t count,
                                size_t cost) MMI_WARN_UNUSED;
/* A new segment with the count messages from octet at on, which it takes out of segment.  NULL: no
 * memory, nothing has changed.  The copy is this segment's alone. */
mmi_segment_out *mmi_segment_out_split(mmi_segment_out *segment, size_t at, uint32_t count,
                                 size_t cost) MMI_WARN_UNUSED;

/* For messages and frames (as many as messages: every message is one), of so many bytes. */
mmi_segment_in *mmi_segment_in_new(uint32_t messages, uint32_t frames,
                             size_t bytes) MMI_WARN_UNUSED;               /* NULL: no memory */
/* The same, but they are at data, in an arena, to which it takes a reference. */
mmi_segment_in *mmi_segment_in_over(uint32_t messages, uint32_t frames, size_t bytes, mmi_arena *arena,
                              uint8_t *data) MMI_WARN_UNUSED;              /* NULL: no memory */
/* The frames of message i: from *frame, count of them. */
uint32_t mmi_segment_in_frames(const mmi_segment_in *segment, uint32_t i, uint32_t *frame);
/* Bytes of messages [i, i + count), and what a queue charges for them. */
size_t mmi_segment_in_bytes(const mmi_segment_in *segment, uint32_t i, uint32_t count);
size_t mmi_segment_in_cost(const mmi_segment_in *segment, uint32_t i, uint32_t count);
/* How many of the messages that are left are within max_bytes: at least 1. */
uint32_t mmi_segment_in_within(const mmi_segment_in *segment, uint32_t max_messages, size_t max_bytes);
/* Takes out the messages, all of one frame, that keep (asked once for each) does not want; how
 * many. Only while nobody else holds it, and none was taken. */
typedef bool (*mmi_segment_keep)(void *arg, const uint8_t *data, size_t size);
uint32_t mmi_segment_in_sift(mmi_segment_in *segment, mmi_segment_keep keep, void *arg);
/* Takes a segment of which that many bytes were there before a sift: a copy of its own size, should it
 * hold much more than it is charged for; else, or without memory, itself. */
mmi_segment_in *mmi_segment_in_fit(mmi_segment_in *segment, size_t before) MMI_WARN_UNUSED;
mmi_msg *mmi_segment_in_copy(const mmi_segment_in *segment, uint32_t i) MMI_WARN_UNUSED; /* as a message */

#endif
