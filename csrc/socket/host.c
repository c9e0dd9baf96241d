/*
 * socket/host.c: what a role asks of its socket: a random number, an event, and to be asked later
 * to put into its queues what it sent.
 *
 * Not here: the events themselves (socket/events.c).
 */
#include "queue/drop.h"
#include "socket/socket.h"

static uint32_t
host_random(mmi_proto_host *host)
{
    return mmi_engine_random(MMI_CONTAINER_OF(host, mmi_socket, host)->engine);
}

static uint64_t
host_now_ns(const mmi_proto_host *host)
{
    return MMI_CONTAINER_OF(host, const mmi_socket, host)->engine->now_ns;
}

static uint64_t
host_wall_ns(const mmi_proto_host *host)
{
    const mmi_plat *plat = &MMI_CONTAINER_OF(host, const mmi_socket, host)->engine->plat;
    return plat->wall_ns(plat->self);
}

static void
host_due(mmi_proto_host *host, uint64_t at_ns)
{
    mmi_socket *s = MMI_CONTAINER_OF(host, mmi_socket, host);
    if (at_ns < s->tick_timer.deadline_ns) {
        int rc = mmi_timer_set(&s->engine->timers, &s->tick_timer, at_ns);
        MMI_ASSERT(rc == MM_OK); /* it has had its place in the heap since the socket was opened */
    }
}

static void
host_defers(mmi_proto_host *host)
{
    mmi_socket *s = MMI_CONTAINER_OF(host, mmi_socket, host);
    if (!mmi_list_linked(&s->deferring)) {
        mmi_list_push_back(&s->engine->deferring, &s->deferring);
    }
}

void
mmi_socket_host(mmi_socket *s)
{
    s->host = (mmi_proto_host){ .stats = &s->stats,
                                .opts = &s->opts,
                                .random = host_random,
                                .now_ns = host_now_ns,
                                .wall_ns = host_wall_ns,
                                .due = host_due,
                                .event = mmi_proto_event,
                                .deferred = host_defers,
                                .expired = mmi_drop_expired };
    mmi_list_init(&s->host.given);
    mmi_list_init(&s->host.untold);
}

void
mmi_engine_materialize(mmi_engine *e)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&e->deferring)) != NULL) {
        mmi_socket *s = MMI_CONTAINER_OF(node, mmi_socket, deferring);
        s->ops->materialize(s->state);
    }
}
