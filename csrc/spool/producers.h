/*
 * producers.h: who puts numbered messages into a spool, and how far each has come: the number of its last one, and
 * where that is.  So what one puts again, as it died before it was told, is known, and is not put twice.
 *
 * Not here: when that is asked and written (spool/log.c), what is read at opening (spool/producers_open.c).
 * Law: bounded: of MMI_PRODUCERS_MAX the one that put longest ago goes.  It follows from the messages in their order
 * alone; so what a file of it says of the messages up to a number, and then those behind it, give the same again.
 */
#ifndef MMI_SPOOL_PRODUCERS_H
#define MMI_SPOOL_PRODUCERS_H

#include "spool/keys.h"

enum { MMI_PRODUCERS_MAX = 10000 };      /* that are known at once */

typedef struct mmi_producer {
    uint8_t name[MMI_SPOOL_UUID];
    uint64_t number, seq;                /* of its last message: its own number, and the spool's */
    uint32_t run;                        /* messages up to that one whose numbers go up by one, both of them */
    uint32_t older, newer;               /* by seq; of the first and the last one anything */
    uint32_t next;                       /* of the same slot */
} mmi_producer;

/* All zeroes to begin. */
typedef struct mmi_producers {
    uint8_t secret[MMI_SPOOL_SECRET];    /* whoever chooses names cannot choose slots */
    mmi_producer *all;
    uint32_t *slots;
    uint32_t cap, count;                 /* cap: slots, a power of two, or 0 */
    uint32_t most;                       /* 0: MMI_PRODUCERS_MAX */
    uint32_t oldest, newest;             /* if there is one */
    uint64_t first_seq;                  /* of the first message that was noted; 0: none was */
    uint64_t forgotten;                  /* that went, as there were too many */
} mmi_producers;

void mmi_producers_fini(mmi_producers *p);   /* then it is empty */
const mmi_producer *mmi_producers_find(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID]);   /* or NULL */
/* Was that number of it, or a later one, put?  *seq: the message's number, if it stands in a row with the last one;
 * else 0. */
bool mmi_producers_repeats(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID], uint64_t number, uint64_t *seq);
/* Room to note one more.  MM_ENOMEM. */
int mmi_producers_reserve(mmi_producers *p) MMI_WARN_UNUSED;
/* It put that number, and seq is above all that were noted; room was reserved. */
void mmi_producers_note(mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID], uint64_t number, uint64_t seq);

/* spool/producers_image.c: the octets of a file of it (docs/spool-format.md): of all messages up to that number of the
 * spool.  NULL: no memory. */
enum {
    MMI_PRODUCERS_HEAD = 48,             /* octets */
    MMI_PRODUCERS_EACH = 40              /* octets */
};
uint8_t *mmi_producers_image(const mmi_producers *p, const uint8_t uuid[MMI_SPOOL_UUID], uint64_t seq, size_t *size);
void mmi_producers_seal(uint8_t *image, size_t size);      /* its CRC is set */
/* Into an empty table.  MM_OK, and *seq; MM_EPROTO: it is none, harmed, or another spool's; MM_ENOTSUP: of a later
 * version; MM_ENOMEM.  Then the table may have some of it. */
int mmi_producers_read(mmi_producers *p, const uint8_t *image, size_t size, const uint8_t uuid[MMI_SPOOL_UUID],
                       uint64_t *seq) MMI_WARN_UNUSED;

#endif
