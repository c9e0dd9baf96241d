/*
 * bus.c: BUS: each message to every direct peer; from all of them, in turn.
 * Not here: fan-out (dist.c), forwarding: what comes in goes to the user and nowhere else, so a
 * message never comes back to who sent it.
 * Law: a peer gets a message at most once; by default a full queue misses it, which is counted.
 */
#include "queue/dist.h"
#include "queue/fq.h"
#include "role/role.h"

typedef struct bus_sock {
    mmi_proto_host *host;
    mmi_dist dist;
    mmi_fq fq;
} bus_sock;

typedef struct bus_pipe {
    mmi_dist_node dist;
    mmi_fq_node fq;
} bus_pipe;

static int
bus_init(void *ps, mmi_proto_host *host)
{
    bus_sock *s = ps;
    s->host = host;
    mmi_dist_init(&s->dist, host);
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
bus_fini(void *ps)
{
    bus_sock *s = ps;
    mmi_dist_fini(&s->dist);
    mmi_fq_fini(&s->fq, s->host);
}

static int
bus_add(void *ps, mmi_pipe *p)
{
    bus_sock *s = ps;
    bus_pipe *bp = p->state;
    mmi_dist_add(&s->dist, &bp->dist, p);
    mmi_fq_add(&s->fq, &bp->fq, p);
    return MM_OK;
}

static void
bus_stop(void *ps, mmi_pipe *p)
{
    bus_sock *s = ps;
    bus_pipe *bp = p->state;
    mmi_dist_rm(&s->dist, &bp->dist);
}

static void
bus_rm(void *ps, mmi_pipe *p)
{
    bus_sock *s = ps;
    bus_pipe *bp = p->state;
    if (!p->stopped) {
        bus_stop(s, p);
    }
    mmi_fq_rm(&s->fq, &bp->fq, mmi_fq_keep_all);
}

static void
bus_in(void *ps, mmi_pipe *p)
{
    bus_sock *s = ps;
    bus_pipe *bp = p->state;
    mmi_fq_in(&s->fq, &bp->fq);
}

static void
bus_out(void *ps, mmi_pipe *p)
{
    bus_sock *s = ps;
    bus_pipe *bp = p->state;
    mmi_dist_out(&s->dist, &bp->dist);
}

static int
bus_send(void *ps, mmi_msg *m)
{
    bus_sock *s = ps;
    return mmi_dist_send_all(&s->dist, m);
}

static int
bus_recv(void *ps, mmi_msg **m)
{
    bus_sock *s = ps;
    return mmi_fq_recv(&s->fq, m);
}

static uint32_t
bus_ready(const void *ps)
{
    const bus_sock *s = ps;
    return (mmi_dist_ready_all(&s->dist) ? MM_WRITABLE : 0) |
           (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static uint32_t
bus_unclaimed(const void *ps, uint64_t *bytes)
{
    const bus_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_bus_ops = {
    .is = { .number = MM_BUS, .name = "BUS", .peers = MMI_ROLE_BIT(MM_BUS) },
    .overflow = MM_OVERFLOW_DROP_NEWEST,
    .halts = true,
    .sock_size = sizeof(bus_sock),
    .pipe_size = sizeof(bus_pipe),
    .init = bus_init,
    .fini = bus_fini,
    .add = bus_add,
    .rm = bus_rm,
    .stop = bus_stop,
    .in = bus_in,
    .out = bus_out,
    .send = bus_send,
    .recv = bus_recv,
    .ready = bus_ready,
    .unclaimed = bus_unclaimed,
};
