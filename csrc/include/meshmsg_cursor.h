/*
 * meshmsg_cursor.h: which messages of a spool somebody is done with, and leases, as the Python binding has them.
 * Not here: spools (meshmsg_spool.h); nothing here is exported by libmeshmsg.
 *
 * A cursor has a name, and is kept beside the messages.  All who open one of a name have the same.  Its owner closes it
 * once, before its spool, while nobody is in a call with it; all other calls may come from any thread.  Time-outs are
 * as in meshmsg.h.  Results are mm_err.
 */
#ifndef MESHMSG_CURSOR_H
#define MESHMSG_CURSOR_H

#include "meshmsg_spool.h"

/* cdef:begin */

typedef struct mm_spool_cursor mm_spool_cursor;
enum { MM_SPOOL_CURSOR_NAME_MAX = 64, MM_SPOOL_CURSOR_SPAN_MAX = 134217664, MM_SPOOL_ACKED_BY_MAX = 64,
       MM_SPOOL_LEASES_MAX = 1024 };

typedef struct mm_spool_cursor_info {
    uint64_t floor, saved_floor;                  /* all up to it are done; and that is on the disk */
    uint64_t left, above;                         /* messages that can be read and are not done; done above the floor */
    uint64_t unsaved;                             /* of those, for which its file had no room */
    uint64_t missed;                              /* that were removed and not done, since it was opened */
    uint64_t ahead;                               /* it was of messages up to this, that the spool lost; 0: not so */
    int32_t failed;                               /* mm_err: why it could not be saved */
} mm_spool_cursor_info;

/* start: of one that is made; 0: what is there, UINT64_MAX: what is put from now on.  MM_ENOENT: there is none (create:
 * that number was removed); MM_EINVAL: the name, or a number beyond the next; MM_EPROTO: it is harmed, or of another
 * spool. */
int mm_spool_cursor_open(mm_spool *spool, const char *name, int create, uint64_t start, mm_spool_cursor **cursor);
int mm_spool_cursor_close(mm_spool_cursor *cursor);      /* saves it; an error: it could not, now or before */
/* MM_EINVAL: no numbers that can be read; MM_EAGAIN: too far above the floor; MM_EIO: it could not be saved. */
int mm_spool_cursor_done(mm_spool_cursor *cursor, uint64_t first, uint64_t last);
uint64_t mm_spool_cursor_next(mm_spool_cursor *cursor, uint64_t from);   /* the first one not done, from there on */
/* Those from `first` to before `behind` that are not among the rows are done, as compaction removed them; what is too
 * far above the floor is later. */
void mm_spool_cursor_compacted(mm_spool_cursor *cursor, const mm_spool_rows *rows, uint64_t first, uint64_t behind);
uint64_t mm_spool_cursor_next_done(mm_spool_cursor *cursor, uint64_t from);   /* that is done; UINT64_MAX: none */
int mm_spool_cursor_seek(mm_spool_cursor *cursor, uint64_t seq);   /* MM_ENOENT: it was removed; MM_EINVAL, MM_EIO */
int mm_spool_cursor_save(mm_spool_cursor *cursor, int64_t timeout_ms, int64_t slice_ms);
void mm_spool_cursor_inspect(mm_spool_cursor *cursor, mm_spool_cursor_info *out);
/* What one is, without opening it; `missed`: no socket that it feeds was told of those.  MM_ENOENT; MM_EPROTO,
 * MM_ENOTSUP: harmed, of another spool, or of a later version. */
int mm_spool_cursor_look(mm_spool *spool, const char *name, mm_spool_cursor_info *out);
/* Of those that somebody has open, without waiting for the disk: how many there are, though only `cap` are written. */
typedef struct mm_spool_cursor_lag {
    uint64_t left;                                /* as of mm_spool_cursor_info */
    char name[72];
} mm_spool_cursor_lag;
uint32_t mm_spool_cursors_left(mm_spool *spool, mm_spool_cursor_lag *out, uint32_t cap);
int mm_spool_cursor_delete(mm_spool *spool, const char *name);     /* MM_ESTATE: it is open; MM_ENOENT */
/* Their names, each with a newline behind it: how many octets, though only so many are written; or an error. */
int64_t mm_spool_cursor_names(mm_spool *spool, char *out, size_t size);

/* The first number that was written at that time (since 1970) or later, or perhaps was, as it is harmed; what comes
 * next, if none was.  Reads files.  MM_EIO, MM_ENOMEM. */
int mm_spool_since(mm_spool *spool, uint64_t time_us, uint64_t *seq);
/* For so long nothing from that number on is removed, but for want of room; again: renewed.  MM_ENOENT: it was removed;
 * MM_EINVAL: the name; MM_EAGAIN: MM_SPOOL_LEASES_MAX. */
int mm_spool_lease(mm_spool *spool, const char *name, uint64_t from_seq, uint64_t ttl_ms);
int mm_spool_release(mm_spool *spool, const char *name);           /* MM_ENOENT: it was over */

/* Of a spool that another process may have open, without a change: their names likewise; and what was saved in one, as
 * far as the view's last look goes (floor, saved_floor, left, above, ahead).  MM_ENOENT; MM_EPROTO, MM_ENOTSUP: harmed,
 * of another spool, or of a later version. */
int64_t mm_spool_view_cursor_names(mm_spool_view *view, char *out, size_t size);
int mm_spool_view_cursor(mm_spool_view *view, const char *name, mm_spool_cursor_info *out);

/* cdef:end */

#endif
