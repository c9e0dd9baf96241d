/*
 * nowait.h: a spool for who must not wait for a disk, an event loop: putting what has room now, and being rung when
 * what was put is kept.
 *
 * Not here: waiting (spool/shared.h).
 * Law: nothing here waits for a disk or for another thread's work, but for the spool's lock, which nobody holds while
 * the disk works.  A watch rings once for each time that it was set.
 */
#ifndef MMI_SPOOL_NOWAIT_H
#define MMI_SPOOL_NOWAIT_H

#include "spool/shared.h"

/* Puts as many as have room at this moment.  MM_OK: all.  MM_EAGAIN: the rest is for a call that may wait: what waits
 * is to be written first, or there is no room.  Else as mmi_spool_put. */
int mmi_spool_nowait_put(mmi_spool_shared *h, const mmi_spool_record *records, size_t count, mmi_spool_did *did);
/* The spool's own thread is to write what was put: once for all that a loop put in a turn, so that it shares a sync. */
void mmi_spool_nowait_write(mmi_spool_shared *h);

/* Who is rung, by a descriptor that its owner waits for. */
struct mmi_spool_watch {
    mmi_spool_shared *spool;
    mmi_spool_watch *next;
    int bell;
    uint64_t written_at, durable_at;     /* rung once that much is so; UINT64_MAX: not */
};

/* What is so at this moment. */
typedef struct mmi_spool_kept {
    uint64_t last, written, durable;
    bool failed;
} mmi_spool_kept;

int mmi_spool_watch_open(mmi_spool_watch *w, mmi_spool_shared *h);   /* MM_EMFILE, MM_ENOMEM */
void mmi_spool_watch_close(mmi_spool_watch *w);                      /* before its spool is closed */
/* The descriptor is cleared, and rung once that number is written, or that one durable, or the spool failed: at once,
 * if it is so now. */
void mmi_spool_watch_set(mmi_spool_watch *w, uint64_t written_at, uint64_t durable_at, mmi_spool_kept *now);

#endif
