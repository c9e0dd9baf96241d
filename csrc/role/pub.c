/*
 * pub.c: PUB and XPUB: each message to every peer that subscribed to a prefix of its first frame.
 * XPUB also hands its user the subscriptions, as 01/00 and topic, and whatever else peers send.
 * Not here: fan-out (dist.c); what waits to be told (notices.c); the two wire forms of a
 * subscription (the engine knows them).
 * Law: a peer subscribes to a topic once, however often it says so, and its first cancellation ends
 * that; subscriptions and subscription_bytes count what the tree holds of it.
 */
#include "base/limits.h"
#include "queue/dist.h"
#include "queue/fq.h"
#include "queue/notices.h"
#include "queue/replays.h"
#include "queue/retained.h"
#include "role/role.h"

typedef struct pub_sock {
    mmi_proto_host *host;
    mmi_dist dist;
    mmi_replays replays;       /* PUB whose messages are in a spool           */
    mmi_retained retained;     /* PUB that keeps the last of each topic: retains */
    mmi_fq fq;                 /* XPUB: messages that are no subscriptions   */
    mmi_notices notices;       /* XPUB: subscriptions for the user to read   */
    mmi_radix *heard;          /* what peers asked for: dist.topics, or asked */
    mmi_radix asked;           /* manual: its user decides what they get      */
    mmi_map peers;             /* manual: pub_pipe, by id                     */
    mmi_msg *welcome;          /* to each new subscriber first; NULL: nothing */
    bool tells;                /* XPUB                                       */
    bool manual;
    bool retains;
    bool told;                 /* a notice was the last to be received       */
} pub_sock;

typedef struct pub_pipe {
    mmi_dist_node dist;
    mmi_fq_node fq;
    mmi_notices_own own;       /* XPUB, of each peer by itself */
    mmi_replay_node replay;
    mmi_retained_node retained;
    bool welcomed;
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
    if (!s->tells) {
        mmi_replays_init(&s->replays, &s->dist);
        host->replays = &s->replays;
    }
    s->retains = !s->tells && (host->opts->flags & MM_OPT_RETAIN) != 0;
    if (s->retains) {
        mmi_retained_init(&s->retained, &s->dist);
        host->retained = &s->retained;
    }
    mmi_fq_init(&s->fq, host->opts);
    mmi_radix_init(&s->asked);
    s->manual = s->tells && (host->opts->flags & MM_OPT_XPUB_MANUAL) != 0;
    s->heard = s->manual ? &s->asked : &s->dist.topics;
    mmi_notices_init(&s->notices, s->heard,
                     s->manual || (host->opts->flags & MM_OPT_XPUB_VERBOSE) != 0);
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
    if (!s->tells) {
        mmi_replays_fini(&s->replays);
    }
    if (s->retains) {
        mmi_retained_fini(&s->retained);
    }
    mmi_notices_fini(&s->notices);
    mmi_radix_fini(&s->asked);
    mmi_map_fini(&s->peers);
    mmi_msg_unref(s->welcome);
    mmi_dist_fini(&s->dist);
    mmi_fq_fini(&s->fq, s->host);
}

static void
pub_gone(void *arg, mmi_radix_node *node, bool last)
{
    pub_leaving *leaving = arg;
    pub_pipe *pp = leaving->pipe->state;
    mmi_notices_removed(&leaving->sock->notices, node, &pp->own, last, leaving->pipe);
}

static int
pub_add(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    if (s->manual && mmi_map_put(&s->peers, p->id, pp) != MM_OK) {
        return MM_ENOMEM;
    }
    mmi_dist_add(&s->dist, &pp->dist, p);
    mmi_replays_add(&pp->replay, &pp->dist);
    mmi_retained_add(&pp->retained, &pp->dist);
    mmi_fq_add(&s->fq, &pp->fq, p);
    return MM_OK;
}

static void
pub_stop(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    pub_leaving leaving = { .sock = s, .pipe = p };
    mmi_radix_rm_all(s->heard, &pp->dist, s->tells ? pub_gone : NULL, &leaving);
    mmi_notices_left(&pp->own);
    if (s->manual) {
        mmi_dist_materialize(&s->dist);
        mmi_radix_rm_all(&s->dist.topics, &pp->dist, NULL, NULL);
        (void)mmi_map_rm(&s->peers, p->id);
    }
    p->subscriptions = p->subscription_bytes = 0;
    mmi_replays_rm(&pp->replay);
    mmi_retained_rm(&pp->retained);
    mmi_dist_rm(&s->dist, &pp->dist);
}

