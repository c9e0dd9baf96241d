/*
 * compact.h: compaction by key: of the messages of a key that are in sealed segment files only the last one stays.
 *
 * A pass reads files, and then writes those anew of which something goes:
 *
 *   map    where each key was last, from the first number that is not clean: as far as the table has room
 *   look   what would go of a file, from the first one of the spool on; small files that follow each other go together
 *   copy   what stays of them, into a file beside them, as SPARSE batches (spool/format.h)
 *   commit by the caller: it is named as the first of them, in its place, and the others go
 *
 * and again from map, if the table was full.  All numbers below clean_seq have been through it: no two messages there
 * have one key.  A message of a key without octets is a tombstone: what is before it goes as of any key, and the time
 * of that is noted in its batch (clean_us); so long after that, it goes as well.
 *
 * Not here: threads, which files, who holds them (spool/shared_compact.h), the table (spool/keys.h).
 * Law: one call at a time; in steps that are bounded; nothing but the file beside is written.  What cannot be read to
 * its end is left as it is, and a tombstone behind it is not noted: something older of its key may be there.
 */
#ifndef MMI_SPOOL_COMPACT_H
#define MMI_SPOOL_COMPACT_H

#include "spool/keys.h"
#include "spool/log.h"

enum { MMI_COMPACT_STEP = 1024 * 1024 };   /* octets that one step reads, but for a batch that is larger */
extern const char mmi_compact_name[];      /* of the file beside */

typedef struct mmi_compact_plan {
    const uint64_t *bases;                 /* of the first files of the spool, sealed; they are copied */
    uint32_t count;
    uint64_t end;                          /* the first number behind the last of them */
    uint64_t clean_seq;                    /* below it no two messages have one key */
    uint64_t merge_bytes;                  /* so much of files that follow each other becomes one, at most */
    uint64_t now_us, tombstone_us;
    uint32_t keys_max;                     /* 0: MMI_SPOOL_KEYS_MAX */
} mmi_compact_plan;

/* What was looked at of a file, or of some that go together. */
typedef struct mmi_compact_group {
    uint32_t first, count;                 /* of the plan's files; count 0: there is none */
    uint64_t octets;                       /* that it takes, about, behind the head */
    uint64_t gone, tombstones, noted;      /* messages that go; tombstones of those; batches to be noted in */
} mmi_compact_group;

typedef enum mmi_compact_state {
    MMI_COMPACT_MAP, MMI_COMPACT_LOOK, MMI_COMPACT_COPY, MMI_COMPACT_COMMIT, MMI_COMPACT_DONE
} mmi_compact_state;

typedef struct mmi_compact {
    mmi_spool_place place;
    uint8_t uuid[MMI_SPOOL_UUID];
    void *arg;
    void (*random)(void *arg, void *buf, size_t size);
    mmi_compact_plan plan;
    uint64_t *bases;                       /* the plan's, and its end */
    mmi_compact_state state;
    mmi_spool_keys keys;
    uint64_t mapped_seq;                   /* the last number that the table knows of */
    uint64_t skipped_seq;                  /* the first of a file that was left as it is; UINT64_MAX: none was */
    uint32_t at, resume;                   /* the file that is read; where looking goes on behind a group */
    mmi_spool_file file;                   /* it; < 0: not open */
    mmi_spool_scan scan;
    bool begun;                            /* the scan has a batch of it */
    mmi_compact_group group, next;         /* what is written; what was looked at, and is for later */
    mmi_spool_file to;                     /* the file beside; < 0: there is none */
    uint8_t *body;
    uint32_t body_cap;
    uint64_t next_seq;                     /* of the file beside: behind what it tells of */
    uint64_t time_us;
    uint32_t epoch;
    struct {
        uint64_t messages, tombstones;     /* that went; the second are some of the first */
        uint64_t written, merged;          /* files that were written anew; that went into another */
        uint64_t skipped;                  /* that could not be read */
    } counts;
    struct {
        uint64_t base, skip;               /* of a file that was not there; 0: none; what is left as it is for it */
        bool counts;                       /* it is one that is skipped */
    } absent;
} mmi_compact;

/* MM_ENOMEM. */
int mmi_compact_begin(mmi_compact *c, const mmi_spool *s, const mmi_compact_plan *plan) MMI_WARN_UNUSED;
/* 1: there is more to do; 0: a group is to be committed, or, in the state DONE, it is over; or an error, and then it is
 * to be ended: MM_ENOSPC, MM_EIO: of the file beside; MM_ENOMEM. */
int mmi_compact_step(mmi_compact *c);
/* After each step, where `absent` has a file: is it one of the spool still?  Then it is harmed; else it was trimmed. */
void mmi_compact_absent(mmi_compact *c, bool lost);
/* What became of the group: it was committed; it was not, and is left as it is; it was trimmed meanwhile. */
typedef enum mmi_compact_end_of { MMI_COMPACT_TAKEN, MMI_COMPACT_LEFT, MMI_COMPACT_GONE } mmi_compact_end_of;
void mmi_compact_committed(mmi_compact *c, mmi_compact_end_of what);
/* Now no two messages below that number have one key. */
uint64_t mmi_compact_clean(const mmi_compact *c);
void mmi_compact_end(mmi_compact *c);

/* spool/compact_copy.c: the file beside: begun for the group; a batch of the file that is read; its end.  What becomes
 * of a message. */
typedef enum mmi_compact_fate {
    MMI_COMPACT_STAYS,
    MMI_COMPACT_WAITS,                     /* it stays: a tombstone whose time is to come */
    MMI_COMPACT_GOES,                      /* something newer of its key is there */
    MMI_COMPACT_BURIED                     /* a tombstone whose time is over */
} mmi_compact_fate;
mmi_compact_fate mmi_compact_fate_of(const mmi_compact *c, const mmi_spool_record *r, uint64_t seq, uint64_t clean_us);
/* Since when nothing is there that is older than the tombstones of the batch that is scanned, of their keys; 0: it may
 * be.  *notes: as of this pass, and that is to be written. */
uint64_t mmi_compact_clean_us(const mmi_compact *c, bool *notes);
int mmi_compact_copy_begin(mmi_compact *c) MMI_WARN_UNUSED;
int mmi_compact_copy_batch(mmi_compact *c) MMI_WARN_UNUSED;
int mmi_compact_copy_end(mmi_compact *c) MMI_WARN_UNUSED;
void mmi_compact_copy_drop(mmi_compact *c);

/* spool/compact_commit.c: the file beside takes the place of the group, in steps as those of a trim: where its first
 * file is now (false: it was trimmed); on the disk, with `busy` set; and the spool knows of it.  Who reads meanwhile
 * reads the one or the other. */
bool mmi_compact_commit_plan(const mmi_compact *c, const mmi_spool *s, uint32_t *at);
/* What it came to: it has its name; so many of the others have none any more.  After an error a crash may bring any of
 * the names back, and no pass is to come before the spool was opened again. */
typedef struct mmi_compact_names { bool named; uint32_t gone; } mmi_compact_names;
int mmi_compact_commit_run(mmi_compact *c, mmi_compact_names *names);
void mmi_compact_commit_done(const mmi_compact *c, mmi_spool *s, uint32_t at, const mmi_compact_names *names);

#endif
