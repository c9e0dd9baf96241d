/*
 * meshmsg_spool.h: spools, as the Python binding opens, fills and reads them.
 * Not here: what a C program uses (meshmsg.h); nothing here is exported by libmeshmsg.
 *
 * A spool and a reader are pointers: their owner closes each once, while nobody is in a call with it, and a spool after
 * its readers.  All other calls may come from any thread, but those of one reader from one at a time.  Time-outs are as
 * in meshmsg.h.  Results are mm_err, or MM_SPOOL_HARMED, MM_SPOOL_SHARED, MM_SPOOL_REMOTE.
 */
#ifndef MESHMSG_SPOOL_H
#define MESHMSG_SPOOL_H

#include "meshmsg_testing.h"

/* cdef:begin */

/* What was durable is gone or not what it was; the folder: every user may write to it, it is on another machine. */
enum { MM_SPOOL_HARMED = -1000, MM_SPOOL_SHARED = -1001, MM_SPOOL_REMOTE = -1002 };
enum { MM_SPOOL_BUFFERED, MM_SPOOL_OS, MM_SPOOL_DISK };   /* levels: in memory; the system has it; it is on the disk */
enum { MM_SPOOL_ERROR, MM_SPOOL_BLOCK, MM_SPOOL_DROP_OLDEST, MM_SPOOL_DROP_NEWEST };   /* what a full one does */
enum { MM_SPOOL_FULL_NEVER, MM_SPOOL_FULL_MESSAGES, MM_SPOOL_FULL_BYTES, MM_SPOOL_FULL_DISK };   /* which limit */
enum { MM_SPOOL_OWNER_MAX = 127 };

typedef struct mm_spool mm_spool;
typedef struct mm_spool_reader mm_spool_reader;

typedef struct mm_spool_opts {
    uint32_t level, overflow;
    uint32_t gaps;                                /* what is harmed is left out and told of; else opening fails */
    uint32_t remote;                              /* also on a file system of another machine */
    uint64_t file_bytes, batch_bytes;             /* 0: the default */
    uint64_t max_bytes, max_messages;             /* 0: none */
    uint64_t sync_every_ms;                       /* of the level "os" */
    const char *owner;                            /* who opens it, for whoever finds it open */
    const uint8_t *uuid;                          /* of one that is made, 16 octets; NULL: random */
    uint64_t max_age_ms;                          /* files whose messages are all older go; 0: none for that */
    const char **acked_by;                        /* names of cursors: files that all are done with go */
    uint32_t acked_by_count;                      /* 0: none for that */
    uint32_t compact_ppm;                         /* compacts by itself once so much of its files is new; 0: not */
    uint64_t tombstone_age_ms;                    /* a tombstone goes so long after what was before it */
    uint64_t segment_age_ms;                      /* a file is sealed once its first message is older; 0: not */
} mm_spool_opts;

typedef struct mm_spool_report {
    uint32_t made, unclean;                       /* it is new; it was not closed in order */
    uint64_t torn_bytes;                          /* behind the last batch: put into quarantine, */
    uint64_t torn_left;                           /* but for these, as there was no room on the disk */
    uint64_t lost_first, lost_last;               /* numbers that are gone; 0: none */
    uint64_t harmed_file, harmed_at;              /* then: the file's first number, and the octet */
    uint64_t copied_messages;                     /* that were not proved to be durable, and are now */
    char owner[128];                              /* with MM_EAGAIN: who has it open */
} mm_spool_report;

