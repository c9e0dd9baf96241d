/*
 * rep.c: REP: requests from all peers, fairly; each reply goes to the peer that asked.
 * The envelope (all frames up to and including the first empty one) stays in front of the request,
 * and the user's reply begins with it.
 * Not here: who has been answered; a user may answer in any order, or not at all.
 * Law: sending never waits: a reply that cannot be queued is dropped, counted and reported.
 */
#include "base/map.h"
#include "proto/fq.h"

typedef struct rep_sock {
    mmi_proto_host *host;
    mmi_fq fq;
    mmi_map pipes;             /* pipe id -> mmi_pipe */
} rep_sock;

typedef struct rep_pipe {
    mmi_fq_node fq;
} rep_pipe;

static int
rep_init(void *ps, mmi_proto_host *host)
{
    rep_sock *s = ps;
    s->host = host;
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
rep_fini(void *ps)
{
    rep_sock *s = ps;
    mmi_fq_fini(&s->fq, s->host);
    mmi_map_fini(&s->pipes);
}

static int
rep_add(void *ps, mmi_pipe *p)
{
    rep_sock *s = ps;
    rep_pipe *rp = p->state;
    mmi_fq_add(&s->fq, &rp->fq, p);
    return mmi_map_put(&s->pipes, p->id, p);
}

static void
rep_rm(void *ps, mmi_pipe *p)
{
    rep_sock *s = ps;
    rep_pipe *rp = p->state;
    (void)mmi_map_rm(&s->pipes, p->id);
    mmi_fq_rm(&s->fq, &rp->fq, NULL);   /* nobody is there any more to be answered */
}

static void
rep_in(void *ps, mmi_pipe *p)
{
    rep_sock *s = ps;
    rep_pipe *rp = p->state;
    mmi_fq_in(&s->fq, &rp->fq);
}

static void
rep_out(void *ps, mmi_pipe *p)
{
    (void)ps;
    (void)p;
}

/* Frames up to and including the first empty one; 0: there is none, or nothing behind it. */
static uint32_t
rep_envelope(const mmi_msg *m)
{
    for (uint32_t i = 0; i + 1 < m->frame_count; i++) {
        if (m->frames[i].size == 0) {
            return i + 1;
        }
    }
    return 0;
}

static int
rep_recv(void *ps, mmi_msg **m)
{
    rep_sock *s = ps;
    while (mmi_fq_recv(&s->fq, m) == MM_OK) {
        (*m)->envelope_count = rep_envelope(*m);
        if ((*m)->envelope_count > 0) {
            return MM_OK;
        }
        mmi_drop(s->host, MMI_DROP_MALFORMED, (*m)->pipe_id, *m);
        *m = NULL;
    }
    return MM_EAGAIN;
}

/* A reply nobody takes: accepted and dropped, so that sent = written + dropped + queued holds. */
static int
rep_refuse(rep_sock *s, mmi_drop_why why, const mmi_msg *m)
{
    s->host->stats->sent_messages++;
    s->host->stats->sent_bytes += m->size;
    mmi_drop(s->host, why, m->pipe_id, NULL);
    return MM_EHOSTUNREACH;
}

static int
rep_send(void *ps, mmi_msg *m)
{
    rep_sock *s = ps;
    if (m->pipe_id == 0 || m->frame_count == 0) {
        return MM_EINVAL;
    }
    mmi_pipe *p = mmi_map_find(&s->pipes, m->pipe_id);
    if (p == NULL) {
        return rep_refuse(s, MMI_DROP_PEER_GONE, m);
    }
    int rc = mmi_pipe_send(p, m);
    if (rc == MM_EAGAIN) {
        p->dropped++;
        return rep_refuse(s, MMI_DROP_OVERFLOW, m);
    }
    return rc;
}

static uint32_t
rep_ready(const void *ps)
{
    const rep_sock *s = ps;
    return MM_WRITABLE | (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

const mmi_proto_ops mmi_rep_ops = {
    .role = MM_REP,
    .sock_size = sizeof(rep_sock),
    .pipe_size = sizeof(rep_pipe),
    .init = rep_init,
    .fini = rep_fini,
    .add = rep_add,
    .rm = rep_rm,
    .in = rep_in,
    .out = rep_out,
    .send = rep_send,
    .recv = rep_recv,
    .ready = rep_ready,
};
