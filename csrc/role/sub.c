/*
 * sub.c: SUB and XSUB: what the user wants, told to every peer, and what the peers send.
 * XSUB subscribes by messages too (01 or 00, then the topic), passes any other message upstream to
 * all peers, and does not filter what it receives.
 * Not here: matching at the publisher (dist.c, over there).
 * Law: a peer knows exactly the topics of the tree; it hears of the first and of the last of each.
 * Of a SUB the next message to be received is one that is subscribed to, so ready is exact.
 */
#include "base/limits.h"
#include "queue/conflate.h"
#include "queue/dist.h"
#include "queue/fq.h"
#include "role/role.h"

typedef struct sub_sock {
    mmi_proto_host *host;
    mmi_dist dist;             /* the peers; its own tree stays empty  */
    mmi_fq fq;
    mmi_radix topics;          /* ours; the one subscriber is the sock */
    mmi_conflate newest;       /* SUB that conflates: instead of fq    */
    bool filters;              /* SUB                                  */
    bool member;               /* of a group: its topics stay          */
} sub_sock;

typedef struct sub_pipe {
    mmi_dist_node dist;
    mmi_fq_node fq;
} sub_pipe;

typedef struct sub_telling {
    mmi_pipe *pipe;
    int rc;
} sub_telling;

static int
sub_init(void *ps, mmi_proto_host *host)
{
    sub_sock *s = ps;
    s->host = host;
    mmi_dist_init(&s->dist, host);
    mmi_fq_init(&s->fq, host->opts);
    mmi_radix_init(&s->topics);
    return MM_OK;
}

static int
sub_init_filtering(void *ps, mmi_proto_host *host)
{
    sub_sock *s = ps;
    s->filters = true;
    s->member = (host->opts->flags & MM_OPT_GROUP) != 0;
    int rc = sub_init(ps, host);
    mmi_conflate_init(&s->newest, host, &s->topics);
    return rc;
}

static void
sub_fini(void *ps)
{
    sub_sock *s = ps;
    if (s->filters) {
        mmi_conflate_fini(&s->newest);
    }
    mmi_dist_fini(&s->dist);
    mmi_fq_fini(&s->fq, s->host);
    mmi_radix_fini(&s->topics);
}

static bool
sub_match(void *arg, void *subscriber)
{
    (void)subscriber;
    *(bool *)arg = true;
    return false;
}

static bool
sub_wants_topic(const sub_sock *s, const uint8_t *topic, size_t size)
{
    bool wanted = false;
    mmi_radix_match(&s->topics, topic, size, sub_match, &wanted);
    return wanted;
}

static bool
sub_wants_body(void *ps, const uint8_t *data, size_t size)
{
    return sub_wants_topic(ps, data, size);
}

static bool
sub_wants(const sub_sock *s, const mmi_msg *m)
{
    return m->frame_count > 0 && sub_wants_topic(s, m->frames[0].data, m->frames[0].size);
}

/* How many messages from the i-th on are wanted (or are not). */
static uint32_t
sub_run(const sub_sock *s, const mmi_segment_in *segment, uint32_t i, uint32_t max, bool wanted)
{
    uint32_t count = 0;
    for (; count < max; count++) {
        uint32_t frame;
        (void)mmi_segment_in_frames(segment, i + count, &frame);
        uint32_t at = segment->offset[frame];
        if (sub_wants_topic(s, segment->data + at, segment->offset[frame + 1] - at) != wanted) {
            break;
        }
    }
    return count;
}

/* Messages that are not wanted any more, or never were, go from the front. */
static void
sub_sift(sub_sock *s)
{
    uint32_t first;
    mmi_msg *m;
    while (s->filters && !s->member && (m = mmi_fq_front(&s->fq, &first)) != NULL) {
        const mmi_segment_in *segment = mmi_segment_in_of(m);
        uint32_t unwanted =
            segment != NULL ? sub_run(s, segment, first, m->count, false) : !sub_wants(s, m);
        if (unwanted == 0) {
            return;
        }
        mmi_span gone;
        int rc = mmi_fq_take(&s->fq, unwanted, SIZE_MAX, &gone);
        MMI_ASSERT(rc == MM_OK);
        mmi_drop_count(s->host, MMI_DROP_FILTERED, gone.msg->pipe_id, gone.count);
        mmi_msg_unref(gone.msg);
    }
}