typedef struct mm_spool_info {
    uint8_t uuid[16];
    uint32_t epoch, files, failed;
    uint64_t first_seq, last_seq, written_seq, durable_seq, bytes;
    uint64_t appended_messages, dropped_oldest, dropped_newest, syncs, sync_ns, sync_max_ns;
    uint64_t expired_messages, expired_files;     /* by max_age_ms */
    uint64_t acked_messages, acked_files;         /* by acked_by */
    uint64_t clean_seq;                           /* no two messages up to it have one key */
    uint64_t compactions;                         /* that are over; the messages they took; the files they wrote anew */
    uint64_t compacted_messages, compacted_files;
    uint32_t compaction_failed;                   /* the last one did */
    uint64_t clock_jumps;                         /* since it was opened: then half is kept for as long as max_age_ms */
    uint64_t repeated_messages;                   /* that their producers had put before, and were not put */
    uint64_t producers, forgotten_producers;      /* that are known; that went, as there were too many */
    uint32_t full_why;                            /* the last time that there was no room to put: MM_SPOOL_FULL_... */
    uint64_t full_messages, full_bytes;           /* and what there was then */
    uint32_t full;                                /* so it was as the last one was put */
} mm_spool_info;

/* In a folder that is there; its name is made durable. */
int mm_spool_open(const char *path, const mm_spool_opts *opts, mm_spool_report *report, mm_spool **spool);
int mm_spool_close(mm_spool *spool);              /* writes what waits; MM_EIO: it had failed, or did */
void mm_spool_abandon(mm_spool *spool);           /* in the child of a fork */
/* What an append did: `done` were taken, that is put, dropped, or known from before; numbers of the first and last that
 * was put; 0: of none.  Of those that have an origin: how many were `repeated`, and the number of the last of them (0:
 * it is not known); and all is kept once the number `until` is.  `unkept`: how many of those taken it dropped. */
typedef struct mm_spool_did { uint64_t done, first, last, repeated, original, until, unkept; } mm_spool_did;
void mm_spool_did_add(const mm_spool_did *one, mm_spool_did *all);   /* what a further part of an append did */
/* Until they are kept as the level says; it ends early rather than that numbers of others come between, or behind one
 * that it dropped (then those that were put are in front of those that were not). */
enum { MM_SPOOL_WAITS = 1, MM_SPOOL_IN_A_ROW = 2 };
/* Messages of one frame, that the same goes with (meta, as csrc/base/meta.h; of 0 octets: nothing). */
int mm_spool_append(mm_spool *spool, const mm_body *bodies, size_t count, const uint8_t *meta, uint32_t meta_size,
                    uint32_t flags, int64_t timeout_ms, int64_t slice_ms, mm_spool_did *did);
/* What is the same for each message of a call: what goes with it, when it is not to be sent before (since 1970; 0: at
 * once), how urgent it is, and how many octets in front of each body are a frame of their own, its topic (0: none). */
typedef struct mm_spool_plan {
    const uint8_t *meta;
    uint64_t due_us;
    uint32_t meta_size, priority;
    uint64_t topic_size;
} mm_spool_plan;
/* Messages with a plan, which may have an origin (NULL: they have none): who puts them, 16 octets, and the number that
 * it gives the first of them; those of the others go up by one.  A number that is not above the last of its producer is
 * not put again.  MM_EINVAL: also, the numbers leave 64 bits, or there is no such priority. */
typedef struct mm_spool_origin { const uint8_t *producer; uint64_t number; } mm_spool_origin;
enum { MM_SPOOL_PRODUCERS_MAX = 10000 };          /* that are known; the one that put longest ago goes */
int mm_spool_append_once(mm_spool *spool, const mm_body *bodies, size_t count, const mm_spool_plan *plan,
                         const mm_spool_origin *origin, uint32_t flags, int64_t timeout_ms, int64_t slice_ms,
                         mm_spool_did *did);
/* What of that has room at this moment: it waits for no disk.  MM_EAGAIN: the rest is for mm_spool_append_once. */
int mm_spool_append_once_nowait(mm_spool *spool, const mm_body *bodies, size_t count, const mm_spool_plan *plan,
                                const mm_spool_origin *origin, mm_spool_did *did);
