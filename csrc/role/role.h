/*
 * role/role.h: what a protocol role is: a table of functions over pipes.  A role is a pure state
 * machine: it cannot see bytes, connections, time (but tick's argument) or threads.
 *
 * All calls: engine lock held, must not block, must not call back into the socket.  ps is the
 * role's private state, sock_size bytes that the engine allocated and zeroed before init.
 */
#ifndef MMI_ROLE_H
#define MMI_ROLE_H

#include "queue/host.h"
#include "wire/delivery.h"
#include "wire/roles.h"

typedef struct mmi_proto_ops {
    mmi_role_facts is;                   /* number, name, whom it talks to */
    int overflow;                        /* MM_OVERFLOW_ by default; 0: MM_OVERFLOW_BLOCK */
    /* Takes an identity; shares out, so takes no_peer; but not MM_NO_PEER_DROP: it asks, and a caller
     * waits for what was dropped; asks, so refusals of its peers are for it. */
    bool named, shares, keeps, asks;
    bool finishes;                       /* PUSH: can say that it sends nothing more */
    bool retains;                        /* PUB: keeps the last message of each topic, if asked to */
    bool acks;                           /* PULL, SUB in a group: what comes is acknowledged where its sender asks for
                                          * it (mmi_socket_acks) */
    bool halts;                          /* a peer that it leaves may be told to send nothing more */
    bool converses;                      /* what a peer has yet to say to it is known to nobody */
    size_t sock_size, pipe_size;         /* private state, allocated and zeroed by the engine */
    int (*init)(void *ps, mmi_proto_host *host);      /* MM_ENOMEM */
    /* After every pipe was removed; frees and counts (dropped_closed) what it still holds. */
    void (*fini)(void *ps);
    /* New peer, queues empty.  MM_ESTATE: no more peers (PAIR); MM_EADDRINUSE: identity taken
     * (ROUTER); MM_ENOMEM. */
    int (*add)(void *ps, mmi_pipe *p);
    /* Peer gone.  Takes what it wants to keep out of p's rings; what it leaves is counted
     * dropped_peer_gone and freed by the engine.  A pinned front is always left. */
    void (*rm)(void *ps, mmi_pipe *p);
    /* p->stopped was just set: nothing more is to be queued for that peer, which may still be heard.
     * Roles that share out take what is not pinned out of the outbox; others leave it.  rm comes
     * later.  NULL: this role queues only answers. */
    void (*stop)(void *ps, mmi_pipe *p);
    void (*in)(void *ps, mmi_pipe *p);   /* p's inbox went from empty to non-empty */
    /* PUSH: a message that a peer gave back (NACK); takes it. */
    void (*again)(void *ps, mmi_msg *m);
    void (*out)(void *ps, mmi_pipe *p);  /* something left p's outbox: there may be room again */
    /* MM_OK: the protocol owns m (REQ, SURVEYOR: m->key is set; who wants to read it holds a
     * reference). Else the caller still does, unchanged: MM_EAGAIN, MM_EHOSTUNREACH, MM_EINVAL,
     * MM_ESTATE (PUSH: it is finished),
     * MM_EMSGSIZE (XSUB: topic; REQ, SURVEYOR: with its envelope; or no peer that it is for takes so
     * much), MM_ENOTSUP (no peer's wire has words for it), MM_ENOMEM. NULL: cannot send. */
    int (*send)(void *ps, mmi_msg *m);
    /* The pipe that all that is sent now goes to, when there is just one and nothing waits to go
     * first; a run of messages may then be queued there as a segment.  NULL: there is none such. */
    mmi_pipe *(*sole)(const void *ps);
    /* MM_OK: the caller owns *m.  MM_EAGAIN: nothing now.  MM_ENOMEM: nothing taken.  NULL: cannot
     * receive. */
    int (*recv)(void *ps, mmi_msg **m);
    /* Roles that receive messages as they come, of any number of frames: by the segment.  As recv, up
     * to max_messages and, after the first, max_bytes; the caller owns the span's reference.  NULL:
     * the link makes no segments. */
    int (*take)(void *ps, uint32_t max_messages, size_t max_bytes, mmi_span *out);
    uint32_t (*ready)(
        const void *ps); /* MM_READABLE | MM_WRITABLE, computed, not remembered; cheap */

    /* Only some roles; NULL elsewhere. */

    /* PUB, XPUB, a group: from a peer, either wire form.  MM_OK; MM_EMSGSIZE topic too long; MM_ENOMEM;
     * MM_EPROTO too many; MM_ESTATE its topics stay as they are: the engine closes the link with the right reason. */
    int (*subscription)(void *ps, mmi_pipe *p, bool add, const uint8_t *topic, size_t size);
    /* PUB whose messages are in a spool: a peer asks for a replay (queue/replays.h), or says that it may begin.
     * MM_OK; MM_EPROTO not in that order; MM_EAGAIN it gets nothing more. */
    int (*replay)(void *ps, mmi_pipe *p, const mmi_replay *from);
    /* A group: all topics of that peer are said, so it may have messages from now on.  Again: nothing.  MM_EPROTO it
     * has none; MM_EINVAL they are not those of the others. */
    int (*begin)(void *ps, mmi_pipe *p);
    /* XPUB that its user runs by hand: what that peer gets.  1; 0: it is so already;
     * MM_EHOSTUNREACH no such peer; MM_ENOTSUP it is not run by hand; MM_ENOMEM. */
    int (*grant)(void *ps, uint64_t pipe_id, bool add, const uint8_t *topic, size_t size);
    /* XPUB: what each new subscriber gets first, NULL: nothing; takes m. */
    void (*set_welcome)(void *ps, mmi_msg *m);
    /* SUB, XSUB: from the user.  MM_EINVAL: cancel of what was not subscribed; MM_EMSGSIZE;
     * MM_ESTATE: it asks for nothing any more; MM_ENOMEM. */
    int (*subscribe)(void *ps, bool add, const uint8_t *topic, size_t size);
    /* SUB, XSUB: has that peer told that nothing is wanted any more; what still comes is, until then.
     * MM_ENOMEM.  NULL: it subscribes to nothing. */
    int (*cancel)(void *ps, mmi_pipe *p);
    /* SUB: does it want a message that begins so?  Asked as messages come from peers that send all
     * they have (SP): what is not wanted is not put into the inbox. */
    bool (*wants)(void *ps, const uint8_t *data, size_t size);
    uint32_t (*topics)(const void *ps);  /* SUB, XSUB: how many it subscribed to */
    /* PUB, XPUB: peers a message of this topic would go to now. */
    uint32_t (*reach)(void *ps, const uint8_t *topic, size_t size);
    /* ROUTER: MM_EHOSTUNREACH. */
    int (*find)(void *ps, const uint8_t *identity, size_t size, uint64_t *pipe_id);
    /* REP, RESPONDENT: sends the refusal m (refusal.h) to the peer that asked.  MM_OK: the protocol
     * owns m. Else the caller does, and nothing was counted: MM_EHOSTUNREACH gone, MM_ENOTSUP it
     * knows none, MM_EAGAIN, MM_ENOMEM. */
    int (*refuse)(void *ps, mmi_msg *m);
    /* REQ: MM_OK the caller owns *m, and the id is forgotten; MM_EREFUSED the same, and *m is the
     * reason; MM_EAGAIN not yet; MM_ECONNRESET its peer went away, MM_EMSGSIZE an answer over the
     * limits ended the connection, id forgotten; MM_EINVAL no such request; MM_ENOMEM.
     * SURVEYOR: MM_OK one answer; MM_ESTATE there are no more, the id stays until it is forgotten.
     */
    int (*reply)(void *ps, uint64_t key, mmi_msg **m);
    /* REQ, SURVEYOR: does that peer owe an answer that somebody waits for?  NULL: none does. */
    bool (*owes)(const void *ps, const mmi_pipe *p);
    /* SURVEYOR: the oldest refusal that was not told yet, *m is its reason.  MM_EAGAIN; MM_EINVAL no
     * such survey; MM_ENOMEM. */
    int (*refusal)(void *ps, uint64_t key, mmi_msg **m);
    /* REQ, SURVEYOR: would reply say anything but MM_EAGAIN?  Whether to wake who waits for this
     * very reply: MM_READABLE only tells that there is some reply, maybe one that nobody fetches.
     */
    bool (*replied)(const void *ps, uint64_t key);
    void (*forget)(void *ps, uint64_t key);           /* REQ, SURVEYOR: a later reply is late */
    /* REQ: ids for which reply would not say MM_EAGAIN, oldest first; count.  SURVEYOR: those that
     * have become so again since they were told last. */
    uint32_t (*replies)(void *ps, uint64_t *keys, uint32_t cap);
    /* SURVEYOR: the survey is over at that time, or after so many answers (0: those of all).  tick
     * is due anew.  Cannot fail. */
    void (*bound)(void *ps, uint64_t key, uint64_t deadline_ns, uint32_t answers);
    /* SURVEYOR: whom a survey asked; count of all; 0: no such survey. */
    uint32_t (*asked)(const void *ps, uint64_t key, uint64_t *pipe_ids, uint32_t cap);
    /* PUB, XPUB: messages that were sent, and that outboxes have not got yet, are put there.  Before
     * anything but another send looks at an outbox, and in the end within the pace of a burst. */
    void (*materialize)(void *ps);
    /* Does what is due by now; when to call again, UINT64_MAX: not until bound or host->due is called. */
    uint64_t (*tick)(void *ps, uint64_t now_ns);
    /* Messages (and bytes) that were received and wait outside any pipe's inbox. */
    uint32_t (*unclaimed)(const void *ps, uint64_t *bytes);
    /* Whether a send can succeed depends on the message (ROUTER; PUB when it blocks): MM_WRITABLE
     * is then news for every waiting sender, not for one. */
    bool keyed_send;
    /* send copies a borrowed message, or queues it by way of mmi_ring_push; and small ones may be
     * encoded into segments. */
    bool segments;
} mmi_proto_ops;

