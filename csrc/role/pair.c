/*
 * pair.c: PAIR: one peer, both ways.
 * Not here: any choice of peers; a second one is refused.
 * Law: at most one pipe at a time; what the last one had not begun to send is for the next.
 */
#include "queue/backlog.h"
#include "queue/fq.h"
#include "role/role.h"

typedef struct pair_sock {
    mmi_proto_host *host;
    mmi_back back;
    mmi_fq fq;
} pair_sock;

typedef struct pair_pipe {
    mmi_lb_node lb;
    mmi_fq_node fq;
} pair_pipe;

static int
pair_init(void *ps, mmi_proto_host *host)
{
    pair_sock *s = ps;
    s->host = host;
    mmi_back_init(&s->back, host);
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
pair_fini(void *ps)
{
    pair_sock *s = ps;
    mmi_back_fini(&s->back);
    mmi_fq_fini(&s->fq, s->host);
}

static int
pair_add(void *ps, mmi_pipe *p)
{
    pair_sock *s = ps;
    pair_pipe *rp = p->state;
    if (s->back.lb.pipe_count > 0) {
        return MM_ESTATE;
    }
    mmi_fq_add(&s->fq, &rp->fq, p);
    mmi_back_add(&s->back, &rp->lb, p);
    return MM_OK;
}

static void
pair_stop(void *ps, mmi_pipe *p)
{
    pair_sock *s = ps;
    pair_pipe *rp = p->state;
    mmi_back_stop(&s->back, &rp->lb);
}

static void
pair_rm(void *ps, mmi_pipe *p)
{
    pair_sock *s = ps;
    pair_pipe *rp = p->state;
    mmi_fq_rm(&s->fq, &rp->fq, mmi_fq_keep_all);
    mmi_back_rm(&s->back, &rp->lb);
}

static void
pair_in(void *ps, mmi_pipe *p)
{
    pair_sock *s = ps;
    pair_pipe *rp = p->state;
    mmi_fq_in(&s->fq, &rp->fq);
}

static void
pair_out(void *ps, mmi_pipe *p)
{
    pair_sock *s = ps;
    pair_pipe *rp = p->state;
    mmi_back_out(&s->back, &rp->lb);
}

static int
pair_send(void *ps, mmi_msg *m)
{
    pair_sock *s = ps;
    return mmi_back_send(&s->back, m);
}

static int
pair_take(void *ps, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    pair_sock *s = ps;
    return mmi_fq_take(&s->fq, max_messages, max_bytes, out);
}

static int
pair_recv(void *ps, mmi_msg **m)
{
    pair_sock *s = ps;
    return mmi_fq_recv(&s->fq, m);
}

static mmi_pipe *
pair_sole(const void *ps)
{
    const pair_sock *s = ps;
    return mmi_back_sole(&s->back);
}

static uint64_t
pair_tick(void *ps, uint64_t now_ns)
{
    pair_sock *s = ps;
    return mmi_back_due(&s->back, now_ns);
}

static uint32_t
pair_ready(const void *ps)
{
    const pair_sock *s = ps;
    return (mmi_back_ready(&s->back) ? MM_WRITABLE : 0) | (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static uint32_t
pair_unclaimed(const void *ps, uint64_t *bytes)
{
    const pair_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_pair_ops = {
    .is = { .number = MM_PAIR, .name = "PAIR", .peers = MMI_ROLE_BIT(MM_PAIR) },
    .shares = true,
    .converses = true,
    .sock_size = sizeof(pair_sock),
    .pipe_size = sizeof(pair_pipe),
    .init = pair_init,
    .fini = pair_fini,
    .add = pair_add,
    .rm = pair_rm,
    .stop = pair_stop,
    .in = pair_in,
    .out = pair_out,
    .send = pair_send,
    .sole = pair_sole,
    .recv = pair_recv,
    .take = pair_take,
    .ready = pair_ready,
    .tick = pair_tick,
    .unclaimed = pair_unclaimed,
    .segments = true,
};