/* 1: *number is the last one that it put; 0: it is not known. */
int mm_spool_last_origin(mm_spool *spool, const uint8_t *producer, uint64_t *number);
void mm_spool_write_soon(mm_spool *spool);        /* what was put so is to be written, by the spool's own thread */
uint64_t mm_spool_clock_ms(void);                 /* monotonic: by which a time-out is cut for a further call */
/* Until all that was put before is kept so. */
int mm_spool_flush(mm_spool *spool, uint32_t level, int64_t timeout_ms, int64_t slice_ms);
uint32_t mm_spool_trim(mm_spool *spool, uint64_t seq);   /* files without a number above it go: how many */
void mm_spool_inspect(mm_spool *spool, mm_spool_info *out);
/* A call waits for room: the event MM_EVENT_SPOOL_FULL of a socket that has its messages, if it is open. */
void mm_spool_tell_full(mm_handle socket, const char *detail);
uint64_t mm_spool_clock_jumps(const mm_spool *spool);   /* as mm_spool_info has it; takes no lock */
/* Of the messages of a key only the last one stays, in what is sealed (csrc/spool/shared_compact.h).  until: 0, and
 * again what it was in further calls for the same.  MM_ETIMEDOUT, MM_EAGAIN, MM_EINTR: it goes on, by itself too. */
typedef struct mm_spool_compacted {
    uint64_t until;
    uint64_t messages, tombstones, files, merged_files, skipped_files, held_files, bytes;
} mm_spool_compacted;
int mm_spool_compact(mm_spool *spool, int64_t timeout_ms, int64_t slice_ms, mm_spool_compacted *did);

/* Who is rung for an event loop: *bell is readable then.  Set: cleared, and rung once that number is written, or that
 * one durable (UINT64_MAX: neither), or the spool failed; at once, if it is so already.  Closed before the spool. */
typedef struct mm_spool_watch mm_spool_watch;
typedef struct mm_spool_kept { uint64_t last, written, durable; uint32_t failed; } mm_spool_kept;
int mm_spool_watch_open(mm_spool *spool, mm_spool_watch **watch, int *bell);   /* MM_ENOMEM, MM_EMFILE */
void mm_spool_watch_set(mm_spool_watch *watch, uint64_t written_at, uint64_t durable_at, mm_spool_kept *now);
void mm_spool_watch_close(mm_spool_watch *watch);

/* Of one message that was read; until the next load, or the reader's close. */
typedef struct mm_spool_message {
    uint64_t seq, time_us;
    uint32_t epoch, frames, meta_size, sizes_size;
    const uint8_t *meta, *sizes;                  /* sizes: for mm_spool_message_frames */
    const uint8_t *first, *data;                  /* the first of several frames; the others, end to end */
    uint64_t first_size, size;
} mm_spool_message;
void mm_spool_message_frames(const mm_spool_message *m, uint64_t *sizes);   /* of each of its frames */

int mm_spool_reader_open(mm_spool *spool, uint64_t seq, mm_spool_reader **reader);   /* MM_ENOMEM */
void mm_spool_reader_close(mm_spool_reader *reader);
/* 1: there is a batch to take from; 0: nothing within the time that can be seen yet; MM_ENOENT: what is next went, and
 * *goes_on is the first that is there; MM_SPOOL_HARMED: what is next is gone, up to before *goes_on.  Who goes on
 * seeks. */
int mm_spool_reader_load(mm_spool_reader *reader, int64_t timeout_ms, int64_t slice_ms, uint64_t *goes_on);
int mm_spool_reader_next(mm_spool_reader *reader, mm_spool_message *out);   /* 1; 0: load more */
void mm_spool_reader_seek(mm_spool_reader *reader, uint64_t seq);
uint64_t mm_spool_reader_seq(const mm_spool_reader *reader);   /* what is next: behind what compaction removed */

/* Messages as a table (csrc/spool/rows.h), for Arrow.  As mm_spool_reader_load, and then all that there is, below that
 * number, at most so many messages, and bytes of them and what goes with them; at least one message.  1: *out is it. */
