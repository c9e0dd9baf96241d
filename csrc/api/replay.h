/*
 * api/replay.h: a PUB whose messages are in a spool: a thread reads them there and gives them to the live subscribers,
 * and to each that is behind from its own place on.
 *
 * Not here: the spool (spool/shared.h), who is behind (queue/replays.h).
 * Law: the engine's lock is taken before `lock`, and that before the spool's.  The thread alone reads, and alone
 * publishes; it holds no lock while the disk works, and waits for no subscriber.
 */
#ifndef MMI_API_REPLAY_H
#define MMI_API_REPLAY_H

#include <stdatomic.h>

#include "api/api.h"
#include "api/spool.h"
#include "queue/replays.h"

enum {
    REPLAY_RUN = 64,                     /* messages that are read, and then given, at once */
    REPLAY_RUN_BYTES = 1024 * 1024       /* bytes of them, but for the last one */
};

/* Messages that were read and are not given yet: from `given` on. */
typedef struct replay_run {
    mmi_msg *messages[REPLAY_RUN];
    size_t count, given, bytes;
} replay_run;

/* What is read for one that is behind. */
typedef struct replay_slot {
    uint64_t pipe_id;                    /* 0: for nobody */
    mmi_spool_reader reader;
    replay_run run;
    uint64_t since_us;                   /* what is older is left out */
    bool sought;                         /* and files of which all is older are not read */
    bool room;                           /* its queue has some */
    uint64_t removed, harmed;            /* to be told of */
    uint64_t failed_first, failed_last;  /* it cannot go on before those; 0: it can */
} replay_slot;

/* A group, and what feeds it (api/groups.c). */
typedef struct replay_group {
    char name[MMI_GROUP_NAME_MAX + 1];
    mm_handle socket;
    mm_feed *feed;                       /* NULL: none, and so no group */
} replay_group;

struct mm_replay {
    atomic_uint refs;                    /* its owner's, and the socket's */
    mm_handle socket;
    pthread_mutex_t lock;
    mmi_spool_shared *shared;            /* NULL: it was closed */
    mm_replay_info counts;
    uint64_t published;                  /* all up to it */
    bool fills;                          /* what the socket retains comes from the spool first */
    bool stop;
    uint64_t stop_at;                    /* what is published before it stops, at the most */
    uint32_t epoch;                      /* of the spool, since it was opened */
    void *thread;
    mmi_spool_reader reader;             /* of the live ones */
    replay_run live;
    replay_slot slots[MM_REPLAY_READERS_MAX];
    bool groups_due;                     /* one is to be fed */
    pthread_mutex_t tending;             /* taken before all others, while a group is opened, moved or looked at */
    bool ended;                          /* no group is opened or moved any more; whoever is tending has it */
    replay_group groups[MM_GROUPS_MAX];  /* likewise */
};

/* A replay without its thread; MM_OK or as mm_replay_open says. */
int mmi_replay_make(mm_handle socket, mm_spool *spool, mm_replay **replay) MMI_WARN_UNUSED;
/* api/replay_run.c: the thread; and one turn of it.  1: there may be more to do at once; 0: nothing new is there;
 * MM_EAGAIN: no room for the live ones; MM_ENOMEM; MM_ECLOSED: it ends.  *retry: it is to be tried again soon. */
void mmi_replay_run(void *arg);
int mmi_replay_turn(mm_replay *r, bool *retry) MMI_WARN_UNUSED;
/* api/groups.c.  Feeds those that have begun; the end of all. */
void mmi_groups_tend(mm_replay *r);
void mmi_groups_end(mm_replay *r);
/* api/replay_behind.c: gives what was read to those that are behind, and reads more.  true: there may be more to do at
 * once.  MM_ENOMEM in *rc: some is to be tried again. */
bool mmi_replay_behind(mm_replay *r, int *rc);
void mmi_replay_slots_end(mm_replay *r);
/* api/replay_read.c.  The next messages below a number, as far as they can be seen: 1; 0: there are none; MM_ENOMEM; or
 * it cannot be read: MMI_SPOOL_HARMED and *last, or another error.  What is gone is counted. */
typedef struct replay_gone { uint64_t removed, harmed, last; } replay_gone;
int mmi_replay_read(mm_replay *r, mmi_spool_reader *reader, replay_run *run, uint64_t below, uint64_t since_us,
                    replay_gone *gone);
/* api/replay_fill.c: what is in the spool is retained.  MM_OK: all of it, or it is to stop; else why it cannot be, as
 * mmi_replay_read says, from number *first on. */
int mmi_replay_fill(mm_replay *r, uint64_t *first, replay_gone *gone);
void mmi_replay_run_drop(replay_run *run);

#endif
