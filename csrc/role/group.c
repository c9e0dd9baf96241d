/*
 * group.c: a group of subscribers at a PUB whose messages are in a spool: each message goes to one
 * of its members, that one which has its key, or without a key its topic.
 *
 * No user opens one: it is a socket behind its PUB (socket/group.h), which a feed gives the
 * messages of the spool (api/feed.h).  All members ask for the same topics, and the first one
 * decides while nobody else is in it.  What is of none of them is done without being handed out.
 * Not here: who becomes a member (link/become.c), where the group is in the spool (api/groups.c).
 * Law: all sending is queue/backlog.c's; a peer that has not begun gets nothing.
 */
#include "base/limits.h"
#include "base/radix.h"
#include "queue/enough.h"
#include "role/role.h"

typedef struct group_sock {
    mmi_proto_host *host;
    mmi_back back;
    mmi_route route;
    mmi_radix *topics;         /* NULL: nobody was in it yet */
    uint32_t members;          /* that have begun */
} group_sock;

typedef struct group_pipe {
    mmi_lane lane;
    mmi_enough_node early;
    mmi_radix *asked; /* until it has begun: what it asks for; it is the one subscriber */
    bool begun;
} group_pipe;

typedef struct group_look {
    const mmi_radix *in;
    bool found;
} group_look;

static int
group_init(void *ps, mmi_proto_host *host)
{
    group_sock *s = ps;
    s->host = host;
    mmi_back_init(&s->back, host);
    mmi_route_init(&s->route);
    s->route.by_topic = true;
    s->back.route = &s->route;
    host->keyed = true;
    return MM_OK;
}

static void
group_forget(mmi_radix **topics)
{
    if (*topics != NULL) {
        mmi_radix_fini(*topics);
        mmi_free(*topics);
        *topics = NULL;
    }
}

static void
group_fini(void *ps)
{
    group_sock *s = ps;
    mmi_back_fini(&s->back);
    group_forget(&s->topics);
}

static int
group_add(void *ps, mmi_pipe *p)
{
    (void)ps;
    group_pipe *gp = p->state;
    gp->asked = mmi_alloc(sizeof *gp->asked);
    if (gp->asked == NULL) {
        return MM_ENOMEM;
    }
    mmi_radix_init(gp->asked);
    return MM_OK;
}

static void
group_stop(void *ps, mmi_pipe *p)
{
    group_sock *s = ps;
    group_pipe *gp = p->state;
    if (gp->begun) {
        s->members--;
        if (!mmi_enough_rm(&s->back, &gp->early)) {
            mmi_back_stop(&s->back, &gp->lane.lb);
        }
    }
}

static void
group_rm(void *ps, mmi_pipe *p)
{
    group_sock *s = ps;
    group_pipe *gp = p->state;
    group_forget(&gp->asked);
    p->subscriptions = p->subscription_bytes = 0;
    if (gp->begun) {
        s->members -= !p->stopped;
        if (!mmi_enough_rm(&s->back, &gp->early)) {
            mmi_back_rm(&s->back, &gp->lane.lb);
        }
    }
}

static void
group_in(void *ps, mmi_pipe *p)
{
    group_sock *s = ps;
    mmi_drop_inbox(s->host, p);
}

static void
group_out(void *ps, mmi_pipe *p)
{
    group_sock *s = ps;
    group_pipe *gp = p->state;
    if (gp->begun && gp->lane.lb.pipe != NULL) {
        mmi_back_out(&s->back, &gp->lane.lb);
    }
}

static void
group_again(void *ps, mmi_msg *m)
{
    group_sock *s = ps;
    mmi_back_again(&s->back, m);
}

static bool
group_match(void *arg, void *subscriber)
{
    (void)subscriber;
    *(bool *)arg = true;
    return false;
}

static bool
group_wants(const group_sock *s, const uint8_t *topic, size_t size)
{
    bool wanted = false;
    if (s->topics != NULL) {
        mmi_radix_match(s->topics, topic, size, group_match, &wanted);
    }
    return wanted;
}

static int
group_send(void *ps, mmi_msg *m)
{
    group_sock *s = ps;
    if (m->frame_count > 0 && !group_wants(s, m->frames[0].data, m->frames[0].size)) {
        s->host->stats->unwanted_messages++;
        mmi_receipts_settle(&s->back.receipts, m, MM_RECEIPT_ACKED);
        mmi_msg_unref(m);
        return MM_OK;
    }
    return mmi_back_send(&s->back, m);
}

