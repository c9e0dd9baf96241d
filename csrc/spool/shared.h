/*
 * shared.h: a spool that threads share: they put into it, and one of them at a time writes for all.
 *
 * Who waits until its messages are durable writes them itself, with those of all who came before it; whoever comes
 * meanwhile waits for that, and the first of them writes next.  So a lone caller meets no other thread, and many share
 * each sync.  A thread of the spool's own writes what nobody waits for, and syncs now and then at the level "os".
 *
 * Not here: what is written (spool/log.h).
 * Law: all calls but close from any thread; close is the last one.  The lock is never held while the disk works.
 */
#ifndef MMI_SPOOL_SHARED_H
#define MMI_SPOOL_SHARED_H

#include "plat/thread.h"
#include "spool/compact.h"
#include "spool/keep.h"
#include "spool/reader.h"

enum { MMI_SPOOL_PATH_MAX = 4095 };      /* octets */

typedef enum mmi_spool_overflow {
    MMI_SPOOL_ERROR,                     /* MM_ENOSPC */
    MMI_SPOOL_BLOCK,                     /* waits for room */
    MMI_SPOOL_DROP_OLDEST,               /* its oldest files go */
    MMI_SPOOL_DROP_NEWEST                /* what is put is not kept */
} mmi_spool_overflow;

typedef struct mmi_spool_counts {
    uint64_t appended, repeated, dropped_oldest, dropped_newest, syncs, sync_ns, sync_max_ns;
    uint64_t expired_messages, expired_files;   /* that were too old */
    uint64_t acked_messages, acked_files;       /* that all were done with for whom they were kept */
    uint64_t compacted_messages, compacted_files;   /* that compaction took; that it wrote anew, or merged */
} mmi_spool_counts;

typedef struct mmi_spool_watch mmi_spool_watch;   /* spool/nowait.h */

/* What a pass of compaction came to. */
typedef struct mmi_spool_compacted {
    uint64_t messages, tombstones;       /* that went; the second are some of the first */
    uint64_t written, merged;            /* files that were written anew; that went into another */
    uint64_t skipped;                    /* that could not be read, and were left */
    uint64_t held;                       /* that were held */
    uint64_t bytes;                      /* of files, that are free now */
} mmi_spool_compacted;

/* Compaction (spool/shared_compact.h). */
typedef struct mmi_spool_compaction {
    uint32_t ratio_ppm;                  /* a pass begins once so much of the files is not clean; 0: not by itself */
    uint64_t tombstone_us;
    mmi_compact pass;                    /* if `active` */
    bool active;
    bool stepping;                       /* one thread is at it, without the lock */
    bool limited;                        /* the last one had files before it that were held */
    bool asked;                          /* the one that goes on began as somebody asked for it */
    int rc, failed;                      /* of the last one; why none begins any more, or MM_OK */
    uint64_t ended;                      /* passes */
    uint64_t held_seq;                   /* from there on it takes nothing */
    uint64_t looked_base, looked_ns;     /* the last file when it was looked at, whether one is due; and when */
    uint64_t bytes;                      /* of files, when it began */
    uint32_t files_held;
    mmi_spool_compacted did;             /* of the last one */
} mmi_spool_compaction;

typedef struct mmi_spool_shared {
    pthread_mutex_t lock;
    pthread_cond_t work, done;           /* somebody is to write; something was written, or changed */
    mmi_spool spool;
    mmi_spool_overflow overflow;
    uint64_t sync_every_ns;              /* of the level "os" */
    uint64_t synced_ns;                  /* when it was last */
    uint32_t sync_waits;                 /* threads that wait for the disk: no sync is put off */
    mmi_spool_counts counts;
    mmi_spool_watch *watches;            /* who is rung when something was written */
    void *thread;
    uint64_t wakes;                      /* of who watches */
    bool fed;                            /* a socket has its messages */
    bool stop;
    bool idle;                           /* the thread waits, and there is nothing to sync */
    bool notes;                          /* it waits until the state is to be written, if nothing else comes */
    int dir;
    mmi_files files;
    mmi_spool_keep keep;
    struct mmi_spool_cursor *cursors;    /* that are open (spool/shared_cursors.h) */
    char (*acked_by)[MMI_CURSOR_NAME_MAX + 1];   /* files go once these are done with them */
    uint32_t acked_by_count;
    bool sweep_wanted;                   /* something changed that files may go for */
    bool room_wanted;                    /* until a file went: a cursor is saved as soon as one can go for it */
    bool dropping;                       /* files are removed, without the lock */
    bool cut;                            /* a cursor is to be saved once more is durable */
    mmi_spool_compaction compaction;
    uint64_t aged_ns;                    /* when a new file was asked for last, as the last one is too old */
    uint64_t swept_ns;                   /* when it was looked at last, and how many files there were then */
    uint32_t swept_files;
} mmi_spool_shared;

typedef struct mmi_spool_shared_opts {
    mmi_spool_opts spool;                /* without its clocks and randomness */
    mmi_spool_overflow overflow;
    uint64_t sync_every_ns;
    uint64_t max_age_us;                 /* of messages, by the file; 0: no limit */
    const char *const *acked_by;         /* cursors: files that all of them are done with go */
    uint32_t acked_by_count;             /* 0: none go for that */
    uint32_t compact_ppm;                /* as mmi_spool_compaction.ratio_ppm */
    uint64_t tombstone_us;               /* from the pass that took what was before it, to the end of a tombstone */
} mmi_spool_shared_opts;

