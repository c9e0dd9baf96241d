/*
 * shared_cursors.h: the cursors of a spool that threads share; leases; and what its own thread does for both: it saves
 * what is done, and removes what nobody needs any more.
 *
 * Two who open a cursor of one name have the same.  Its own thread saves each that changed about once a second; so does
 * its last close, and whoever asks.  What is removed is what is saved: so a crash never finds that a cursor is behind
 * what is there.
 *
 * Not here: the set of numbers and its file (spool/cursor.h), what may go (spool/keep.h).
 * Law: all calls from any thread, while the spool is open; a cursor is used until its own close.  The spool's lock is
 * never held while the disk works.  A cursor that could not be saved is done for: it says MM_EIO until all who have it
 * closed it.
 */
#ifndef MMI_SPOOL_SHARED_CURSORS_H
#define MMI_SPOOL_SHARED_CURSORS_H

#include "spool/shared.h"

#define MMI_SPOOL_SAVE_NS UINT64_C(1000000000)    /* between saves of a cursor that changes */
#define MMI_SPOOL_SAVE_FIRST_NS UINT64_C(100000000)   /* from its opening to the first of them */
#define MMI_SPOOL_SWEEP_NS UINT64_C(1000000000)   /* between looks at the age of files */

typedef struct mmi_spool_cursor {
    struct mmi_spool_cursor *next;       /* of the spool; each call here holds its lock */
    char name[MMI_CURSOR_NAME_MAX + 1];
    mmi_cursor cursor;
    uint32_t users;                      /* who opened it, and did not close it */
    bool kept;                           /* the spool itself waits for it: until_acked_by */
    bool moving;                         /* one thread opens, closes or removes it; others wait for that */
    bool saving;                         /* one thread writes its file, without the lock */
    int failed;                          /* MM_OK, or why a save failed */
    uint64_t saved_ns;                   /* when it was last */
    uint64_t told;                       /* of those that it missed: they were told of */
    bool fed;                            /* of a socket that sends the spool's messages */
    uint64_t stood, stood_ns;            /* its floor when it was looked at, whether it stands; and when */
    uint64_t looked, looked_passes;      /* the floor whose next number was looked up, and passes of compaction then */
} mmi_spool_cursor;

/* Where one begins that is new: a number, or one of these. */
#define MMI_SPOOL_EARLIEST UINT64_C(0)
#define MMI_SPOOL_LATEST UINT64_MAX

/* As mmi_cursor_open; who opens it is told of what was removed while nobody had it (`missed`).  One that is made begins
 * at `start`, and that is on the disk.  MM_ENOENT: there is none, and none is made; or, of one that is made, what it
 * would begin with was removed; MM_EINVAL: the name, or a start beyond what comes next. */
int mmi_spool_shared_cursor_open(mmi_spool_shared *h, const char *name, bool create, uint64_t start,
                                 mmi_spool_cursor **out) MMI_WARN_UNUSED;
/* Goes there with one, which is made if there is none.  Who cannot leaves it as it is: what was removed is still owed
 * to its next user.  As mmi_spool_shared_cursor_open and _seek; also MM_EIO, MM_ENOSPC. */
int mmi_spool_shared_cursor_move(mmi_spool_shared *h, const char *name, uint64_t seq) MMI_WARN_UNUSED;
/* The last one to close it saves it: MM_EIO, MM_ENOSPC: that failed, now or before. */
int mmi_spool_shared_cursor_close(mmi_spool_shared *h, mmi_spool_cursor *c);
/* As mmi_cursor_done.  MM_EINVAL: also of numbers that no reader has seen yet; MM_EIO: it could not be saved. */
int mmi_spool_shared_cursor_done(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t first, uint64_t last)
    MMI_WARN_UNUSED;
uint64_t mmi_spool_shared_cursor_next(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from);
/* One user of it takes its messages in their order, and says what becomes of those: they do not count as missed if they
 * are removed meanwhile.  Of count numbers those up to the first that was removed: how many; done[i]: that one is done,
 * and so is not taken. */
size_t mmi_spool_shared_cursor_take(mmi_spool_shared *h, mmi_spool_cursor *c, const uint64_t *seqs, size_t count,
                                    bool *done) MMI_WARN_UNUSED;
/* That user is about to go, and tells of nothing more: what is removed from now on is not done, until somebody opens
 * the cursor again, who is told of it. */