static uint64_t
group_tick(void *ps, uint64_t now_ns)
{
    group_sock *s = ps;
    return mmi_back_due(&s->back, now_ns);
}

static uint32_t
group_ready(const void *ps)
{
    const group_sock *s = ps;
    return mmi_back_ready(&s->back) ? MM_WRITABLE : 0;
}

static int
group_subscribe(group_sock *s, mmi_pipe *p, const uint8_t *topic, size_t size)
{
    group_pipe *gp = p->state;
    if (p->subscriptions >= s->host->opts->subscriptions_max ||
        p->subscription_bytes + size > MMI_SUBSCRIPTION_BYTES_MAX) {
        return MM_EPROTO;
    }
    int count = mmi_radix_add(gp->asked, topic, size, gp, NULL);
    if (count < 0) {
        return count;
    }
    if (count == 1) {
        p->subscriptions++;
        p->subscription_bytes += size;
    } else {
        (void)mmi_radix_rm(gp->asked, topic, size, gp, NULL); /* once, however often it says so */
    }
    return MM_OK;
}

static int
group_subscription(void *ps, mmi_pipe *p, bool add, const uint8_t *topic, size_t size)
{
    group_sock *s = ps;
    group_pipe *gp = p->state;
    if (size > s->host->opts->topic_size_max) {
        return MM_EMSGSIZE;
    }
    if (p->stopped) {
        return MM_OK; /* it gets nothing more, whatever it asks for */
    }
    if (gp->begun) {
        return MM_ESTATE;
    }
    if (add) {
        return group_subscribe(s, p, topic, size);
    }
    if (mmi_radix_rm(gp->asked, topic, size, gp, NULL) == 0) {
        p->subscriptions--;
        p->subscription_bytes -= size;
    }
    return MM_OK;
}

static void
group_find(void *arg, const uint8_t *topic, size_t size, uint32_t count)
{
    (void)count;
    group_look *look = arg;
    look->found = look->found && mmi_radix_find(look->in, topic, size) != NULL;
}

/* The same topics, in whatever order? */
static bool
group_same(const group_sock *s, const mmi_radix *asked)
{
    if (s->topics == NULL || s->topics->topic_count != asked->topic_count) {
        return false;
    }
    group_look look = { .in = s->topics, .found = true };
    mmi_radix_each(asked, NULL, group_find, &look);
    return look.found;
}

static int
group_begin(void *ps, mmi_pipe *p)
{
    group_sock *s = ps;
    group_pipe *gp = p->state;
    if (gp->begun || p->stopped) {
        return MM_OK;
    }
    if (gp->asked->topic_count == 0) {
        return MM_EPROTO;
    }
    bool same = group_same(s, gp->asked);
    if (!same && s->members > 0) {
        return MM_EINVAL;
    }
    if (!same) { /* what waits was wanted by others: it is looked at again */
        group_forget(&s->topics);
        s->topics = gp->asked;
        gp->asked = NULL;
        mmi_back_empty(&s->back);
    }
    group_forget(&gp->asked);
    gp->begun = true;
    s->members++;
    mmi_enough_add(&s->back, &gp->early, &gp->lane.lb, p);
    s->host->begun(s->host);
    return MM_OK;
}

static uint32_t
group_topics(const void *ps)
{
    const group_sock *s = ps;
    return s->topics != NULL ? (uint32_t)s->topics->topic_count : 0;
}

static uint32_t
group_reach(void *ps, const uint8_t *topic, size_t size)
{
    const group_sock *s = ps;
    return group_wants(s, topic, size) ? s->members : 0;
}

const mmi_proto_ops mmi_group_ops = {
    .is = { .number = MM_PUB, .name = "PUB", .peers = MMI_ROLE_BIT(MM_SUB) },
    .shares = true,
    .sock_size = sizeof(group_sock),
    .pipe_size = sizeof(group_pipe),
    .init = group_init,
    .fini = group_fini,
    .add = group_add,
    .rm = group_rm,
    .stop = group_stop,
    .in = group_in,
    .out = group_out,
    .again = group_again,
    .send = group_send,
    .ready = group_ready,
    .subscription = group_subscription,
    .begin = group_begin,
    .topics = group_topics,
    .reach = group_reach,
    .tick = group_tick,
    .segments = true,
};
