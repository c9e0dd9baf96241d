/*
 * drop.h: how a role gives up a message: counted in exactly one counter of the socket, and in that
 * of the peer whose it was; told as an event; freed.
 * Not here: whether to drop (the policies and roles decide).
 * Law: no role frees a message that was not delivered except through here, or leaves it to the
 * engine.  Nobody else counts what a pipe dropped.
 */
#ifndef MMI_DROP_H
#define MMI_DROP_H

#include "queue/host.h"

typedef enum mmi_drop_why {
    MMI_DROP_OVERFLOW, MMI_DROP_NO_PEER, MMI_DROP_PEER_GONE, MMI_DROP_CLOSED,
    MMI_DROP_LATE, MMI_DROP_FILTERED, MMI_DROP_MALFORMED, MMI_DROP_NO_ID, MMI_DROP_UNENCODABLE,
    MMI_DROP_EXPIRED, MMI_DROP_ATTEMPTS,
    MMI_DROP_RECV_OVERFLOW, MMI_DROP_MEMORY,   /* these count as dropped_overflow, too */
    MMI_DROP_REMOVED, MMI_DROP_HARMED, MMI_DROP_UNKEPT,
    MMI_DROP_TOO_LARGE, MMI_DROP_PEER_TAKES,   /* these count as dropped_unencodable */
    MMI_DROP_WHYS
} mmi_drop_why;

void mmi_drop_count(mmi_proto_host *host, mmi_drop_why why, uint64_t peer, uint64_t count);
/* m may be NULL: counted only, as one.  peer: whose it was or was to be, who may be gone: the role
 * had taken it from his queue, or never had one; 0: nobody's. */
void mmi_drop(mmi_proto_host *host, mmi_drop_why why, uint64_t peer, mmi_msg *m);
/* The same of a peer that is there.  p NULL: nobody's. */
void mmi_drop_of(mmi_proto_host *host, mmi_drop_why why, mmi_pipe *p, mmi_msg *m);
void mmi_drop_count_of(mmi_proto_host *host, mmi_drop_why why, mmi_pipe *p, uint64_t count);
void mmi_drop_expired(mmi_proto_host *host, mmi_pipe *p, mmi_msg *m);   /* host->expired of most roles */
/* Why a peer, or none of them, can have it: of what mmi_pipe_check says. */
static inline mmi_drop_why
mmi_drop_unsendable(int rc)
{
    return rc == MM_EMSGSIZE ? MMI_DROP_PEER_TAKES : MMI_DROP_UNENCODABLE;
}
void mmi_drop_inbox(mmi_proto_host *host,
                    mmi_pipe *p); /* for roles that receive nothing: all of it, malformed */
void mmi_drop_ring(mmi_proto_host *host,
                   mmi_ring *r); /* at the role's end: all of it, closed; and fini */
bool mmi_drop_overflows(
    const mmi_proto_host *host); /* the socket's policy drops rather than says MM_EAGAIN */

#endif
