/*
 * push.c: PUSH: each message to one peer: in turn, to who has the fewest, or by its key.
 * Not here: receiving; what a peer sends us is discarded and counted.
 * Law: all sending is queue/backlog.c's.
 */
#include "queue/enough.h"
#include "role/role.h"

typedef struct push_sock {
    mmi_proto_host *host;
    mmi_back back;
    mmi_route route;
} push_sock;

typedef struct push_pipe {
    mmi_lane lane;
    mmi_enough_node early;
} push_pipe;

static int
push_init(void *ps, mmi_proto_host *host)
{
    push_sock *s = ps;
    s->host = host;
    mmi_back_init(&s->back, host);
    mmi_route_init(&s->route);
    s->back.lb.least = (host->opts->flags & MM_OPT_LEAST_LOADED) != 0;
    s->back.route = (host->opts->flags & MM_OPT_HASH) != 0 ? &s->route : NULL;
    host->keyed = s->back.route != NULL || s->back.kept.used > 1;
    return MM_OK;
}

static void
push_fini(void *ps)
{
    push_sock *s = ps;
    mmi_back_fini(&s->back);
}

static int
push_add(void *ps, mmi_pipe *p)
{
    push_sock *s = ps;
    push_pipe *pp = p->state;
    mmi_enough_add(&s->back, &pp->early, &pp->lane.lb, p);
    return MM_OK;
}

static void
push_stop(void *ps, mmi_pipe *p)
{
    push_sock *s = ps;
    push_pipe *pp = p->state;
    if (!mmi_enough_rm(&s->back, &pp->early)) {
        mmi_back_stop(&s->back, &pp->lane.lb);
    }
}

static void
push_rm(void *ps, mmi_pipe *p)
{
    push_sock *s = ps;
    push_pipe *pp = p->state;
    if (!mmi_enough_rm(&s->back, &pp->early)) {
        mmi_back_rm(&s->back, &pp->lane.lb);
    }
}

static void
push_in(void *ps, mmi_pipe *p)
{
    push_sock *s = ps;
    mmi_drop_inbox(s->host, p);
}

static void
push_out(void *ps, mmi_pipe *p)
{
    push_sock *s = ps;
    push_pipe *pp = p->state;
    if (pp->lane.lb.pipe != NULL) {
        mmi_back_out(&s->back, &pp->lane.lb);
    }
}

static void
push_again(void *ps, mmi_msg *m)
{
    push_sock *s = ps;
    mmi_back_again(&s->back, m);
}

static int
push_send(void *ps, mmi_msg *m)
{
    push_sock *s = ps;
    return mmi_back_send(&s->back, m);
}

static mmi_pipe *
push_sole(const void *ps)
{
    const push_sock *s = ps;
    return mmi_back_sole(&s->back);
}

static uint64_t
push_tick(void *ps, uint64_t now_ns)
{
    push_sock *s = ps;
    return mmi_back_due(&s->back, now_ns);
}

static uint32_t
push_ready(const void *ps)
{
    const push_sock *s = ps;
    return mmi_back_ready(&s->back) ? MM_WRITABLE : 0;
}

const mmi_proto_ops mmi_push_ops = {
    .is = { .number = MM_PUSH, .name = "PUSH", .peers = MMI_ROLE_BIT(MM_PULL) },
    .shares = true,
    .finishes = true,
    .sock_size = sizeof(push_sock),
    .pipe_size = sizeof(push_pipe),
    .init = push_init,
    .fini = push_fini,
    .add = push_add,
    .rm = push_rm,
    .stop = push_stop,
    .in = push_in,
    .out = push_out,
    .again = push_again,
    .send = push_send,
    .sole = push_sole,
    .ready = push_ready,
    .tick = push_tick,
    .segments = true,
};
