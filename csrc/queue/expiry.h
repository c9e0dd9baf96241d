/*
 * queue/expiry.h: messages that are of no use any more (base/meta.h, expires) are taken out of the
 * queues they wait in.
 *
 * Not here: when that is looked at (socket/expire.c), what becomes of them (queue/drop.h,
 * queue/backlog.h).
 * Law: a sweep costs no more than its budget; what it did not get to, the next one begins with.
 */
#ifndef MMI_EXPIRY_H
#define MMI_EXPIRY_H

#include "queue/host.h"

typedef struct mmi_expiry {
    mmi_proto_host *host;
    uint64_t wall_ns;            /* now */
    uint32_t budget;             /* entries that may still be looked at */
    uint32_t expired;            /* messages that were taken out */
    bool more;                   /* there are some that will expire, or that were not looked at */
} mmi_expiry;

static inline bool
mmi_expires(const mmi_msg *m)
{
    return m->meta != NULL && m->meta->expires_ns > 0;
}
/* Of a queue from its first-th entry on; p: whose it is, or NULL.  *at: where to begin, and where the
 * next sweep is to. */
void mmi_expiry_sweep(mmi_expiry *x, mmi_ring *r, uint32_t first, mmi_pipe *p, uint32_t *at);

#endif
