/*
 * rep.c: REP: requests from all peers, fairly; each reply goes to the peer that asked.  RESPONDENT
 * uses the same functions (respondent.c).
 * The envelope (all frames up to and including the first empty one) stays in front of the request,
 * and the user's reply begins with it.
 * Not here: who has been answered; a user may answer in any order, or not at all.
 * Law: sending never waits: a reply that cannot be queued is dropped, counted and reported.
 */
#include "role/rep.h"
#include "role/role.h"

int
mmi_rep_init(void *ps, mmi_proto_host *host)
{
    mmi_rep *s = ps;
    s->host = host;
    s->envelope = mmi_rep_envelope;
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

void
mmi_rep_fini(void *ps)
{
    mmi_rep *s = ps;
    mmi_fq_fini(&s->fq, s->host);
    mmi_map_fini(&s->pipes);
}

int
mmi_rep_add(void *ps, mmi_pipe *p)
{
    mmi_rep *s = ps;
    mmi_rep_pipe *rp = p->state;
    mmi_fq_add(&s->fq, &rp->fq, p);
    return mmi_map_put(&s->pipes, p->id, p);
}

void
mmi_rep_rm(void *ps, mmi_pipe *p)
{
    mmi_rep *s = ps;
    mmi_rep_pipe *rp = p->state;
    (void)mmi_map_rm(&s->pipes, p->id);
    s->last = s->last == p ? NULL : s->last;
    mmi_fq_rm(&s->fq, &rp->fq, NULL);   /* nobody is there any more to be answered */
}

void
mmi_rep_in(void *ps, mmi_pipe *p)
{
    mmi_rep *s = ps;
    mmi_rep_pipe *rp = p->state;
    mmi_fq_in(&s->fq, &rp->fq);
}

void
mmi_rep_out(void *ps, mmi_pipe *p)
{
    (void)ps;
    (void)p;
}

uint32_t
mmi_rep_envelope(const mmi_msg *m)
{
    for (uint32_t i = 0; i + 1 < m->frame_count; i++) {
        if (m->frames[i].size == 0) {
            return i + 1;
        }
    }
    return 0;
}

int
mmi_rep_recv(void *ps, mmi_msg **m)
{
    mmi_rep *s = ps;
    while (mmi_fq_recv(&s->fq, m) == MM_OK) {
        (*m)->envelope_count = s->envelope(*m);
        if ((*m)->envelope_count > 0) {
            return MM_OK;
        }
        mmi_drop_of(s->host, MMI_DROP_MALFORMED, mmi_map_find(&s->pipes, (*m)->pipe_id), *m);
        *m = NULL;
    }
    return MM_EAGAIN;
}

/* A reply nobody takes: accepted and dropped, so that sent = written + dropped + queued holds. */
static int
rep_lose(mmi_rep *s, mmi_pipe *p, const mmi_msg *m)
{
    s->host->stats->sent_messages++;
    s->host->stats->sent_bytes += m->size;
    if (p != NULL) {
        mmi_drop_of(s->host, MMI_DROP_OVERFLOW, p, NULL);
    } else {
        mmi_drop(s->host, MMI_DROP_PEER_GONE, m->pipe_id, NULL);
    }
    return MM_EHOSTUNREACH;
}

int
mmi_rep_send(void *ps, mmi_msg *m)
{
    mmi_rep *s = ps;
    if (m->pipe_id == 0 || m->frame_count == 0) {
        return MM_EINVAL;
    }
    mmi_pipe *p = s->last;
    if (p == NULL || p->id != m->pipe_id) {
        p = mmi_map_find(&s->pipes, m->pipe_id);
    }
    if (p == NULL) {
        return rep_lose(s, NULL, m);
    }
    s->last = p;
    int rc = mmi_pipe_send(p, m);
    if (rc == MM_EAGAIN) {
        return rep_lose(s, p, m);
    }
    return rc;
}

int
mmi_rep_refuse(void *ps, mmi_msg *m)
{
    mmi_rep *s = ps;
    mmi_pipe *p = mmi_map_find(&s->pipes, m->pipe_id);
    if (p == NULL) {
        return MM_EHOSTUNREACH;
    }
    return p->hears_refusals ? mmi_pipe_send(p, m) : MM_ENOTSUP;
}

uint32_t
mmi_rep_ready(const void *ps)
{
    const mmi_rep *s = ps;
    return MM_WRITABLE | (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

const mmi_proto_ops mmi_rep_ops = {
    .is = { .number = MM_REP,
            .name = "REP",
            .peers = MMI_ROLE_BIT(MM_REQ) | MMI_ROLE_BIT(MM_DEALER) },
    .overflow = MM_OVERFLOW_ERROR,
    .halts = true,
    .converses = true,
    .sock_size = sizeof(mmi_rep),
    .pipe_size = sizeof(mmi_rep_pipe),
    .init = mmi_rep_init,
    .fini = mmi_rep_fini,
    .add = mmi_rep_add,
    .rm = mmi_rep_rm,
    .in = mmi_rep_in,
    .out = mmi_rep_out,
    .send = mmi_rep_send,
    .recv = mmi_rep_recv,
    .refuse = mmi_rep_refuse,
    .ready = mmi_rep_ready,
};