static void
sub_tell(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    (void)count;
    sub_telling *telling = arg;
    if (telling->rc == MM_OK) {
        telling->rc = telling->pipe->ops->subscription(telling->pipe, true, topic, size);
    }
}

static int
sub_add(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_pipe *sp = p->state;
    sub_telling telling = { .pipe = p, .rc = MM_OK };
    mmi_radix_each(&s->topics, s, sub_tell, &telling);
    if (telling.rc != MM_OK) {
        return telling.rc;
    }
    mmi_dist_add(&s->dist, &sp->dist, p);
    mmi_fq_add(&s->fq, &sp->fq, p);
    return MM_OK;
}

static void
sub_stop(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_pipe *sp = p->state;
    mmi_dist_rm(&s->dist, &sp->dist);
}

static void
sub_rm(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_pipe *sp = p->state;
    if (!p->stopped) {
        sub_stop(s, p);
    }
    mmi_fq_rm(&s->fq, &sp->fq, mmi_fq_keep_all);
    sub_sift(s);
}

static void
sub_in(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_pipe *sp = p->state;
    if (s->newest.on) {
        mmi_conflate_take_in(&s->newest, p);
        return;
    }
    mmi_fq_in(&s->fq, &sp->fq);
    sub_sift(s);
}

static void
sub_out(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_pipe *sp = p->state;
    mmi_dist_out(&s->dist, &sp->dist);
}

static void
sub_cancel_each(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    (void)count;
    sub_telling *telling = arg;
    if (telling->rc == MM_OK) {
        telling->rc = telling->pipe->ops->subscription(telling->pipe, false, topic, size);
    }
}

static int
sub_cancel(void *ps, mmi_pipe *p)
{
    sub_sock *s = ps;
    sub_telling telling = { .pipe = p, .rc = MM_OK };
    mmi_radix_each(&s->topics, s, sub_cancel_each, &telling);
    return telling.rc;
}

static int
sub_subscribe(void *ps, bool add, const uint8_t *topic, size_t size)
{
    sub_sock *s = ps;
    if (size > s->host->opts->topic_size_max) {
        return MM_EMSGSIZE;
    }
    if (add && s->host->stopping) {
        return MM_ESTATE;   /* nothing comes any more */
    }
    int count = add ? mmi_radix_add(&s->topics, topic, size, s, NULL)
                    : mmi_radix_rm(&s->topics, topic, size, s, NULL);
    if (count < 0) {
        return count;
    }
    if (count != (add ? 1 : 0)) {
        return MM_OK;   /* not the first, not the last: the peers know */
    }
    MMI_LIST_EACH (&s->dist.nodes, node, after) {
        mmi_pipe *p = MMI_CONTAINER_OF(node, mmi_dist_node, node)->pipe;
        if (p->ops->subscription(p, add, topic, size) != MM_OK) {
            /* It would know less than all: it is told everything again when it is back. */
            p->ops->close(p, MM_REASON_MEMORY, "no memory for a subscription");
        }
    }
    if (s->newest.on) {
        mmi_conflate_turned(&s->newest, add, topic, size);
    } else if (!add) {
        sub_sift(s);
    }
    return MM_OK;
}

static int
sub_recv(void *ps, mmi_msg **m)
{
    sub_sock *s = ps;
    if (s->newest.on) {
        return mmi_conflate_recv(&s->newest, m);
    }
    int rc = mmi_fq_recv(&s->fq, m);
    sub_sift(s);
    return rc;
}