typedef struct mm_spool_rows mm_spool_rows;
enum { MM_SPOOL_ROWS_MAX = 16777216, MM_SPOOL_ROWS_BYTES_MAX = 1073741824 };
int mm_spool_rows_read(mm_spool_reader *reader, uint64_t below, uint32_t max_messages, uint64_t max_bytes,
                       int64_t timeout_ms, int64_t slice_ms, uint64_t *goes_on, mm_spool_rows **out);
mm_spool_rows *mm_spool_rows_none(void);          /* of no message; NULL: no memory */
void mm_spool_rows_facts(const mm_spool_rows *rows, uint64_t *count, uint64_t *bytes);
void mm_spool_rows_at(const mm_spool_rows *rows, uint32_t i, mm_spool_message *out);   /* of one that there is */
void mm_spool_rows_free(mm_spool_rows *rows);     /* arrays made of them stay */
void *mm_spool_rows_schema(void);                 /* new structs of Arrow's; NULL: no memory */
void *mm_spool_rows_array(mm_spool_rows *rows);
/* mm_spool_append of elements [did->done, length) of an Arrow array of binary (of fixed size, too) or strings, or of
 * the rows of a table with the columns data and, if there is one, key; it waits for room only.  did->done counts on,
 * also on failure; the numbers are those of this call.  MM_EINVAL: another type or column, or a body that is null;
 * MM_EMSGSIZE: also a key. */
int mm_spool_append_arrow(mm_spool *spool, const void *schema, const void *array, const uint8_t *meta,
                          uint32_t meta_size, int64_t timeout_ms, int64_t slice_ms, mm_spool_did *did);

/* Ranges of a spool, for another process (docs/wire.md, "Ranges"): whole batches, as they stand in the files, so what
 * is read there is checked as it was written.  Of the batch that was loaded: its octets are head, then body; it has
 * numbers up to `last`.  Until the next call with the reader; who goes on behind it seeks. */
enum { MM_SPOOL_BLOCK_HEAD = 64 };                /* octets */
typedef struct mm_spool_block {
    uint8_t head[64];
    const uint8_t *body;
    uint64_t body_size, last;
} mm_spool_block;
void mm_spool_reader_block(const mm_spool_reader *reader, mm_spool_block *out);
void mm_spool_reader_each(mm_spool_reader *reader);   /* it gives each batch, also one that compaction left empty */
/* Messages [from, to) out of such batches, end to end; the octets stay for as long.  NULL: no memory. */
typedef struct mm_spool_blocks mm_spool_blocks;
mm_spool_blocks *mm_spool_blocks_new(const uint8_t *data, uint64_t size, uint64_t from, uint64_t to);
void mm_spool_blocks_free(mm_spool_blocks *blocks);
/* As mm_spool_rows_read.  1: *out is it; 0: there are no more; MM_EPROTO: these are none, or not those; MM_ENOMEM. */
int mm_spool_blocks_rows(mm_spool_blocks *blocks, uint32_t max_messages, uint64_t max_bytes, mm_spool_rows **out);

/* A spool that another process may have open, to be read: what is proved to be durable.  Nothing is locked or written.
 * Readers of it are as those of a spool.  MM_ENOENT: there is none. */
typedef struct mm_spool_view mm_spool_view;
int mm_spool_view_open(const char *path, int remote, mm_spool_view **view);
void mm_spool_view_close(mm_spool_view *view);
int mm_spool_view_inspect(mm_spool_view *view, mm_spool_info *out);   /* as of now: identity, files, numbers */
int mm_spool_view_reader_open(mm_spool_view *view, uint64_t seq, mm_spool_reader **reader);   /* MM_ENOMEM */
/* As mm_spool_last_origin and mm_spool_since, of what can be seen; they read files.  Or an error of reading. */
int mm_spool_view_last_origin(mm_spool_view *view, const uint8_t *producer, uint64_t *number);
int mm_spool_view_since(mm_spool_view *view, uint64_t time_us, uint64_t *seq);

/* cdef:end */

#endif
