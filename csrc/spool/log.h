/*
 * log.h: a spool: messages that are numbered from 1 on, kept in segment files of one folder, and read again.
 *
 * A message is put: it gets its number, and waits in memory.  What waits is written as one batch: taken, written to the
 * file and synced without a lock, and noted.  While that goes on more is put, and is the next batch.
 *
 *   put ... put   take   write (no lock: the disk may take long)   wrote   take ...
 *
 * Not here: threads, locks and waiting (spool/shared.h), reading (spool/reader.h), cursors (spool/cursor.h).
 * A message may have an origin: its producer, and a number that goes up.  One whose number is not above the last of its
 * producer is a repeat, and is not put.  That is known of MMI_PRODUCERS_MAX producers, whatever became of their
 * messages: all that goes or is compacted is in the file of the producers before.
 *
 * Law: one call at a time, but `write`, which touches only what `take` gave it, and `reserved`, that nobody reads
 * meanwhile.  Numbers are dense, and never given
 * twice to what may have been seen.  durable_seq goes up only behind a sync that said OK.  After a write or a sync that
 * did not, nothing is written any more: what is on the disk nobody knows until it is opened again.
 */
#ifndef MMI_SPOOL_LOG_H
#define MMI_SPOOL_LOG_H

#include "spool/producers.h"
#include "spool/recover.h"
#include "spool/slots.h"

enum {
    MMI_SPOOL_FILE_DEFAULT = 64 * 1024 * 1024,   /* octets of a segment file */
    MMI_SPOOL_FILE_MIN = 64 * 1024,              /* octets */
    MMI_SPOOL_BATCH_DEFAULT = 4 * 1024 * 1024,   /* octets that wait, and are written at once */
    MMI_SPOOL_BATCH_OS = 512 * 1024,             /* the same at the level "os": what a core's cache holds */
    MMI_SPOOL_LARGE_PART = 4,                    /* of the largest batch: the sync of what is larger may wait */
    MMI_SPOOL_BATCHES_A_SYNC = 4,                /* as many octets as the largest has, so often: no longer */
    MMI_SPOOL_BATCHES_A_FILE = 4,                /* at least, of the largest */
    MMI_SPOOL_FILES_A_LIMIT = 4,                 /* about as many share max_messages, so that some can go */
    MMI_SPOOL_RESERVE = 1024 * 1024,             /* octets of room for an opening on a full disk, at most */
    MMI_SPOOL_OWNER = 127,                       /* octets */
    MMI_SPOOL_NOTE_US = 1000000                  /* microseconds between writes of its state, while it changes */
};
enum { MMI_SPOOL_REPEATED = 3 };                 /* beside mm_err, of put */

typedef enum mmi_spool_level { MMI_SPOOL_BUFFERED, MMI_SPOOL_OS, MMI_SPOOL_DISK } mmi_spool_level;

typedef struct mmi_spool_opts {
    mmi_spool_level level;       /* what it takes to be read, and done for who waits */
    uint64_t file_bytes;         /* 0: the default */
    uint32_t batch_bytes;        /* likewise */
    uint64_t max_bytes, max_messages;   /* 0: no limit */
    uint64_t segment_age_us;     /* a file whose first message is older has no more; 0: as there is room */
    bool gaps;                   /* what is harmed is left out and told of; else it is not opened */
    bool remote;                 /* also on a file system of another machine */
    uint64_t known_seq;          /* up to there readers know that all was durable */
    uint32_t producers_max;      /* 0: MMI_PRODUCERS_MAX */
    const char *owner;           /* who opens it, for whoever finds it open; NULL: nobody says */
    const uint8_t *uuid;         /* of one that is made, while it is opened; NULL: random */
    void *arg;
    uint64_t (*now_us)(void *arg);      /* wall clock */
    void (*random)(void *arg, void *buf, size_t size);
} mmi_spool_opts;

/* What was found as it was opened. */
typedef struct mmi_spool_report {
    bool made, unclean;          /* it is new; it was not closed in order */
    uint64_t torn_bytes;         /* that were behind the last batch */
    uint64_t torn_left;          /* of those, that are not in quarantine, as there is no room on the disk */
    uint64_t lost_first, lost_last;   /* numbers that were durable and are gone; 0: none */
    uint64_t harmed_at;          /* then: where, in the file of base_seq harmed_file */
    uint64_t harmed_file;
    uint64_t copied;             /* messages that were not proved to be durable, and are now */
    char owner[MMI_SPOOL_OWNER + 1];   /* with MM_EAGAIN: who has it, as it says */
} mmi_spool_report;

/* What waits, or is written. */
typedef struct mmi_spool_pending {
    uint8_t *body;
    uint32_t size, cap, count;
    uint64_t first_seq;
} mmi_spool_pending;

