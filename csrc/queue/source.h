/*
 * queue/source.h: what keeps the messages of a PUSH until they are done, so that the socket need not: a spool.
 *
 * A message of it has its number there as its receipt (mmi_msg.key), and each is known there by that.  Those of a
 * segment have numbers in a row.  What the socket
 * gives up is not lost, and so not counted as dropped: its source has it, and may give it again.
 * Not here: who reads the source and sends (api/feed.c).
 * Law: called with the engine's lock held; none of these calls the socket.
 */
#ifndef MMI_SOURCE_H
#define MMI_SOURCE_H

#include "base/base.h"

typedef struct mmi_source {
    void *arg;                                   /* NULL: there is no source */
    /* Of count numbers from first on: mm_receipt; DROPPED: they are not done; OPEN: nor are they, and
     * they are to be dead letters, for which there is no room: they are given again in a while, with the attempt
     * that they have now, and to nobody else. */
    void (*told)(void *arg, uint64_t first, uint64_t count, int outcome);
    void (*dead)(void *arg, int by);             /* so many more, or fewer, wait as dead letters, and are not done */
    uint64_t (*later)(void *arg, uint64_t *due_us);   /* messages that wait for their time; since 1970, the first's */
    uint64_t (*left)(void *arg);                 /* messages that are not done, but for those */
    int (*failed)(void *arg);                    /* it gives no more: an error; MM_OK */
    void (*gone)(void *arg);                     /* the socket asks nothing more */
    /* The socket is about to be closed: it notes no ACK any more, and writes nothing to who sends none. */
    bool settled;
} mmi_source;

#endif