static int
sub_take(void *ps, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    sub_sock *s = ps;
    uint32_t first, count = max_messages;
    mmi_msg *m;
    if (s->newest.on) {
        int got = mmi_conflate_recv(&s->newest, &m);
        if (got == MM_OK) {
            *out = (mmi_span){ .msg = m, .count = 1, .bytes = m->size };
        }
        return got;
    }
    m = mmi_fq_front(&s->fq, &first);
    const mmi_segment_in *segment = s->filters && m != NULL ? mmi_segment_in_of(m) : NULL;
    if (segment != NULL) {
        count = sub_run(s, segment, first, m->count < count ? m->count : count, true);
    }
    int rc = mmi_fq_take(&s->fq, count, max_bytes, out);
    sub_sift(s);
    return rc;
}

static uint32_t
sub_ready(const void *ps)
{
    const sub_sock *s = ps;
    return mmi_fq_ready(&s->fq) || s->newest.count > 0 ? MM_READABLE : 0;
}

static uint32_t
sub_unclaimed(const void *ps, uint64_t *bytes)
{
    const sub_sock *s = ps;
    uint32_t count = mmi_fq_unclaimed(&s->fq, bytes);
    *bytes += s->newest.bytes;
    return count + s->newest.count;
}

static int
xsub_send(void *ps, mmi_msg *m)
{
    sub_sock *s = ps;
    if (m->frame_count == 1 && m->frames[0].size > 0 && m->frames[0].data[0] <= 1) {
        const mmi_frame *frame = &m->frames[0];
        bool add = frame->data[0] == 1;
        int rc = sub_subscribe(s, add, frame->data + 1, frame->size - 1);
        if (rc == MM_EINVAL && !add) {
            rc = MM_OK;   /* of what was not subscribed: harmless */
        }
        if (rc == MM_OK) {
            s->host->stats->written_messages++;   /* it goes to all peers, also those to come */
            mmi_msg_unref(m);
        }
        return rc;
    }
    return mmi_dist_send_all(&s->dist, m);
}

static uint32_t
xsub_ready(const void *ps)
{
    const sub_sock *s = ps;
    return sub_ready(ps) | (mmi_dist_ready_all(&s->dist) ? MM_WRITABLE : 0);
}

static uint32_t
sub_topics(const void *ps)
{
    const sub_sock *s = ps;
    return (uint32_t)s->topics.topic_count;
}

const mmi_proto_ops mmi_sub_ops = {
    .is = { .number = MM_SUB,
            .name = "SUB",
            .peers = MMI_ROLE_BIT(MM_PUB) | MMI_ROLE_BIT(MM_XPUB) },
    .halts = true,
    .sock_size = sizeof(sub_sock),
    .pipe_size = sizeof(sub_pipe),
    .init = sub_init_filtering,
    .fini = sub_fini,
    .add = sub_add,
    .rm = sub_rm,
    .stop = sub_stop,
    .in = sub_in,
    .out = sub_out,
    .recv = sub_recv,
    .take = sub_take,
    .ready = sub_ready,
    .subscribe = sub_subscribe,
    .topics = sub_topics,
    .cancel = sub_cancel,
    .wants = sub_wants_body,
    .unclaimed = sub_unclaimed,
    .acks = true,
};

const mmi_proto_ops mmi_xsub_ops = {
    .is = { .number = MM_XSUB,
            .name = "XSUB",
            .peers = MMI_ROLE_BIT(MM_PUB) | MMI_ROLE_BIT(MM_XPUB) },
    .halts = true,
    .sock_size = sizeof(sub_sock),
    .pipe_size = sizeof(sub_pipe),
    .init = sub_init,
    .fini = sub_fini,
    .add = sub_add,
    .rm = sub_rm,
    .stop = sub_stop,
    .in = sub_in,
    .out = sub_out,
    .send = xsub_send,
    .recv = sub_recv,
    .take = sub_take,
    .ready = xsub_ready,
    .subscribe = sub_subscribe,
    .topics = sub_topics,
    .cancel = sub_cancel,
    .unclaimed = sub_unclaimed,
};
