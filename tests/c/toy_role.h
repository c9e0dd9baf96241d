/*
 * toy_role.h: a role of its own, LATEST: what the smallest one consists of.  Each message goes to the
 * peer that came last; what comes is received from all, in turn.
 * Not here: tests; roles that people use (csrc/role).
 * Law: its peers are others of its kind, and PULL, which knows nothing of it.
 */
#ifndef TOY_ROLE_H
#define TOY_ROLE_H

#include "queue/fq.h"
#include "role/role.h"

enum { TOY_LATEST = MM_ROLE_COUNT };

typedef struct latest_sock {
    mmi_proto_host *host;
    mmi_list pipes;            /* the one that came last is the first */
    mmi_fq fq;
} latest_sock;

typedef struct latest_pipe {
    mmi_list node;             /* latest_sock.pipes, while it may be sent to */
    mmi_pipe *pipe;
    mmi_fq_node fq;
} latest_pipe;

static int
latest_init(void *ps, mmi_proto_host *host)
{
    latest_sock *s = ps;
    s->host = host;
    mmi_list_init(&s->pipes);
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
latest_fini(void *ps)
{
    latest_sock *s = ps;
    mmi_fq_fini(&s->fq, s->host);
}

static int
latest_add(void *ps, mmi_pipe *p)
{
    latest_sock *s = ps;
    latest_pipe *lp = p->state;
    lp->pipe = p;
    mmi_list_push_front(&s->pipes, &lp->node);
    mmi_fq_add(&s->fq, &lp->fq, p);
    return MM_OK;
}

static void
latest_stop(void *ps, mmi_pipe *p)
{
    latest_pipe *lp = p->state;
    (void)ps;
    mmi_list_rm(&lp->node);
}

static void
latest_rm(void *ps, mmi_pipe *p)
{
    latest_sock *s = ps;
    latest_pipe *lp = p->state;
    if (!p->stopped) {
        latest_stop(s, p);
    }
    mmi_fq_rm(&s->fq, &lp->fq, mmi_fq_keep_all);
}

static void
latest_in(void *ps, mmi_pipe *p)
{
    latest_sock *s = ps;
    latest_pipe *lp = p->state;
    mmi_fq_in(&s->fq, &lp->fq);
}

static void
latest_out(void *ps, mmi_pipe *p)
{
    (void)ps;
    (void)p;
}

/* Whom all is sent to now; NULL: nobody is there. */
static mmi_pipe *
latest_of(const latest_sock *s)
{
    return mmi_list_empty(&s->pipes) ? NULL
                                     : MMI_CONTAINER_OF(s->pipes.next, latest_pipe, node)->pipe;
}

static int
latest_send(void *ps, mmi_msg *m)
{
    mmi_pipe *to = latest_of(ps);
    return to != NULL ? mmi_pipe_send(to, m) : MM_EAGAIN;
}

static int
latest_recv(void *ps, mmi_msg **m)
{
    latest_sock *s = ps;
    return mmi_fq_recv(&s->fq, m);
}

static uint32_t
latest_ready(const void *ps)
{
    const latest_sock *s = ps;
    const mmi_pipe *to = latest_of(s);
    return (to != NULL && mmi_pipe_has_room(to) ? MM_WRITABLE : 0) |
           (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static uint32_t
latest_unclaimed(const void *ps, uint64_t *bytes)
{
    const latest_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

static const mmi_proto_ops toy_latest_ops = {
    .is = { .number = TOY_LATEST,
            .name = "LATEST",
            .peers = MMI_ROLE_BIT(TOY_LATEST) | MMI_ROLE_BIT(MM_PULL) },
    .sock_size = sizeof(latest_sock),
    .pipe_size = sizeof(latest_pipe),
    .init = latest_init,
    .fini = latest_fini,
    .add = latest_add,
    .rm = latest_rm,
    .stop = latest_stop,
    .in = latest_in,
    .out = latest_out,
    .send = latest_send,
    .recv = latest_recv,
    .ready = latest_ready,
    .unclaimed = latest_unclaimed,
};

#endif
