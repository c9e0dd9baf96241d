/*
 * link/shield.h: a link whose octets are protected: sealed between the plan of a write and the
 * stream, opened between the stream and the parser.
 *
 * A batch of plain octets is sealed record by record into a block of the link's, which is written
 * until it was taken; then comes the next.  Meanwhile the entries of the outbox that it is of are
 * pinned, and they count as written record by record.
 * Not here: the handshake (link/handshake.c), what a record is (wire/mechanism.h).
 * Law: a link without a mechanism, or with one that does not seal, has none of this, and asks only
 * whether link->shield is NULL; what was sealed and not taken when a link ends is thrown away, and
 * nothing more is written.
 */
#ifndef MMI_LINK_SHIELD_H
#define MMI_LINK_SHIELD_H

#include "link/inside.h"

/* The end of a record in a batch: octets from its beginning, plain and sealed. */
typedef struct mmi_link_record {
    size_t plain, sealed;
} mmi_link_record;

struct mmi_link_shield {
    mmi_shield of;
    uint8_t *out;                        /* the batch, sealed */
    size_t out_size, out_cap, out_left;  /* left: that the stream has not taken yet */
    mmi_link_record *records;
    uint32_t record_count, record_cap, record_next;   /* from that one on they are not counted yet */
    int read_error;                      /* of a read behind octets that are fed first; 0: none */
    int failed;                          /* open gave an error, and why; MM_OK: none */
    mmi_refusal why;
    bool more;                           /* open has more to give, or failed, and the inbox was full */
    mmi_octets early;                    /* the handshake opened them, and they were not given yet */
    bool farewell_due, farewell_now;     /* it is to be said that we end; in the present write */
    bool farewell_said;
};

/* A link whose handshake is done.  shield: is its from then on.  MM_ENOMEM: it is ended. */
int mmi_link_shield_begin(mmi_link *link, mmi_shield shield) MMI_WARN_UNUSED;
/* Who the peer proved to be in its handshake; false: nothing but the mechanism, and what the answer said
 * (link->pipe.known), is known. */
bool mmi_link_shield_who(const mmi_link *link, mmi_applicant *out);
void mmi_link_shield_free(mmi_link *link);
/* Octets of the handshake go in front of the first record, as they are.  MM_ENOMEM. */
int mmi_link_shield_first(mmi_link *link, const uint8_t *data, size_t size) MMI_WARN_UNUSED;

/* What the handshake opened behind itself, if it did (not NULL): it is given before anything else.
 * MM_ENOMEM. */
int mmi_link_shield_opened(mmi_link *link, const mmi_outer *outer) MMI_WARN_UNUSED;

/* The link is being written, and the lock is dropped.  Writes what is left of a batch, or one of the
 * beginning of these octets, and tells how many octets that batch still is of.  Octets of records that
 * were taken whole; or as writev, or seal. */
int64_t mmi_link_shield_write(mmi_link *link, const mmi_iov *iov, int n, size_t *total);

/* As a read of the stream, and its octets are fed: drops the lock.  discard: nobody is to have them.
 * MM_ECLOSED: the link is no longer what it was. */
int64_t mmi_link_shield_read(mmi_link *link, mmi_arena *arena, bool discard, size_t *offered);
/* Feeds what the handshake opened, and octets that came with its end, at most MMI_LINK_SHIELD_FIRST,
 * and changes them.  Drops the lock. */
enum { MMI_LINK_SHIELD_FIRST = 4096 };
void mmi_link_shield_feed(mmi_link *link, uint8_t *buf, size_t size);
/* The peer said that it ends, and all that came in front of that was fed. */
bool mmi_link_shield_closed(const mmi_link *link);
/* We are to say so, in the next write, which is the last one; once.  false: there is no need. */
static inline bool
mmi_link_shield_farewell(mmi_link *link)
{
    struct mmi_link_shield *s = link->shield;
    if (s == NULL || s->of.mechanism->farewell == NULL || s->farewell_said || link->cut) {
        return false;
    }
    s->farewell_due = s->farewell_said = true;
    return true;
}
static inline bool
mmi_link_shield_pending(const mmi_link *link)
{
    return link->shield != NULL && link->shield->farewell_due;
}
/* Between two records: an end here loses nothing. */
static inline bool
mmi_link_shield_idle(const mmi_link *link)
{
    const struct mmi_link_shield *s = link->shield;
    return s == NULL || s->of.mechanism->idle(s->of.self);
}
/* The inbox has room: feeds what open had more to give.  Drops the lock if there is any. */
void mmi_link_shield_resume(mmi_link *link);

#endif
