/*
 * pull.c: PULL: messages from all peers, fairly.
 * Not here: sending.
 * Law: all receiving is fq.c's.
 */
#include "queue/fq.h"
#include "role/role.h"

typedef struct pull_sock {
    mmi_proto_host *host;
    mmi_fq fq;
} pull_sock;

typedef struct pull_pipe {
    mmi_fq_node fq;
} pull_pipe;

static int
pull_init(void *ps, mmi_proto_host *host)
{
    pull_sock *s = ps;
    s->host = host;
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
pull_fini(void *ps)
{
    pull_sock *s = ps;
    mmi_fq_fini(&s->fq, s->host);
}

static int
pull_add(void *ps, mmi_pipe *p)
{
    pull_sock *s = ps;
    pull_pipe *pp = p->state;
    mmi_fq_add(&s->fq, &pp->fq, p);
    return MM_OK;
}

static void
pull_rm(void *ps, mmi_pipe *p)
{
    pull_sock *s = ps;
    pull_pipe *pp = p->state;
    mmi_fq_rm(&s->fq, &pp->fq, mmi_fq_keep_all);
}

static void
pull_in(void *ps, mmi_pipe *p)
{
    pull_sock *s = ps;
    pull_pipe *pp = p->state;
    mmi_fq_in(&s->fq, &pp->fq);
}

static void
pull_out(void *ps, mmi_pipe *p)
{
    (void)ps;
    (void)p;
}

static int
pull_take(void *ps, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    pull_sock *s = ps;
    return mmi_fq_take(&s->fq, max_messages, max_bytes, out);
}

static int
pull_recv(void *ps, mmi_msg **m)
{
    pull_sock *s = ps;
    return mmi_fq_recv(&s->fq, m);
}

static uint32_t
pull_ready(const void *ps)
{
    const pull_sock *s = ps;
    return mmi_fq_ready(&s->fq) ? MM_READABLE : 0;
}

static uint32_t
pull_unclaimed(const void *ps, uint64_t *bytes)
{
    const pull_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_pull_ops = {
    .is = { .number = MM_PULL, .name = "PULL", .peers = MMI_ROLE_BIT(MM_PUSH) },
    .named = true,
    .acks = true,
    .halts = true,
    .sock_size = sizeof(pull_sock),
    .pipe_size = sizeof(pull_pipe),
    .init = pull_init,
    .fini = pull_fini,
    .add = pull_add,
    .rm = pull_rm,
    .in = pull_in,
    .out = pull_out,
    .recv = pull_recv,
    .take = pull_take,
    .ready = pull_ready,
    .unclaimed = pull_unclaimed,
};
