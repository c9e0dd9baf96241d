/*
 * api/feed.h: a PUSH whose messages are in a spool: a thread reads them there and gives them to the socket, within its
 * queues; a cursor of the spool has those that are done.
 *
 * The number of a message in the spool is its receipt in the socket, and with the uuid of the spool and the epoch of
 * its batch it is what receivers know it by: also when it is sent again by another process.
 * Not here: the spool (spool/shared.h), what the socket does with a message (queue/backlog.h).
 * Law: the engine's lock is taken before `lock`, and that before the spool's.  What is in flight has room in `again`,
 * so that the socket may give it up without memory.  The thread alone reads.
 */
#ifndef MMI_FEED_H
#define MMI_FEED_H

#include <stdatomic.h>

#include "api/api.h"
#include "api/spool.h"
#include "queue/drop.h"
#include "spool/shared_cursors.h"

enum {
    FEED_RUN = 256,              /* messages that are read, and then sent, at once */
    FEED_AGAIN_MAX = 1024 * 1024,   /* messages that wait for their time: 24 MiB */
    FEED_SPAN_MAX = MMI_CURSOR_SPAN_MAX / 2,   /* from the first that is not done to the last that is read */
    FEED_ODD_MAX = 4096,         /* runs of messages that are remembered that were not acknowledged */
    FEED_SWEEP = 1024            /* messages that are looked for at once, of those that were removed */
};

/* A message that is to be sent once that time has come. */
typedef struct feed_later {
    uint64_t due_us, seq;
    bool spent;                  /* its attempts are over: it is not sent, but waits for room among dead letters */
} feed_later;

static const uint32_t FEED_SPENT = UINT32_MAX;   /* the attempt of one that is read for that */

/* Messages that are done, and were not acknowledged. */
typedef struct feed_odd {
    uint64_t first, last;
    int outcome;                 /* mm_receipt */
} feed_odd;

struct mm_feed {
    atomic_uint refs;            /* its owner's, and the socket's */
    mm_handle socket;
    pthread_mutex_t lock;
    mmi_spool_shared *shared;    /* NULL: it was closed */
    mmi_spool_cursor *cursor;
    feed_later *again;           /* a heap: what is due first is at 0 */
    size_t again_count, again_cap;
    uint64_t delayed;            /* of those, the ones whose time was said by who sent them */
    uint64_t in_flight;          /* that the socket has */
    uint64_t dead;               /* of those, dead letters that nobody has yet */
    uint64_t left;               /* as it was closed */
    feed_odd odd[FEED_ODD_MAX];
    uint64_t odd_count;
    mm_feed_info counts;
    uint64_t unkept;             /* messages that a full spool did not keep, as it was told of last */
    bool of_group;               /* at a PUB, which has the spool, and others there are its groups */
    bool stop;
    bool told;                   /* that it does not go on */
    bool blocked;                /* too many wait: nothing is read until some are done */
    uint64_t swept;              /* none of `again` below that was removed */
    uint64_t bared;              /* what is in flight below that was removed, and that is told */
    uint64_t clock_us;           /* how far the wall clock was ahead of the monotonic one; 0: not known */
    void *thread;
    mmi_spool_reader reader, seeker;   /* in order; and of one that is sent again */
};

/* The same for a group at a PUB; one whose cursor is not there begins with that number.  As mm_feed_open. */
int mmi_feed_open_group(mm_handle socket, mmi_spool_shared *shared, const char *name, uint64_t from,
                        mm_feed **feed) MMI_WARN_UNUSED;
/* api/feed_run.c: the thread. */
void mmi_feed_run(void *arg);
/* api/feed_heap.c.  add: there is room.  MM_ENOMEM. */
int mmi_feed_reserve(mm_feed *f, size_t more) MMI_WARN_UNUSED;
void mmi_feed_add(mm_feed *f, feed_later one);
bool mmi_feed_take(mm_feed *f, uint64_t now_us, feed_later *one);   /* one whose time has come */
/* The wall clock was set by that much: what waits does so for as long as it was to. */
void mmi_feed_move(mm_feed *f, int64_t by_us);
/* The time since 1970, having seen to what waits if the clock was set since the last look.  Without the lock. */
uint64_t mmi_feed_clock(mm_feed *f);
size_t mmi_feed_take_below(mm_feed *f, uint64_t seq, uint64_t *seqs, size_t most);   /* whatever their times */
/* api/feed_fates.c.  told: as mmi_source has it. */
void mmi_feed_told(void *arg, uint64_t first, uint64_t count, int outcome);
/* One that is spent is a dead letter, if there is room for another one; else it is told as it was.  Takes it. */
void mmi_feed_letter(mmi_socket *s, mmi_msg *m);
uint64_t mmi_feed_letters_at(mm_feed *f);   /* when those that are spent are looked at: not before there is room */
uint64_t mmi_feed_unkept(mm_feed *f);   /* messages that a full spool did not keep (drop_newest) */
/* With feed->lock: it does not go on; the first reason counts. */
void mmi_feed_fail(mm_feed *f, int rc, uint64_t first, uint64_t last);
/* Those are lost: counted and told, but for what is done; and those that were removed before they were read, of which
 * the reader is at `first`.  The engine's lock is held. */
void mmi_feed_lost(mm_feed *f, mmi_socket *s, mmi_drop_why why, uint64_t first, uint64_t last);
void mmi_feed_missed(mm_feed *f, mmi_socket *s, uint64_t first, uint64_t end);
/* What is below `first` was removed; what of it is in flight is told of: it is in memory only.  Drops nothing. */
void mmi_feed_bare(mm_feed *f, uint64_t first);
/* All that was removed and is not done is told; what is removed later is told by the next life.  closes: its socket is
 * about to be closed, and hears of no more. */
void mmi_feed_settle(mm_feed *f, bool closes);
/* Those are done, though nobody acknowledged them.  The engine's lock is held. */
void mmi_feed_bury(mm_feed *f, mmi_socket *s, uint64_t first, uint64_t last);

#endif
