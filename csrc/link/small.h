/*
 * link/small.h: what is little, written or read for several links with the lock dropped once.
 *
 * A question to a hundred peers is a hundred writes of two microseconds each, and as many reads of
 * half of one.  One by one, the lock and the clock are asked for between any two, who works beside
 * us waits for the lock as often, and our own code is cold again after each system call.
 * Not here: whatever is more than a little (link/write.c, link/read.c).
 * Law: a link that was added is being written, or read: nobody else does, nor frees it, until that
 * is over; to write or read them all drops the lock.
 */
#ifndef MMI_LINK_SMALL_H
#define MMI_LINK_SMALL_H

#include "link/link.h"

enum {
    MMI_SMALL_LINKS = 8,                 /* at once */
    MMI_SMALL_WRITE = 512,               /* bytes a link */
    MMI_SMALL_READ = 4 * 1024            /* the same; one that had no more is read with others */
};

/* A write of a link. */
typedef struct mmi_link_write {
    int64_t n;                           /* octets; a negative mm_err; MM_ECLOSED also: the link
                                            is no longer what it was */
    size_t total;                        /* that were offered */
    uint64_t at_ns;                      /* what comes from then on answers it */
    bool full;                           /* as much as a write takes */
} mmi_link_write;

typedef struct mmi_small_write {
    mmi_link *link;
    const mmi_msg *front;                /* of its outbox */
    const uint8_t *octets;               /* its own, or those of one before with the same front */
    mmi_link_write write;
    uint64_t written_before;
    int stream;
    uint8_t own[MMI_SMALL_WRITE];
} mmi_small_write;

typedef struct mmi_small_writes {
    uint32_t count;
    mmi_small_write at[MMI_SMALL_LINKS];
} mmi_small_writes;

typedef struct mmi_small_reads {
    uint32_t count;
    mmi_link *link[MMI_SMALL_LINKS];
    int stream[MMI_SMALL_LINKS];
    int64_t n[MMI_SMALL_LINKS];          /* what the reads gave */
    bool more[MMI_SMALL_LINKS];          /* there may be */
} mmi_small_reads;

/* false: it is to be flushed by itself, or there is no more room here. */
bool mmi_small_writes_add(mmi_small_writes *all, mmi_link *link);
void mmi_small_writes_run(mmi_small_writes *all, mmi_engine *e);   /* and none is left in it */

/* The same for one that poll says can be read. */
bool mmi_small_reads_add(mmi_small_reads *all, mmi_link *link);
void mmi_small_reads_run(mmi_small_reads *all, mmi_engine *e);

#endif
