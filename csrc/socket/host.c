/*
 * socket/host.c: what a role asks of its socket: a random number, an event, and to be asked later
 * to put into its queues what it sent.
 *
 * Not here: the events themselves (socket/events.c).
 */
#include "socket/socket.h"

static uint32_t
host_random(mmi_proto_host *host)
{
    return mmi_engine_random(MMI_CONTAINER_OF(host, mmi_socket, host)->engine);
}

static void
host_lags(mmi_proto_host *host)
{
    mmi_socket *s = MMI_CONTAINER_OF(host, mmi_socket, host);
    if (!mmi_list_linked(&s->lagging)) {
        mmi_list_push_back(&s->engine->lagging, &s->lagging);
    }
}

void
mmi_socket_host(mmi_socket *s)
{
    s->host = (mmi_proto_host){ .stats = &s->stats,
                                .opts = &s->opts,
                                .random = host_random,
                                .event = mmi_proto_event,
                                .lags = host_lags };
}

void
mmi_engine_catch_up(mmi_engine *e)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&e->lagging)) != NULL) {
        mmi_socket *s = MMI_CONTAINER_OF(node, mmi_socket, lagging);
        s->ops->catch_up(s->state);
    }
}
