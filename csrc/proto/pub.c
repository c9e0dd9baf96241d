/*
 * pub.c: PUB and XPUB: each message to every peer that subscribed to a prefix of its first frame.
 * XPUB also hands its user the subscriptions, as 01/00 and topic, and whatever else peers send.
 * Not here: fan-out (dist.c); the two wire forms of a subscription (the engine knows them).
 * Law: a peer's subscriptions and subscription_bytes count what the tree holds of it, with
 * duplicates.
 */
#include <string.h>

#include "base/limits.h"
#include "proto/dist.h"
#include "proto/fq.h"

typedef struct pub_sock {
    mmi_proto_host *host;
    mmi_dist dist;
    mmi_fq fq;                 /* XPUB: messages that are no subscriptions   */
    mmi_ring notices;          /* XPUB: subscriptions for the user to read   */
    bool tells;                /* XPUB                                       */
} pub_sock;

typedef struct pub_pipe {
    mmi_dist_node dist;
    mmi_fq_node fq;
} pub_pipe;

/* What pub_gone needs to know. */
typedef struct pub_leaving {
    pub_sock *sock;
    mmi_pipe *pipe;
} pub_leaving;

static int
pub_init(void *ps, mmi_proto_host *host)
{
    pub_sock *s = ps;
    s->host = host;
    mmi_dist_init(&s->dist, host);
    mmi_fq_init(&s->fq, host->opts);
    mmi_ring_init(&s->notices, MMI_NOTICES_MAX, MMI_SUBSCRIPTION_BYTES_MAX);
    return MM_OK;
}

static int
xpub_init(void *ps, mmi_proto_host *host)
{
    pub_sock *s = ps;
    s->tells = true;
    return pub_init(ps, host);
}

static void
pub_fini(void *ps)
{
    pub_sock *s = ps;
    mmi_dist_fini(&s->dist);
    mmi_fq_fini(&s->fq, s->host);
    mmi_ring_fini(&s->notices);
}

static bool
pub_verbose(const pub_sock *s)
{
    return (s->host->opts->flags & MM_OPT_XPUB_VERBOSE) != 0;
}

static void
pub_notice(pub_sock *s, const mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    const uint64_t frame_size = (uint64_t)size + 1;
    mmi_msg *m = mmi_msg_new(&frame_size, 1);
    if (m != NULL) {
        mmi_msg_data(m, 0)[0] = add ? 1 : 0;
        if (size > 0) {
            memcpy(mmi_msg_data(m, 0) + 1, topic, size);
        }
        m->pipe_id = p->id;
    }
    if (m == NULL || mmi_ring_push(&s->notices, m) != MM_OK) {
        mmi_drop(s->host, MMI_DROP_OVERFLOW, p->id, m);
    }
}

static void
pub_gone(void *arg, const uint8_t *topic, size_t size)
{
    pub_leaving *leaving = arg;
    pub_notice(leaving->sock, leaving->pipe, false, topic, size);
}

/* Verbose: one cancellation for each subscription. */
static void
pub_gone_each(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pub_gone(arg, topic, size);
    }
}

static int
pub_add(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    mmi_dist_add(&s->dist, &pp->dist, p);
    mmi_fq_add(&s->fq, &pp->fq, p);
    return MM_OK;
}

static void
pub_rm(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    pub_leaving leaving = {.sock = s, .pipe = p};
    bool every = s->tells && pub_verbose(s);
    if (every) {
        mmi_radix_each(&s->dist.topics, &pp->dist, pub_gone_each, &leaving);
    }
    mmi_radix_rm_all(&s->dist.topics, &pp->dist, s->tells && !every ? pub_gone : NULL, &leaving);
    p->subscriptions = p->subscription_bytes = 0;
    mmi_dist_rm(&s->dist, &pp->dist);
    mmi_fq_rm(&s->fq, &pp->fq, mmi_fq_keep_all);
}

static void
pub_in(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    mmi_drop_inbox(s->host, p);
}

static void
xpub_in(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    mmi_fq_in(&s->fq, &pp->fq);
}

static void
pub_out(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    mmi_dist_out(&s->dist, &pp->dist);
}

