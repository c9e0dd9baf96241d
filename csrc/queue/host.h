/*
 * queue/host.h: what queues and roles may count and use of their socket.
 *
 * Not here: what a role is (role/role.h).  Law: it lives as long as the socket.
 */
#ifndef MMI_HOST_H
#define MMI_HOST_H

#include "queue/acks.h"
#include "queue/pipe.h"

typedef struct mmi_proto_host {
    mm_stats *stats; /* dropped_* are the role's to count (REP: sent_* of replies it drops, too) */
    const mm_socket_opts *opts;
    uint32_t (*random)(struct mmi_proto_host *host); /* from the platform, seeded in simulation */
    uint64_t (*now_ns)(const struct mmi_proto_host *host);   /* of the engine, as it saw it last */
    uint64_t (*wall_ns)(const struct mmi_proto_host *host);  /* since 1970 */
    void (*due)(struct mmi_proto_host *host, uint64_t at_ns);   /* the role's tick is to come by then */
    void (*event)(struct mmi_proto_host *host, int kind, int reason, uint64_t peer, uint64_t count,
                  const char *detail);
    /* MM_EVENT_DROPPED is coalesced by the engine, each cause for itself; detail is a constant */
    /* The fan-out is deferred: materialize is to be called before anybody looks at the outboxes.  NULL: it must not be.
     * */
    void (*deferred)(struct mmi_proto_host *host);
    /* That message was taken out of a queue of p (NULL: of the socket's own), as its time is over. */
    void (*expired)(struct mmi_proto_host *host, mmi_pipe *p, mmi_msg *m);
    /* Of a group (role/group.c): its topics are known, or others than before: it is to be fed. */
    void (*begun)(struct mmi_proto_host *host);
    struct mmi_replays *replays;   /* PUB: queue/replays.h; else NULL */
    struct mmi_retained *retained; /* PUB that retains: queue/retained.h; else NULL */
    struct mmi_back *back;   /* of a role that shares out; else NULL */
    bool alone;      /* the role shares out, and has nobody to: no_peer applies (queue/backlog.c keeps it) */
    mmi_list given, untold;   /* of queue/acks.h */
    bool keyed;      /* whether a send can succeed hangs on its message (as role/role.h keyed_send) */
    bool looked;     /* somebody is told when there is something to receive, before it asks */
    bool finished;   /* nothing more is sent; ended: and all that was is done */
    bool ended;
    bool closing;    /* the socket was closed: what peers have is not given to others any more */
    bool stopping;   /* the socket takes no peers and asks for no messages any more (the engine does) */
} mmi_proto_host;

#endif
