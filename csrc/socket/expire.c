/*
 * socket/expire.c: when queues are looked through for messages that are of no use any more: every
 * so often while a socket may have some, and what is about to be written each time.
 *
 * Not here: the looking (queue/expiry.c), the sweep of all queues of a socket (ends/expire.c).
 * Law: nothing is begun on a stream once its time is over; while a socket may have messages that
 * expire, its timer is set.
 */
#include "queue/expiry.h"
#include "socket/socket.h"

enum {
    EXPIRE_MS = 100,             /* between two sweeps */
    EXPIRE_FRONT = 256           /* entries that are looked at before a write */
};

static uint64_t
expire_wall_ns(const mmi_socket *s)
{
    return s->engine->plat.wall_ns(s->engine->plat.self);
}

void
mmi_socket_expiring(mmi_socket *s)
{
    if (!s->expiring) {
        uint64_t next = mmi_deadline(s->engine->now_ns, EXPIRE_MS);
        s->expiring = mmi_timer_set(&s->engine->timers, &s->expire_timer, next) == MM_OK;
    }
}

void
mmi_socket_expired(mmi_socket *s, mmi_pipe *p, uint32_t count)
{
    if (count > 0) {
        if (p != NULL && s->ops->out != NULL) {
            s->ops->out(s->state, p);
        }
        mmi_socket_note(s, MMI_ROOM | MM_DRAINED);
    }
}

void
mmi_socket_expire_front(mmi_socket *s, mmi_pipe *p)
{
    if (s->expiring) {
        mmi_expiry x = { .host = &s->host, .wall_ns = expire_wall_ns(s), .budget = EXPIRE_FRONT };
        uint32_t at = 0;
        mmi_expiry_sweep(&x, &p->outbox, p->pinned, p, &at);
        mmi_socket_expired(s, p, x.expired);
    }
}
