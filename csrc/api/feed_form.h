/*
 * api/feed_form.h: the messages of a spool that go to its socket at once, in their order: small ones of one frame, with
 * nothing beside it, many in a segment; the others by themselves.
 *
 * A message of a segment has an AGAIN in front of it, with its number in the spool, as one by itself has; those of a
 * segment have numbers in a row, so that its key tells all of them.
 * Not here: reading, and what is done with them (api/feed_run.c).
 * Law: a segment is made only for a socket with one peer, which acknowledges: several take turns by the message.
 */
#ifndef MMI_FEED_FORM_H
#define MMI_FEED_FORM_H

#include "api/feed.h"

/* What the socket takes at the moment. */
typedef struct mmi_feed_shape {
    const mmi_framing *framing;  /* of its segments; NULL: it takes none */
    uint32_t most;               /* messages of one */
    uint64_t size_max;           /* octets of a message in one */
} mmi_feed_shape;

typedef struct mmi_feed_form {
    mmi_msg *entries[FEED_RUN];  /* messages and segments */
    uint64_t seqs[FEED_RUN];     /* numbers: of a segment that of its first message */
    size_t count, sent;          /* entries */
    size_t messages;             /* of all entries that joined */
    mmi_feed_shape shape;
} mmi_feed_form;

/* Messages that were read, as they are in the spool: the reader has their octets. */
typedef struct mmi_feed_read {
    mmi_spool_record records[FEED_RUN];
    uint64_t seqs[FEED_RUN];
    bool done[FEED_RUN];
    uint32_t beside[FEED_RUN];   /* from each on, that may go in one segment; 0: it goes by itself */
    size_t count;
} mmi_feed_read;

/* Asks the socket how messages are to be formed, and says so of each of those. */
void mmi_feed_form_shape(mmi_feed_form *run, mm_feed *f, mmi_feed_read *read, uint64_t now_us);
/* The i-th joins the run; there is room.  life: as receivers know that of the spool.  MM_ENOMEM. */
int mmi_feed_form_join(mmi_feed_form *run, const mmi_feed_read *read, size_t i, uint64_t life) MMI_WARN_UNUSED;
/* The same of one that goes by itself. */
int mmi_feed_form_add(mmi_feed_form *run, const mmi_spool_record *r, uint64_t seq, uint64_t life) MMI_WARN_UNUSED;
/* Sends the segment that is next.  The engine is locked.  MM_OK: it is gone; MM_EAGAIN; MM_ENOMEM; MM_ENOTSUP: its
 * messages are to go by themselves. */
int mmi_feed_form_send_segment(mmi_feed_form *run, mmi_socket *s) MMI_WARN_UNUSED;
/* Puts the messages of the segment that is next in its place.  MM_ENOMEM: nothing has changed. */
int mmi_feed_form_open(mmi_feed_form *run) MMI_WARN_UNUSED;

#endif