static void
pub_rm(void *ps, mmi_pipe *p)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    if (!p->stopped) {
        pub_stop(s, p);
    }
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
    if (!s->tells) {
        mmi_replays_out(&s->replays, &pp->replay);
    }
    mmi_retained_out(&s->retained, &pp->retained);
}

static int
pub_send(void *ps, mmi_msg *m)
{
    pub_sock *s = ps;
    return s->retains ? mmi_retained_send(&s->retained, m) : mmi_dist_send(&s->dist, m);
}

static uint64_t
pub_tick(void *ps, uint64_t now_ns)
{
    pub_sock *s = ps;
    (void)now_ns;
    if (s->retains) {
        mmi_retained_tick(&s->retained);
    }
    return UINT64_MAX;
}

static int
xpub_recv(void *ps, mmi_msg **m)
{
    pub_sock *s = ps;
    if (s->told && mmi_fq_ready(&s->fq)) {   /* so neither keeps the user from the other */
        s->told = false;
        return mmi_fq_recv(&s->fq, m);
    }
    int rc = mmi_notices_take(&s->notices, m);
    s->told = rc == MM_OK;
    if (rc == MM_OK) {
        s->host->stats->parsed_messages++;   /* it is a message from now on */
        return rc;
    }
    return rc == MM_EAGAIN ? mmi_fq_recv(&s->fq, m) : rc;
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
           (mmi_notices_ready(&s->notices) || mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static bool
pub_has(const pub_sock *s, const pub_pipe *pp, const uint8_t *topic, size_t size)
{
    mmi_radix_node *node = mmi_radix_find(s->heard, topic, size);
    return node != NULL && mmi_radix_has(node, &pp->dist);
}

/* No message can have gone to it before, unless the user gave it topics that it never asked for. */
static void
pub_welcome(pub_sock *s, mmi_pipe *p)
{
    pub_pipe *pp = p->state;
    if (s->welcome == NULL || pp->welcomed) {
        return;
    }
    pp->welcomed = true;
    s->host->stats->sent_messages++;
    s->host->stats->sent_bytes += s->welcome->size;
    mmi_msg *m = mmi_msg_ref(s->welcome);
    int rc = mmi_pipe_send(p, m);
    if (rc != MM_OK) {
        mmi_drop_of(s->host, mmi_unsendable(rc) ? mmi_drop_unsendable(rc) : MMI_DROP_OVERFLOW, p,
                    m);
    }
}

static int
pub_subscribe(pub_sock *s, mmi_pipe *p, const uint8_t *topic, size_t size)
{
    pub_pipe *pp = p->state;
    mmi_radix *topics = s->heard;
    if (pub_has(s, pp, topic, size)) {
        return MM_OK;
    }
    if (p->subscriptions >= s->host->opts->subscriptions_max ||
        p->subscription_bytes + size > MMI_SUBSCRIPTION_BYTES_MAX) {
        return MM_EPROTO;
    }
    bool first;
    mmi_dist_materialize(&s->dist);
    int rc = mmi_radix_add(topics, topic, size, &pp->dist, &first);
    if (rc > 0 && s->tells) {
        rc =
            mmi_notices_added(&s->notices, mmi_radix_find(topics, topic, size), &pp->own, first, p);
        if (rc != MM_OK) {
            (void)mmi_radix_rm(topics, topic, size, &pp->dist, NULL);
        }
    }
    if (rc < 0) {
        return rc;
    }
    p->subscriptions++;
    p->subscription_bytes += size;
    if (!s->tells) {
        mmi_replays_subscribed(&s->replays, &pp->replay);
    }
    if (s->retains) {
        mmi_retained_subscribed(&s->retained, &pp->retained, topic, size);
    }
    pub_welcome(s, p);
    return MM_OK;
}

static void
pub_cancel(pub_sock *s, mmi_pipe *p, const uint8_t *topic, size_t size)
{
    pub_pipe *pp = p->state;
    if (!pub_has(s, pp, topic, size)) {
        return;   /* of what was never subscribed: harmless */
    }
    if (s->retains) {
        mmi_retained_cancels(&s->retained, &pp->retained, topic, size);
    }
    mmi_dist_materialize(&s->dist);
    mmi_radix_node *node = mmi_radix_find(s->heard, topic, size);
    bool last;
    mmi_radix_keep(node);
    (void)mmi_radix_rm(s->heard, topic, size, &pp->dist, &last);
    if (s->tells) {
        mmi_notices_removed(&s->notices, node, &pp->own, last, p);
    }
    mmi_radix_release(node);
    p->subscriptions--;
    p->subscription_bytes -= size;
    mmi_dist_changed(&s->dist);
}

static int
pub_subscription(void *ps, mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    pub_sock *s = ps;
    if (size > s->host->opts->topic_size_max) {
        return MM_EMSGSIZE;
    }
    if (p->stopped) {
        return MM_OK;   /* it gets nothing more, whatever it asks for */
    }
    if (add) {
        return pub_subscribe(s, p, topic, size);
    }
    pub_cancel(s, p, topic, size);
    return MM_OK;
}

static int
pub_replay(void *ps, mmi_pipe *p, const mmi_replay *from)
{
    pub_sock *s = ps;
    pub_pipe *pp = p->state;
    return p->stopped ? MM_EAGAIN : mmi_replays_ask(&s->replays, &pp->replay, from);
}

static int
xpub_grant(void *ps, uint64_t pipe_id, bool add, const uint8_t *topic, size_t size)
{
    pub_sock *s = ps;
    if (!s->manual) {
        return MM_ENOTSUP;
    }
    pub_pipe *pp = mmi_map_find(&s->peers, pipe_id);
    if (pp == NULL) {
        return MM_EHOSTUNREACH;
    }
    mmi_dist_materialize(&s->dist);
    mmi_radix *topics = &s->dist.topics;
    mmi_radix_node *node = mmi_radix_find(topics, topic, size);
    bool has = node != NULL && mmi_radix_has(node, &pp->dist);
    if (has == add) {
        return 0;
    }
    int rc = add ? mmi_radix_add(topics, topic, size, &pp->dist, NULL)
                 : mmi_radix_rm(topics, topic, size, &pp->dist, NULL);
    mmi_dist_changed(&s->dist);
    return rc < 0 ? rc : 1;
}

static void
xpub_set_welcome(void *ps, mmi_msg *m)
{
    pub_sock *s = ps;
    mmi_msg_unref(s->welcome);
    s->welcome = m;
}

static void
pub_materialize(void *ps)
{
    pub_sock *s = ps;
    mmi_dist_materialize(&s->dist);
}

static uint32_t
pub_reach(void *ps, const uint8_t *topic, size_t size)
{
    pub_sock *s = ps;
    return mmi_dist_reach(&s->dist, topic, size);
}

static uint32_t
xpub_unclaimed(const void *ps, uint64_t *bytes)
{
    const pub_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_pub_ops = {
    .is = { .number = MM_PUB,
            .name = "PUB",
            .peers = MMI_ROLE_BIT(MM_SUB) | MMI_ROLE_BIT(MM_XSUB) },
    .overflow = MM_OVERFLOW_DROP_NEWEST,
    .sock_size = sizeof(pub_sock),
    .pipe_size = sizeof(pub_pipe),
    .init = pub_init,
    .fini = pub_fini,
    .add = pub_add,
    .rm = pub_rm,
    .stop = pub_stop,
    .in = pub_in,
    .out = pub_out,
    .send = pub_send,
    .ready = pub_ready,
    .subscription = pub_subscription,
    .replay = pub_replay,
    .reach = pub_reach,
    .materialize = pub_materialize,
    .tick = pub_tick,
    .retains = true,
    .keyed_send = true,
    .segments = true,
};

const mmi_proto_ops mmi_xpub_ops = {
    .is = { .number = MM_XPUB,
            .name = "XPUB",
            .peers = MMI_ROLE_BIT(MM_SUB) | MMI_ROLE_BIT(MM_XSUB) },
    .overflow = MM_OVERFLOW_DROP_NEWEST,
    .sock_size = sizeof(pub_sock),
    .pipe_size = sizeof(pub_pipe),
    .init = xpub_init,
    .fini = pub_fini,
    .add = pub_add,
    .rm = pub_rm,
    .stop = pub_stop,
    .in = xpub_in,
    .out = pub_out,
    .send = pub_send,
    .recv = xpub_recv,
    .ready = xpub_ready,
    .subscription = pub_subscription,
    .grant = xpub_grant,
    .set_welcome = xpub_set_welcome,
    .reach = pub_reach,
    .materialize = pub_materialize,
    .unclaimed = xpub_unclaimed,
    .keyed_send = true,
    .segments = true,
};