void mmi_spool_shared_cursor_leave(mmi_spool_shared *h, mmi_spool_cursor *c);
void mmi_spool_shared_cursor_untake(mmi_spool_shared *h, mmi_spool_cursor *c);   /* that user is gone */
/* Where that user goes on that has come to `from`. */
typedef struct mmi_spool_passed {
    uint64_t next;                       /* the first that is not done */
    uint64_t first;                      /* of the spool: what is below was removed */
    uint64_t missed;                     /* of those, how many were not taken and not done, and are not told yet */
} mmi_spool_passed;
void mmi_spool_shared_cursor_pass(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from, mmi_spool_passed *out);
/* So many are not told yet; who asks tells of them. */
uint64_t mmi_spool_shared_cursor_missed(mmi_spool_shared *h, mmi_spool_cursor *c);
/* A run of those that were taken, are not done and were removed, from there on: the first; 0: there is none. */
uint64_t mmi_spool_shared_cursor_removed(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from, uint64_t *last);
/* The first one that is done, from there on; UINT64_MAX: there is none. */
uint64_t mmi_spool_shared_cursor_next_done(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from);
/* It is of a socket that sends the spool's messages: what it is not done with is not compacted, and files wait for it
 * from now on; if nobody said what goes by itself, what it is done with does.  MM_ENOMEM, MM_EIO. */
int mmi_spool_shared_cursor_await(mmi_spool_shared *h, mmi_spool_cursor *c) MMI_WARN_UNUSED;
/* MM_ENOENT: it was removed; MM_EINVAL: beyond what comes next; MM_EIO. */
int mmi_spool_shared_cursor_seek(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t seq) MMI_WARN_UNUSED;
/* All that is done now is on the disk, the messages first.  MM_ETIMEDOUT, MM_EINTR, MM_EIO, MM_ENOSPC. */
int mmi_spool_shared_cursor_save(mmi_spool_shared *h, mmi_spool_cursor *c, const mmi_spool_wait *wait) MMI_WARN_UNUSED;

typedef struct mmi_spool_cursor_info {
    uint64_t floor, saved_floor;
    uint64_t left;                       /* messages that can be read and are not done */
    uint64_t above;                      /* that are done above the floor */
    uint64_t unsaved;                    /* of those, that found no room in the file when it was saved */
    uint64_t missed;                     /* that were removed and not done, since it was opened */
    uint64_t ahead;                      /* see mmi_cursor */
    int failed;
} mmi_spool_cursor_info;

void mmi_spool_shared_cursor_inspect(mmi_spool_shared *h, mmi_spool_cursor *c, mmi_spool_cursor_info *out);
/* The same of one that nobody need have open, without a change: `missed` is what is still to be told of, to who has it
 * or opens it.  As mmi_cursor_look. */
int mmi_spool_shared_cursor_look(mmi_spool_shared *h, const char *name, mmi_spool_cursor_info *out) MMI_WARN_UNUSED;
/* Tells of those that somebody has open, and how many messages each has left, with the lock and without the disk. */
void mmi_spool_shared_cursors_each(mmi_spool_shared *h, void (*tell)(void *arg, const char *name, uint64_t left),
                                   void *arg);
/* MM_ESTATE: somebody has it open; or as mmi_cursor_remove. */
int mmi_spool_shared_cursor_delete(mmi_spool_shared *h, const char *name) MMI_WARN_UNUSED;

/* Until it is released, or that much time is over, nothing from that number on is removed, but for want of room.
 * Again: it is another number, and time.  MM_ENOENT: it was removed already; MM_EINVAL, MM_EAGAIN: as
 * mmi_spool_keep_lease. */
int mmi_spool_shared_lease(mmi_spool_shared *h, const char *name, uint64_t from_seq, uint64_t ttl_ns) MMI_WARN_UNUSED;
int mmi_spool_shared_release(mmi_spool_shared *h, const char *name);   /* MM_ENOENT: it was over */

/* For spool/shared_open.c, with the lock.  Opens the cursors that files wait for, of those that there are. */
int mmi_spool_cursors_begin(mmi_spool_shared *h, const char *const *names, uint32_t count) MMI_WARN_UNUSED;
int mmi_spool_cursors_end(mmi_spool_shared *h);          /* without the lock: saves and closes all; MM_EIO: not all */
mmi_spool_cursor *mmi_spool_cursors_find(const mmi_spool_shared *h, const char *name);
/* The one of that name that nobody opens or closes just now, for which it waits; NULL: there is none. */
mmi_spool_cursor *mmi_spool_cursors_still(mmi_spool_shared *h, const char *name);
int mmi_spool_cursors_save(mmi_spool_shared *h, mmi_spool_cursor *c);   /* gives up the lock meanwhile */
/* Up to where it is done, and a crash would not change that: what goes. */
static inline uint64_t
mmi_spool_cursor_acked(const mmi_spool_cursor *c)
{
    return c->cursor.floor < c->cursor.saved_floor ? c->cursor.floor : c->cursor.saved_floor;
}
/* Is room wanted, and would a file go for it, if that cursor were saved? */
bool mmi_spool_cursors_make_room(const mmi_spool_shared *h, const mmi_spool_cursor *c);

/* spool/sweep.c: when there is something to save or to remove; and does one of what there is then.  false: nothing. */
uint64_t mmi_spool_sweep_at(mmi_spool_shared *h, uint64_t now_ns);
bool mmi_spool_sweep(mmi_spool_shared *h, uint64_t now_ns);

#endif
