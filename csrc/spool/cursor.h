/*
 * cursor.h: which messages of a spool somebody is done with, by name, kept in the file cursors/NAME beside them.
 *
 * All up to `floor` are done, and some above it: these are a bitmap in memory, and ranges in the file, as many as it
 * has room for (docs/spool-format.md).  What found no room is not done after a crash: it is delivered again.
 *
 *   done ... done   snapshot   write (no lock: the disk may take long)   wrote   done ...
 *
 * Not here: threads and when it is saved (spool/shared_cursors.h), what is removed (spool/keep.h).
 * Law: one call at a time, but `write`, which touches only the file and what `snapshot` made.  What is in the file was
 * done when it was saved, and was durable in the spool: never ahead of either.  After a write that failed nothing more
 * is saved until it is opened again.
 */
#ifndef MMI_SPOOL_CURSOR_H
#define MMI_SPOOL_CURSOR_H

#include "spool/format.h"
#include "spool/slots.h"

enum {
    MMI_CURSOR_NAME_MAX = 64,                           /* octets */
    MMI_CURSOR_SPAN_MAX = 128 * 1024 * 1024 - 64        /* from the floor to the highest number that is done: 16 MiB */
};

/* Of the spool that it is of, as it is when the cursor is opened. */
typedef struct mmi_cursor_spool {
    const uint8_t *uuid;
    uint64_t first_seq, last_seq;        /* as mmi_spool_first; the last number that was given */
} mmi_cursor_spool;

typedef struct mmi_cursor {
    uint64_t floor;                      /* all up to it are done */
    uint64_t top;                        /* the highest that is done */
    uint64_t above;                      /* how many are done above floor */
    uint64_t *words;                     /* a bit for each number of floor + 1 to top, in a ring; the others are 0 */
    uint64_t word_count;                 /* a power of two; 0: none */
    uint64_t changes, saved_changes;     /* counts them; as it was when it was saved */
    uint64_t saved_floor;                /* in the file */
    uint64_t saved_limit;                /* then nothing above was written, though it was done; UINT64_MAX: not so */
    uint64_t unsaved;                    /* numbers that are done, and found no room in the file */
    uint64_t missed;                     /* that were removed, not done and not taken, since it was opened */
    uint64_t taken;                      /* those below are done once who took them says so; 0: nobody took any */
    uint64_t ahead;                      /* it said that was done, and the spool had not come so far; 0: not so */
    bool left;                           /* nobody has it, or is about to go: what is removed is owed to the next one */
    bool made;                           /* nothing was ever saved in it */
    uint8_t uuid[MMI_SPOOL_UUID];
    mmi_slots slots;
    uint8_t *data;                       /* of a save: MMI_SLOT_DATA_MAX octets */
} mmi_cursor;

int mmi_cursor_check_name(const char *name);   /* MM_OK, MM_EINVAL: 1 to 64 of A-Z a-z 0-9 . _ -, no dot in front */
/* Opens that of a name in the folder of a spool, or makes it (create); what was removed of the spool is done, and
 * `missed` tells if it was not.  MM_EINVAL: the name; MM_ENOENT; MM_EPROTO: harmed, or of another spool; MM_ENOTSUP: of
 * a later version; MM_ENOMEM; or what the file said. */
int mmi_cursor_open(mmi_cursor *c, const mmi_files *files, int dir, const char *name, bool create,
                    const mmi_cursor_spool *spool) MMI_WARN_UNUSED;
/* What it says at this moment, without a change, though somebody may have it open: nothing is saved in this one.  As
 * mmi_cursor_open. */
int mmi_cursor_look(mmi_cursor *c, const mmi_files *files, int dir, const char *name, const mmi_cursor_spool *spool)
    MMI_WARN_UNUSED;
void mmi_cursor_close(mmi_cursor *c);          /* saves nothing; once more, and of one that did not open, is fine */
/* Removes the file.  MM_EINVAL, MM_ENOENT, or what the folder said. */
int mmi_cursor_remove(const mmi_files *files, int dir, const char *name);
/* Each name that is there, in no order: how many entries; each: as mmi_files.list. */
int mmi_cursor_list(const mmi_files *files, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg);

/* Those numbers are done; of those that were already, nothing.  MM_EINVAL: not first <= last, from 1 on; MM_EAGAIN:
 * more than MMI_CURSOR_SPAN_MAX above the floor; MM_ENOMEM; then nothing is marked. */
int mmi_cursor_done(mmi_cursor *c, uint64_t first, uint64_t last) MMI_WARN_UNUSED;
bool mmi_cursor_is_done(const mmi_cursor *c, uint64_t seq);
uint64_t mmi_cursor_next(const mmi_cursor *c, uint64_t from);   /* the first that is not done, from there on */
uint64_t mmi_cursor_count(const mmi_cursor *c, uint64_t first, uint64_t last);   /* how many of those are done */
/* That is the next one, back or forth: all below it is done, and nothing else. */
void mmi_cursor_seek(mmi_cursor *c, uint64_t seq);
/* What is below that number was removed, and so it is done, but for what is taken: how many were not.  None, if it is
 * left. */
uint64_t mmi_cursor_trimmed(mmi_cursor *c, uint64_t first_seq);

/* What one is that was left, to who looks at it: as it will be to its next user. */
typedef struct mmi_cursor_seen {
    uint64_t floor, above, missed;
} mmi_cursor_seen;
void mmi_cursor_see(const mmi_cursor *c, uint64_t first_seq, mmi_cursor_seen *out);

/* What is saved: nothing above `limit`, which is durable in the spool. */
typedef struct mmi_cursor_saving {
    uint64_t changes, floor, limit, unsaved;
    uint32_t size;
} mmi_cursor_saving;

bool mmi_cursor_dirty(const mmi_cursor *c, uint64_t limit);     /* is there more to save than is in the file? */
void mmi_cursor_snapshot(mmi_cursor *c, uint64_t limit, mmi_cursor_saving *out);
int mmi_cursor_write(mmi_cursor *c, const mmi_cursor_saving *saving) MMI_WARN_UNUSED;   /* MM_OK: it is on the disk */
void mmi_cursor_wrote(mmi_cursor *c, const mmi_cursor_saving *saving, int rc);
/* The three.  MM_EIO, MM_ENOSPC: it failed, now or before; what was saved before is in the file, or this. */
int mmi_cursor_save(mmi_cursor *c, uint64_t limit) MMI_WARN_UNUSED;

/* spool/cursor_format.c: as octets, and again.  How many; *unsaved: numbers that found no room. */
uint32_t mmi_cursor_put(const mmi_cursor *c, uint64_t limit, uint8_t out[MMI_SLOT_DATA_MAX], uint64_t *unsaved);
/* Of a cursor that has a uuid and nothing else; numbers above `last_seq` are left out, and then `ahead` is set.  MM_OK,
 * MM_EPROTO, MM_ENOTSUP, MM_ENOMEM. */
int mmi_cursor_get(mmi_cursor *c, const uint8_t *data, uint32_t size, uint64_t last_seq) MMI_WARN_UNUSED;
/* A run of numbers that are done, above the floor: the first one from there on.  false: there is none up to `end`. */
bool mmi_cursor_run(const mmi_cursor *c, uint64_t from, uint64_t end, uint64_t *first, uint64_t *last);
void mmi_cursor_invariants(const mmi_cursor *c);

#endif