/* Why something found no room, and what there was at that moment. */
typedef enum mmi_spool_full {
    MMI_SPOOL_FULL_NEVER,
    MMI_SPOOL_FULL_MESSAGES,     /* max_messages */
    MMI_SPOOL_FULL_BYTES,        /* max_bytes */
    MMI_SPOOL_FULL_DISK          /* no room for another file */
} mmi_spool_full;

typedef struct mmi_spool_refusal {
    mmi_spool_full why;
    uint64_t messages, bytes;
} mmi_spool_refusal;

typedef struct mmi_spool {
    mmi_spool_opts opts;
    mmi_spool_place place;
    int lock, quarantine;
    mmi_slots state;
    uint8_t uuid[MMI_SPOOL_UUID];
    uint32_t epoch;
    uint64_t *bases;             /* base_seq of each file, ascending; the last one is written to */
    uint64_t *ends;              /* octets of each file but the last */
    uint32_t file_count, file_cap;
    uint64_t sealed_bytes;       /* of all but the last */
    mmi_spool_file file;         /* the last */
    int spare;                   /* with room for a whole file; < 0: none */
    uint64_t spare_stale;        /* octets that a file that went left in it */
    int again;                   /* what trim_run made the spare, for trim_done; < 0: none */
    uint64_t again_stale;
    mmi_spool_pending pending, writing;
    uint64_t last_seq, written_seq, durable_seq;
    uint64_t time_us;            /* of the last batch: time never goes back */
    uint64_t start_seq;          /* what is below it went, or is to go */
    uint64_t clean_seq;          /* below it no two messages have one key (spool/compact.h) */
    mmi_producers producers;     /* of all that was put */
    uint64_t origin_seq;         /* no message below it has an origin; 0: none has; its state says so */
    uint64_t listed_seq;         /* the file of the producers has those of all messages up to it; 0: there is none */
    uint64_t begun_us;           /* when the first message of the last file was written; 0: it has none */
    uint64_t noted_seq, noted_us;   /* what its state says, and since when */
    uint64_t synced_end;         /* of the last file: up to there all is durable */
    uint64_t then_end;           /* where the last file ends when what is being written is */
    bool cramped;                /* the last file has no room of its own: nothing more goes into it */
    bool busy;                   /* between take and wrote */
    bool wants_spare, no_spare;  /* put needs one; there was no room for it */
    bool wants_roll;             /* the last file is to have nothing more, so that it can go */
    bool full;                   /* the last that was put found no room */
    mmi_spool_refusal refused;   /* the last one for want of room */
    bool reserved;               /* there is room for an opening on a full disk */
    bool failed;
    bool trim_failed;            /* what trim_run found, for trim_done */
    bool wants_list;             /* the file of the producers is to be written, if it is behind */
} mmi_spool;

/* Opens the spool in that folder, or makes one.  MM_EAGAIN: somebody else has it; MMI_SPOOL_HARMED: harmed, see the
 * report; MM_ENOTSUP: of a later version; MM_EINVAL: options; as mmi_spool_folder_check; or the disk's. */
int mmi_spool_open(mmi_spool *s, const mmi_files *files, int dir, const mmi_spool_opts *opts, mmi_spool_report *report);
/* Says that it was closed in order, if nothing failed and nothing waits; closes all. */
int mmi_spool_close(mmi_spool *s);
/* Closes its files and writes nothing: after a fork, in the child; it is found as after a crash of the process. */
void mmi_spool_abandon(mmi_spool *s);

/* MM_OK: it is *seq.  MMI_SPOOL_REPEATED: its producer put it before, as *seq, or, if that is not known, 0; it is kept
 * once all is that was put.  MM_EMSGSIZE: over what a batch may have; MM_EAGAIN: what waits is to be written first;
 * MM_ENOSPC: its limits, or no room on the disk; MM_EIO: it failed; MM_ENOMEM. */
int mmi_spool_put(mmi_spool *s, const mmi_spool_record *r, uint64_t *seq);

/* What is to be done on the disk. */
typedef struct mmi_spool_job {
    mmi_spool_batch batch;
    bool rolls;                  /* into a new file, whose head this is; also without a batch */
    mmi_spool_head head;
    bool syncs;
    bool notes;                  /* its state is to be written, with durable_seq as it is behind the sync */
    bool spares;                 /* a spare is to be made */
    int used;                    /* the spare that the new file is made of */
    uint64_t stale;              /* octets that another left in that */
    int spare, spare_rc;         /* the one that was made; < 0: none */
    bool marks;                  /* its state is to say, before anything else, that messages have origins */
    uint8_t *list;               /* of the producers, to be written once all that is taken is durable; NULL: not */
    size_t list_size;
    uint64_t list_seq;
    bool listed;                 /* behind `write`: it was */
    bool reserves;               /* the reserve is to be made, before a spare; behind `write`: it is there */
    mmi_spool_file file;         /* the last file; behind `write` as it is then */
    uint64_t durable_seq;        /* behind `write` */
    int rc;
} mmi_spool_job;

