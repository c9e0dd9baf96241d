/*
 * meshmsg_feed.h: a PUSH or PUB whose messages are in a spool, as the Python binding has it.
 * Not here: spools (meshmsg_spool.h), sockets (meshmsg.h); nothing here is exported by libmeshmsg.
 *
 * Its owner closes a feed once, before the spool, while nobody is in a call with it; all other calls may come from any
 * thread.  Results are mm_err.
 */
#ifndef MESHMSG_FEED_H
#define MESHMSG_FEED_H

#include "meshmsg_cursor.h"

/* cdef:begin */

typedef struct mm_feed mm_feed;
typedef struct mm_feed_info {
    uint64_t left, in_flight, delayed;            /* not done; of those: the socket has them; not due yet */
    uint64_t acked, unknown, expired, attempts;   /* what became of others, as by mm_receipt */
    uint64_t removed, harmed, refused;            /* never sent: retention took them; harm; the socket takes no such */
    uint64_t failed_first, failed_last;           /* it does not go on before those: they are harmed */
    int32_t failed;                               /* 0, or why it does not go on: MM_SPOOL_HARMED, MM_EIO, ... */
} mm_feed_info;

/* From now on the socket's messages are those of the spool that the cursor `name` does not have as done; what becomes
 * of them is noted there.  A PUSH with MM_OPT_AT_LEAST_ONCE and no endpoint yet (else MM_ENOTSUP, MM_ESTATE).
 * MM_EAGAIN: somebody else uses that cursor. */
int mm_feed_open(mm_handle socket, mm_spool *spool, const char *name, mm_feed **feed);
/* Its socket is about to be closed: of what it was given, what was removed from the spool is dropped, and told.  What
 * is acknowledged from now on is not noted, and goes again.  No error. */
void mm_feed_settle(mm_feed *feed);
void mm_feed_close(mm_feed *feed);                /* before the spool; the socket keeps what it has */
void mm_feed_inspect(mm_feed *feed, mm_feed_info *out);
/* Receipts of the socket for those numbers, of messages that were put. */
int mm_feed_receipts(mm_feed *feed, uint64_t first, uint64_t count);
/* ---- a PUB whose messages are in a spool ---- */
typedef struct mm_replay mm_replay;
typedef struct mm_replay_info {
    uint64_t left;                                /* put, and the live subscribers did not get them yet */
    uint64_t behind, reading;                     /* subscribers that are behind; of those, that are read for now */
    uint64_t removed, harmed, refused;            /* the live ones missed them: retention, harm, no such here */
    uint64_t failed_first, failed_last;           /* it does not go on before those: they are harmed */
    int32_t failed;                               /* 0, or why it does not go on: MM_SPOOL_HARMED, MM_EIO, ... */
} mm_replay_info;
enum { MM_REPLAY_READERS_MAX = 16 };              /* subscribers that are behind and read for at once */
/* From now on the socket publishes what is put into the spool, and subscribers may ask for what is there.  A PUB
 * without an endpoint yet (else MM_ENOTSUP, MM_ESTATE).  MM_EAGAIN: another socket has the messages of that spool. */
int mm_replay_open(mm_handle socket, mm_spool *spool, mm_replay **replay);
void mm_replay_close(mm_replay *replay);          /* before the spool; what was put is published, if that can be now */
void mm_replay_inspect(mm_replay *replay, mm_replay_info *out);
/* From where on a SUB without an endpoint yet wants messages of such a PUB: from a number on, the last so many, those
 * of the last so many milliseconds, all.  MM_ENOTSUP, MM_ESTATE, MM_EINVAL, MM_ENOMEM. */
enum { MM_REPLAY_SEQ = 1, MM_REPLAY_LAST, MM_REPLAY_SINCE, MM_REPLAY_EARLIEST };
int mm_sub_replay(mm_handle socket, uint32_t kind, uint64_t value);

/* ---- groups at such a PUB: each message to one member of each ---- */
enum { MM_GROUP_NAME_MAX = 58, MM_GROUPS_MAX = 64 };   /* octets; groups at a PUB */
typedef struct mm_group_info {
    uint64_t unacked, acked, redelivered;         /* members have them now; are done with them; given to another one */
    uint64_t unwanted;                            /* passed over, as nobody in it subscribed to them */
    uint64_t removed, harmed, expired, attempts;  /* that no member got: retention, harm; time is over; too often */
    uint64_t refused;                             /* the socket takes no such */
    uint64_t dead;                                /* of those that are over, or came too often: kept for mm_recv_dead */
    uint32_t members;
    char name[64];
} mm_group_info;
/* A SUB with MM_OPT_GROUP and no endpoint yet is to be a member of that group at each publisher: 1 to
 * MM_GROUP_NAME_MAX of A-Z a-z 0-9 . _ -.  MM_ENOTSUP, MM_ESTATE, MM_EINVAL. */
int mm_sub_group(mm_handle socket, const char *name);
/* Those that somebody was in since the PUB was opened; *count: of all. */
int mm_replay_groups(mm_replay *replay, mm_group_info *out, uint32_t cap, uint32_t *count);
/* That number is the next one of a group, which is made if there is none: MM_SPOOL_EARLIEST, MM_SPOOL_LATEST, or one of
 * the spool.  MM_ESTATE: somebody is in it; MM_EAGAIN: there are MM_GROUPS_MAX others; else as mm_spool_cursor_seek. */
int mm_group_seek(mm_replay *replay, const char *name, uint64_t seq);
/* It is no more.  MM_ESTATE: somebody is in it, or has its cursor open; MM_ENOENT: there is none; MM_EIO. */
int mm_group_forget(mm_replay *replay, const char *name);

/* A message of these frames, end to end (the plan's topic_size is 0). */
int mm_spool_append_frames(mm_spool *spool, const uint8_t *bodies, const uint64_t *sizes, uint32_t frames,
                           const mm_spool_plan *plan, int waits, int64_t timeout_ms, int64_t slice_ms,
                           mm_spool_did *did);
/* The same if it has room at this moment, as mm_spool_append_once_nowait. */
int mm_spool_append_frames_nowait(mm_spool *spool, const uint8_t *bodies, const uint64_t *sizes, uint32_t frames,
                                  const mm_spool_plan *plan, mm_spool_did *did);

/* cdef:end */

#endif
