/*
 * dealer.c: DEALER: sends to its peers in turn, receives from all of them fairly.
 * Not here: envelopes; frames go and come as they are.
 * Law: sending is queue/backlog.c's, receiving is fq.c's.
 */
#include "queue/backlog.h"
#include "queue/fq.h"
#include "role/role.h"

typedef struct dealer_sock {
    mmi_proto_host *host;
    mmi_back back;
    mmi_fq fq;
} dealer_sock;

typedef struct dealer_pipe {
    mmi_lb_node lb;
    mmi_fq_node fq;
} dealer_pipe;

static int
dealer_init(void *ps, mmi_proto_host *host)
{
    dealer_sock *s = ps;
    s->host = host;
    mmi_back_init(&s->back, host);
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
dealer_fini(void *ps)
{
    dealer_sock *s = ps;
    mmi_back_fini(&s->back);
    mmi_fq_fini(&s->fq, s->host);
}

static int
dealer_add(void *ps, mmi_pipe *p)
{
    dealer_sock *s = ps;
    dealer_pipe *rp = p->state;
    mmi_fq_add(&s->fq, &rp->fq, p);
    mmi_back_add(&s->back, &rp->lb, p);
    return MM_OK;
}

static void
dealer_stop(void *ps, mmi_pipe *p)
{
    dealer_sock *s = ps;
    dealer_pipe *rp = p->state;
    mmi_back_stop(&s->back, &rp->lb);
}

static void
dealer_rm(void *ps, mmi_pipe *p)
{
    dealer_sock *s = ps;
    dealer_pipe *rp = p->state;
    mmi_fq_rm(&s->fq, &rp->fq, mmi_fq_keep_all);
    mmi_back_rm(&s->back, &rp->lb);
}

static void
dealer_in(void *ps, mmi_pipe *p)
{
    dealer_sock *s = ps;
    dealer_pipe *rp = p->state;
    mmi_fq_in(&s->fq, &rp->fq);
}

static void
dealer_out(void *ps, mmi_pipe *p)
{
    dealer_sock *s = ps;
    dealer_pipe *rp = p->state;
    mmi_back_out(&s->back, &rp->lb);
}

static int
dealer_send(void *ps, mmi_msg *m)
{
    dealer_sock *s = ps;
    return mmi_back_send(&s->back, m);
}

static int
dealer_take(void *ps, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    dealer_sock *s = ps;
    return mmi_fq_take(&s->fq, max_messages, max_bytes, out);
}

static int
dealer_recv(void *ps, mmi_msg **m)
{
    dealer_sock *s = ps;
    return mmi_fq_recv(&s->fq, m);
}

static mmi_pipe *
dealer_sole(const void *ps)
{
    const dealer_sock *s = ps;
    return mmi_back_sole(&s->back);
}

static uint64_t
dealer_tick(void *ps, uint64_t now_ns)
{
    dealer_sock *s = ps;
    return mmi_back_due(&s->back, now_ns);
}

static uint32_t
dealer_ready(const void *ps)
{
    const dealer_sock *s = ps;
    return (mmi_back_ready(&s->back) ? MM_WRITABLE : 0) | (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static uint32_t
dealer_unclaimed(const void *ps, uint64_t *bytes)
{
    const dealer_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_dealer_ops = {
    .is = { .number = MM_DEALER,
            .name = "DEALER",
            .peers = MMI_ROLE_BIT(MM_REP) | MMI_ROLE_BIT(MM_DEALER) | MMI_ROLE_BIT(MM_ROUTER),
            .says_identity = true },
    .named = true,
    .shares = true,
    .converses = true,
    .sock_size = sizeof(dealer_sock),
    .pipe_size = sizeof(dealer_pipe),
    .init = dealer_init,
    .fini = dealer_fini,
    .add = dealer_add,
    .rm = dealer_rm,
    .stop = dealer_stop,
    .in = dealer_in,
    .out = dealer_out,
    .send = dealer_send,
    .sole = dealer_sole,
    .recv = dealer_recv,
    .take = dealer_take,
    .ready = dealer_ready,
    .tick = dealer_tick,
    .unclaimed = dealer_unclaimed,
    .segments = true,
};