static int
pub_send(void *ps, mmi_msg *m)
{
    pub_sock *s = ps;
    return mmi_dist_send(&s->dist, m);
}

static int
xpub_recv(void *ps, mmi_msg **m)
{
    pub_sock *s = ps;
    *m = mmi_ring_pop(&s->notices);
    return *m != NULL ? MM_OK : mmi_fq_recv(&s->fq, m);
}

static uint32_t
pub_ready(const void *ps)
{
    const pub_sock *s = ps;
    return mmi_dist_ready(&s->dist) ? MM_WRITABLE : 0;
}

static uint32_t
xpub_ready(const void *ps)
{
    const pub_sock *s = ps;
    return pub_ready(ps) |
           (s->notices.count > 0 || mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static int
pub_subscribe(pub_sock *s, mmi_pipe *p, const uint8_t *topic, size_t size)
{
    pub_pipe *pp = p->state;
    if (p->subscriptions >= s->host->opts->subscriptions_max ||
        p->subscription_bytes + size > MMI_SUBSCRIPTION_BYTES_MAX) {
        return MM_EPROTO;
    }
    bool first;
    mmi_dist_catch_up(&s->dist);
    int rc = mmi_radix_add(&s->dist.topics, topic, size, &pp->dist, &first);
    if (rc < 0) {
        return rc;
    }
    p->subscriptions++;
    p->subscription_bytes += size;
    if (s->tells && (first || pub_verbose(s))) {
        pub_notice(s, p, true, topic, size);
    }
    return MM_OK;
}

static void
pub_cancel(pub_sock *s, mmi_pipe *p, const uint8_t *topic, size_t size)
{
    pub_pipe *pp = p->state;
    bool last;
    mmi_dist_catch_up(&s->dist);
    if (mmi_radix_rm(&s->dist.topics, topic, size, &pp->dist, &last) < 0) {
        return;   /* of what was never subscribed: harmless */
    }
    p->subscriptions--;
    p->subscription_bytes -= size;
    if (s->tells && (last || pub_verbose(s))) {
        pub_notice(s, p, false, topic, size);
    }
    mmi_dist_stir(&s->dist);
}

static int
pub_subscription(void *ps, mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    pub_sock *s = ps;
    if (size > s->host->opts->topic_size_max) {
        return MM_EMSGSIZE;
    }
    if (add) {
        return pub_subscribe(s, p, topic, size);
    }
    pub_cancel(s, p, topic, size);
    return MM_OK;
}

static void
pub_catch_up(void *ps)
{
    pub_sock *s = ps;
    mmi_dist_catch_up(&s->dist);
}

static uint32_t
pub_reach(void *ps, const uint8_t *topic, size_t size)
{
    pub_sock *s = ps;
    return mmi_dist_reach(&s->dist, topic, size);
}

static uint32_t
xpub_held(const void *ps, uint64_t *bytes)
{
    const pub_sock *s = ps;
    return mmi_fq_held(&s->fq, bytes);
}

const mmi_proto_ops mmi_pub_ops = {
    .role = MM_PUB,
    .sock_size = sizeof(pub_sock),
    .pipe_size = sizeof(pub_pipe),
    .init = pub_init,
    .fini = pub_fini,
    .add = pub_add,
    .rm = pub_rm,
    .in = pub_in,
    .out = pub_out,
    .send = pub_send,
    .ready = pub_ready,
    .subscription = pub_subscription,
    .reach = pub_reach,
    .catch_up = pub_catch_up,
    .keyed_send = true,
    .packs = true,
};

const mmi_proto_ops mmi_xpub_ops = {
    .role = MM_XPUB,
    .sock_size = sizeof(pub_sock),
    .pipe_size = sizeof(pub_pipe),
    .init = xpub_init,
    .fini = pub_fini,
    .add = pub_add,
    .rm = pub_rm,
    .in = xpub_in,
    .out = pub_out,
    .send = pub_send,
    .recv = xpub_recv,
    .ready = xpub_ready,
    .subscription = pub_subscription,
    .reach = pub_reach,
    .catch_up = pub_catch_up,
    .held = xpub_held,
    .keyed_send = true,
    .packs = true,
};
