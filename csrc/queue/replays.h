/*
 * queue/replays.h: subscribers of a publisher whose messages are in a spool, and that read there what was published
 * before: each is behind until it has come to where the live ones are.
 *
 * A subscriber that asked for a replay takes no part in the fan-out while it is behind: who reads the spool gives it
 * each message, from its own place on, while its outbox has room.  Live, it falls behind again where others would lose
 * a message.
 * Not here: who reads the spool (api/replay_run.c), where it was asked (link/replay.c).
 * Law: one that is behind becomes live where its `next` is that of the live ones, under the engine's lock; where it is
 * higher, it waits for them: so it misses nothing, and gets nothing twice.
 */
#ifndef MMI_REPLAYS_H
#define MMI_REPLAYS_H

#include "queue/dist.h"
#include "wire/delivery.h"

/* Who reads the spool. */
typedef struct mmi_replay_source {
    void *arg;                                   /* NULL: there is none, and everybody is live */
    void (*wake)(void *arg);                     /* somebody is behind and has room, or there is room again */
    uint64_t (*end)(void *arg);                  /* the number behind the last one that can be read */
    uint64_t (*left)(void *arg);                 /* messages that were put and the live ones did not get */
    int (*failed)(void *arg);                    /* it gives no more: an error; MM_OK */
    void (*group)(void *arg);                    /* a group has begun, and is to be fed */
    void (*gone)(void *arg);                     /* the socket asks nothing more */
} mmi_replay_source;

typedef struct mmi_replay_node {
    mmi_list node;               /* of `behind` */
    mmi_dist_node *dist;
    mmi_replay from;             /* what it asked for */
    bool asked, begun;           /* it said from where on; and behind that, that all it wants is said */
    bool placed;                 /* `next` is known, and it was told so */
    bool taken;                  /* somebody reads for it */
    bool full;                   /* it gave up its turn, as it had no room, and has none yet */
    uint64_t end;                /* as it asked: the number behind the last one that could be read */
    uint64_t next;               /* the number of the message that it gets next */
    uint64_t since_us;           /* what is older is left out; 0: nothing is */
} mmi_replay_node;

typedef struct mmi_replays {
    mmi_dist *dist;
    mmi_replay_source source;
    uint64_t next;               /* the number of the message that the live ones get next */
    mmi_list behind;             /* mmi_replay_node; who waits longest is first */
} mmi_replays;

void mmi_replays_init(mmi_replays *r, mmi_dist *dist);
void mmi_replays_fini(mmi_replays *r);
static inline bool
mmi_replays_on(const mmi_replays *r)
{
    return r != NULL && r->source.arg != NULL;
}

/* For dist.c, which this calls: so they call nothing there. */

/* A send that was refused may pass now. */
static inline void
mmi_replays_wake(const mmi_replays *r)
{
    if (mmi_replays_on(r)) {
        r->source.wake(r->source.arg);
    }
}

/* It was live, and has no room for that message. */
static inline void
mmi_replays_fell_behind(mmi_replays *r, mmi_replay_node *node, const mmi_msg *m)
{
    node->next = m->origin.number;
    node->dist->behind = true;
    mmi_list_push_back(&r->behind, &node->node);
}

/* Messages that were put, and that the live ones, or the one that is behind the most, did not get; and why there will
 * be no more, or MM_OK. */
uint64_t mmi_replays_left(const mmi_replays *r);
int mmi_replays_failed(const mmi_replays *r);

/* A subscriber comes, goes, or has room again. */
void mmi_replays_add(mmi_replay_node *node, mmi_dist_node *dist);
void mmi_replays_rm(mmi_replay_node *node);
void mmi_replays_out(mmi_replays *r, mmi_replay_node *node);
/* It has one topic more. */
void mmi_replays_subscribed(mmi_replays *r, const mmi_replay_node *node);
/* It asks for a replay, or says that it may begin.  MM_EPROTO: it did before, or subscribed to something before it
 * asked. */
int mmi_replays_ask(mmi_replays *r, mmi_replay_node *node, const mmi_replay *from) MMI_WARN_UNUSED;

/* For who reads the spool. */

/* The one that is behind and has that pipe; NULL: there is none. */
mmi_replay_node *mmi_replays_find(const mmi_replays *r, uint64_t pipe_id);
/* The next one that nobody reads for, that may begin and may have room; NULL: there is none. */
mmi_replay_node *mmi_replays_waiting(const mmi_replays *r);
bool mmi_replays_wants(const mmi_replays *r, const mmi_replay_node *node, const mmi_msg *m);
/* It has no room, and nobody reads for it: it takes its turn again once it has, behind the others. */
void mmi_replays_yield(mmi_replays *r, mmi_replay_node *node);
void mmi_replays_live(mmi_replays *r, mmi_replay_node *node);   /* its place is theirs */

#endif