/* From that number on it is held, also of the pass that goes on. */
static inline void
mmi_spool_compact_hold(mmi_spool_shared *h, uint64_t seq)
{
    h->compaction.held_seq = seq < h->compaction.held_seq ? seq : h->compaction.held_seq;
}

/* The folder is there; its name is made durable.  As mmi_spool_open, or MM_ENOENT, MM_ENOTDIR, MM_ENAMETOOLONG. */
int mmi_spool_shared_open(mmi_spool_shared *h, const char *path, const mmi_spool_shared_opts *opts,
                          mmi_spool_report *report);
/* Writes what waits, and closes; MM_EIO: it had failed, or did. */
int mmi_spool_shared_close(mmi_spool_shared *h);
void mmi_spool_shared_abandon(mmi_spool_shared *h);      /* in the child of a fork: nothing is written */

/* How long a call waits; slice_ns: it returns MM_EINTR after that.  in_a_row, of a put: it ends before numbers of
 * others would come between, and behind what it dropped. */
typedef struct mmi_spool_wait {
    uint64_t deadline_ns, slice_ns;
    bool in_a_row;
} mmi_spool_wait;

/* What a call did: `done` were taken from the front, put, dropped, or known from before; the numbers of the first and
 * the last that was put; 0: of none. */
typedef struct mmi_spool_did {
    size_t done;
    uint64_t first, last;
    uint64_t repeated;                   /* how many were known */
    uint64_t original;                   /* the number of the last of those; 0: it is not known */
    uint64_t until;                      /* all that was put or known is kept once this number is */
    uint64_t unkept;                     /* how many were taken and are not kept */
} mmi_spool_did;

/* One was put, or known from before, of all up to last_seq. */
static inline void
mmi_spool_did_one(mmi_spool_did *did, bool put, uint64_t seq, uint64_t last_seq)
{
    uint64_t until = seq > 0 ? seq : last_seq;
    did->done++;
    did->first = put && did->first == 0 ? seq : did->first;
    did->last = put ? seq : did->last;
    did->repeated += !put;
    did->original = put ? did->original : seq;
    did->until = until > did->until ? until : did->until;
}

/* Puts as many as it can, in their order.  MM_OK: all; else why it stopped: as mmi_spool_put, MM_ETIMEDOUT, MM_EINTR.
 * waits: until all that it put is kept as the level says. */
int mmi_spool_shared_put(mmi_spool_shared *h, const mmi_spool_record *records, size_t count, bool waits,
                         const mmi_spool_wait *wait, mmi_spool_did *did);
/* Until all up to that number is kept so.  level: DISK, or OS. */
int mmi_spool_shared_wait(mmi_spool_shared *h, uint64_t seq, mmi_spool_level level, const mmi_spool_wait *wait);
uint32_t mmi_spool_shared_trim(mmi_spool_shared *h, uint64_t seq);   /* but for what is leased: how many files went */
/* With the lock, which is given up meanwhile: this thread writes what waits, for all.  false: there is nothing, or
 * another one does. */
bool mmi_spool_shared_lead(mmi_spool_shared *h, bool syncs);
void mmi_spool_shared_rest(mmi_spool_shared *h);         /* likewise: until nobody writes, or removes files */
/* Likewise: the same as trim, of so many files at most; leased: only what is not. */
uint32_t mmi_spool_shared_drop(mmi_spool_shared *h, uint64_t seq, uint32_t most, bool leased);
void mmi_spool_shared_locate(mmi_spool_shared *h, uint64_t seq, mmi_spool_where *out);
/* The same for a thread that has more to look at: also until somebody wakes it, since there were so many wakes
 * (MM_EAGAIN).  MM_EIO: the disk failed, and that number never comes; UINT64_MAX is none. */
int mmi_spool_shared_watch(mmi_spool_shared *h, uint64_t seq, uint64_t wakes, const mmi_spool_wait *wait);
uint64_t mmi_spool_shared_wakes(mmi_spool_shared *h);
void mmi_spool_shared_wake(mmi_spool_shared *h);
/* spool/watches.c: rings those whose time it is; under the lock. */
void mmi_spool_watches_tell(mmi_spool_shared *h);
/* mmi_spool_locate and mmi_spool_reader_load, until that is more than passing; *where as it was located last.
 * MM_ENOENT: trimmed, and nothing else: a file of the spool that somebody removed is MMI_SPOOL_HARMED, to its end. */
int mmi_spool_shared_load(mmi_spool_shared *h, mmi_spool_reader *r, mmi_spool_where *where);
/* spool/since.c: no message of an earlier number was written at or after that time: the first of a file, whose numbers
 * perhaps all are.  It reads the heads of files from the last one back. */
uint64_t mmi_spool_shared_since(mmi_spool_shared *h, uint64_t time_us);
/* Until something above that number can be read. */
int mmi_spool_shared_follow(mmi_spool_shared *h, uint64_t seq, const mmi_spool_wait *wait);

#endif