/* Those there are: number, and NAME of its table, mmi_NAME_ops. */
#define MMI_ROLES(ROLE)                                                                            \
    ROLE(MM_PUSH, push)                                                                            \
    ROLE(MM_PULL, pull)                                                                            \
    ROLE(MM_PUB, pub)                                                                              \
    ROLE(MM_SUB, sub)                                                                              \
    ROLE(MM_XPUB, xpub)                                                                            \
    ROLE(MM_XSUB, xsub)                                                                            \
    ROLE(MM_REQ, req)                                                                              \
    ROLE(MM_REP, rep)                                                                              \
    ROLE(MM_DEALER, dealer)                                                                        \
    ROLE(MM_ROUTER, router)                                                                        \
    ROLE(MM_PAIR, pair)                                                                            \
    ROLE(MM_SURVEYOR, surveyor)                                                                    \
    ROLE(MM_RESPONDENT, respondent)                                                                \
    ROLE(MM_BUS, bus)

#define MMI_ROLE_DECLARED(number, name) extern const mmi_proto_ops mmi_##name##_ops;
MMI_ROLES(MMI_ROLE_DECLARED)
#undef MMI_ROLE_DECLARED

const mmi_proto_ops *mmi_proto_find(int role); /* NULL: no such role */
const char *mmi_role_name(int role); /* as on the wire; "unknown role" */
extern const mmi_roles mmi_roles_known; /* for a handshake */
extern const mmi_proto_ops mmi_group_ops;   /* of no user: of a group at a PUB (socket/group.h) */
/* A table that outlives all use, before any other thread is there.  MM_EINVAL: its number or name is
 * another's, or none. */
int mmi_proto_add(const mmi_proto_ops *ops);

#endif
