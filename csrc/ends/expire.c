/*
 * ends/expire.c: the sweep of all queues of a socket for messages that are of no use any more.
 *
 * Not here: when there is one (socket/expire.c), the looking (queue/expiry.c).
 */
#include "ends/ends.h"
#include "link/link.h"
#include "queue/backlog.h"
#include "queue/expiry.h"
#include "queue/retained.h"
#include "queue/unacked.h"

enum { EXPIRE_BUDGET = 16 * 1024 };   /* entries a sweep looks at, of a socket */

void
mmi_socket_expire(mmi_socket *s)
{
    mmi_expiry x = { .host = &s->host,
                     .wall_ns = s->engine->plat.wall_ns(s->engine->plat.self),
                     .budget = EXPIRE_BUDGET };
    mmi_engine_materialize(s->engine);
    if (s->host.back != NULL) {
        mmi_levels *kept = &s->host.back->kept;
        for (uint32_t i = 0; i < kept->used && x.budget > 0; i++) {
            mmi_expiry_sweep(&x, &kept->at[i], 0, NULL, &kept->swept[i]);
        }
        mmi_back *back = s->host.back;
        mmi_expiry_sweep(&x, &back->wordless, 0, NULL, &back->wordless_swept);
        x.more |= x.budget == 0;
        if (s->host.back->route != NULL) {
            mmi_route_sweep(s->host.back->route, &x);
        }
        mmi_socket_expired(s, NULL, x.expired);
    }
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        mmi_pipe *p = &link->pipe;
        if (!mmi_link_is_peer(link)) {
            continue;
        }
        uint32_t before = x.expired;
        mmi_expiry_sweep(&x, &p->outbox, p->pinned, p, &p->swept);
        mmi_socket_expired(s, p, x.expired - before);
        /* What is not acknowledged may come back. */
        x.more |= p->unacked != NULL && mmi_unacked_count(p->unacked) > 0;
    }
    if (s->host.retained != NULL) {
        x.budget = EXPIRE_BUDGET;
        mmi_retained_sweep(s->host.retained, &x);
    }
    mmi_finish_look(s);
    s->expiring = false;
    if (x.more) {
        mmi_socket_expiring(s);
    }
}
