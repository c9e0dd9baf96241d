/*
 * ends.h: the life of a socket, and where its peers come from: dialers try again and again,
 * listeners accept.
 *
 * Not here: the connections themselves (link), when what is due is done (sched).
 * All calls with the engine lock held.  Law: after an end of its link the next attempt of a dialer
 * is exponentially later, with full jitter, unless the link had lived long enough.
 */
#ifndef MMI_ENDS_H
#define MMI_ENDS_H

#include "socket/endpoint.h"
#include "tran/tran.h"

/* ends/socket.c */
int mmi_socket_open(mmi_engine *e, int role, const mm_socket_opts *opts,
                    mmi_socket **out) MMI_WARN_UNUSED;
/* The same of a role that no user opens. */
int mmi_socket_make(mmi_engine *e, const mmi_proto_ops *ops, const mm_socket_opts *opts,
                    mmi_socket **out) MMI_WARN_UNUSED;
void mmi_socket_close(mmi_socket *s);              /* starts the linger */
void mmi_socket_reap(mmi_socket *s);               /* frees a closed socket whose links are gone */
void mmi_socket_tick(mmi_socket *s); /* the role does what is due, and says when next */
void mmi_socket_end(mmi_socket *s); /* the linger is over: what is not written is abandoned */
void mmi_socket_cut(mmi_socket *s); /* and what the peer has not read, too: the engine goes */

/* ends/group.c.  As mmi_socket has it (find_group). */
int mmi_group_find(mmi_socket *home, const char *name, mmi_socket **out) MMI_WARN_UNUSED;

/* ends/expire.c.  The timer of messages that expire fired. */
void mmi_socket_expire(mmi_socket *s);

/* ends/stop.c.  No more peers come: nobody listens or dials; the links stay. */
void mmi_socket_no_arrivals(mmi_socket *s);
/* The same, and those it has are asked to send nothing more, until then.  MM_ENOMEM: there is no
 * timer, it waits for nobody. */
int mmi_socket_stop(mmi_socket *s, uint64_t deadline_ns) MMI_WARN_UNUSED;
void mmi_socket_stop_late(mmi_socket *s);

/* ends/dialer.c.  identity: what to know the peer by; size 0: by what it says.  who: is to be there; NULL:
 * anybody.  MM_ESTATE: another dialer has that identity. */
int mmi_dialer_open(mmi_socket *s, const mmi_url *url, const uint8_t *identity, size_t size,
                    const mmi_expected *who) MMI_WARN_UNUSED;
void mmi_dialer_close(mmi_dialer *d);                       /* its link, if any, is left */
void mmi_dialer_retire(mmi_dialer *d);                      /* likewise, once nothing is under way there */
void mmi_dialer_due(mmi_dialer *d);                         /* its timer fired */
void mmi_dialer_resolved(mmi_dialer *d);                    /* poll said MMI_RESOLVED */
void mmi_dialer_link_ended(mmi_dialer *d, uint64_t lived_ns, int reason);

/* ends/listener.c.  addr: where to listen, if its transport looks that up. */
int mmi_listener_open(mmi_socket *s, const mmi_url *url, const mmi_addr *addr, const char *asked,
                      mmi_listener **out) MMI_WARN_UNUSED;
void mmi_listener_close(mmi_listener *l);                   /* its links stay */
void mmi_listener_accept(mmi_listener *l);                  /* readable or rung, or its pause is over */
bool mmi_listener_rung(const mmi_listener *l);              /* of one in engine->rung: somebody waits */

/* ends/user.c: users and groups whose programs may be at the other side, beside our own user and root. */
typedef struct mmi_users {
    uint32_t uid_count, gid_count;
    uint32_t uids[MM_USERS_MAX], gids[MM_USERS_MAX];
} mmi_users;
/* Of a stream of MMI_TRAN_USERS, as it begins: MM_OK, or MM_EPERM, and why says it. */
int mmi_user_fits(const mmi_socket *s, int stream, bool dials, mmi_tran_why *why);
bool mmi_users_open(const mmi_socket *s);   /* others than our own may come */

/* ends/inspect.c */
void mmi_socket_stats_now(mmi_socket *s, mm_stats *out);
/* Fill an array of mm_peer, or mm_attempt; count of all. */
uint32_t mmi_socket_peers(mmi_socket *s, void *out, uint32_t cap);
uint32_t mmi_socket_attempts(mmi_socket *s, void *out, uint32_t cap);
/* As mmi_link_inspect_more.  MM_ESTATE: it is no peer. */
int mmi_socket_peer_more(mmi_socket *s, uint64_t peer, mmi_octets *metadata, mmi_octets *certificate);
const char *mmi_socket_peer_address(mmi_socket *s, uint64_t peer);   /* NULL: it is no peer */
bool mmi_socket_drain_inspect(mmi_socket *s, mm_drain_info *info); /* true: nothing left to wait for */
bool mmi_socket_subscribed_inspect(mmi_socket *s, mm_subscribed_info *info);   /* the same */

#endif