/* false: there is nothing to do.  syncs: also what was written before; else as its level says.  At "disk" that is with
 * this job, or, if much is written, with one of the next: whoever takes one takes them until there is nothing to do. */
bool mmi_spool_take(mmi_spool *s, bool syncs, mmi_spool_job *job);
void mmi_spool_write(mmi_spool *s, mmi_spool_job *job);
/* MM_OK: up to written_seq it is in the file, up to durable_seq on the disk.  MM_EIO: it failed. */
int mmi_spool_wrote(mmi_spool *s, mmi_spool_job *job);

/* spool/state.c: reads its state, or makes it; *known: there was one.  Its state, on the disk: all up to that number is
 * durable. */
int mmi_spool_state_open(mmi_spool *s, bool *known);
int mmi_spool_note(mmi_spool *s, uint64_t durable_seq);
/* Likewise, of the state of a spool that somebody may have open, without a change.  false: it says nothing. */
typedef struct mmi_spool_stated {
    uint8_t uuid[MMI_SPOOL_UUID];
    uint32_t epoch;
    uint64_t durable_seq, clean_seq, origin_seq;   /* as of mmi_spool */
} mmi_spool_stated;
bool mmi_spool_state_look(const mmi_spool_place *place, mmi_spool_stated *out);

/* Is the file of the producers behind, as it could not be written when the last file was begun?  Then nothing goes, and
 * nothing is compacted, that it does not tell of. */
static inline bool
mmi_spool_unlisted(const mmi_spool *s)
{
    return s->producers.count > 0 && s->listed_seq + 1 < s->file.head.base_seq;
}
/* spool/producers_file.c: writes the file of the producers; *saved: it is on the disk.  MM_OK: else the old one is; or
 * nobody knows which name is.  Reads it: as mmi_producers_read, and MM_ENOENT, MM_EIO.  Removes it; false: it may be
 * there. */
int mmi_spool_producers_save(mmi_spool *s, uint8_t *image, size_t size, bool *saved);
int mmi_spool_producers_list(mmi_spool *s);   /* that, of all there is, which is durable; MM_ENOMEM */
int mmi_spool_producers_load(const mmi_spool_place *place, const uint8_t uuid[MMI_SPOOL_UUID], mmi_producers *to,
                             uint64_t *seq) MMI_WARN_UNUSED;
bool mmi_spool_producers_drop(const mmi_spool *s);
/* spool/producers_open.c: which producers there are, once the last file was mended.  known: there was a state. */
int mmi_spool_producers_open(mmi_spool *s, bool known) MMI_WARN_UNUSED;

/* Up to which number readers may see. */
uint64_t mmi_spool_visible(const mmi_spool *s);
uint64_t mmi_spool_first(const mmi_spool *s);   /* the first that is still there, or the next */
uint64_t mmi_spool_bytes(const mmi_spool *s);   /* of its files, and what waits */
/* spool/trim.c: files go that have nothing above that number, at most so many, in steps, so that others go on
 * meanwhile: how many there are; `busy` is set while they are removed, which needs no lock; and they are forgotten.
 * The room of one becomes the spare, if it is about that of a whole file. */
uint32_t mmi_spool_trim_plan(const mmi_spool *s, uint64_t seq, uint32_t most);
uint32_t mmi_spool_trim_run(mmi_spool *s, uint32_t files);   /* how many of them went */
void mmi_spool_trim_done(mmi_spool *s, uint32_t files);
/* Whether messages up to that number are worth a new file, so that the last one can go: it has nothing above, and it
 * is a part of a whole file, or of max_messages, or there is no room.  true: a job begins one when there is a spare,
 * unless wants_roll was reset, as there is no room for it. */
bool mmi_spool_roll(mmi_spool *s, uint64_t seq);
/* Did the last put find no room for what limits say, though there is one file only?  With another one it can go. */
static inline bool
mmi_spool_one_is_full(const mmi_spool *s)
{
    return s->file_count == 1 && s->full && s->refused.why != MMI_SPOOL_FULL_DISK;
}
/* In how many microseconds the last file is too old for more (segment_age_us), so that another one is to be wanted as
 * by roll; 0: now; UINT64_MAX: it has no message, or its age is no matter. */
uint64_t mmi_spool_ages(const mmi_spool *s, uint64_t now_us);
/* spool/reserve.c: makes the reserve, if it is not there; durable once the folder is synced.  MM_ENOSPC: there is none
 * now.  Gives its room back; false: it was not there. */
extern const char mmi_spool_reserve_name[];
int mmi_spool_reserve_make(const mmi_spool *s);
bool mmi_spool_reserve_give(const mmi_spool *s);
/* Room to know of so many files more.  MM_ENOMEM. */
int mmi_spool_files_reserve(mmi_spool *s, uint32_t more) MMI_WARN_UNUSED;
void mmi_spool_invariants(const mmi_spool *s);

#endif
