/*
 * queue/acks.c: see queue/acks.h.
 * Law: a peer is told when much of its credit is used up, and at the latest when its socket has
 * nothing left to give out; so it never waits for credit that it has.
 */
#include "queue/acks.h"

#include "queue/host.h"

enum {
    ACKS_PART = 4,        /* of the prefetch: so much that is done is worth an ACK of its own */
    ACKS_LEFT = 2,        /* of the prefetch: with less credit than that a peer may soon wait */
    ACKS_FEW = 16,        /* messages: who sends no more may wait for each to be done */
    ACKS_PAUSE_NS = 200000   /* between ACKs of a peer that sends much, and waits for nothing */
};

mmi_acks *
mmi_acks_new(mmi_pipe *p, mmi_proto_host *host, const mmi_count *of)
{
    mmi_acks *a = mmi_alloc(sizeof *a);
    if (a != NULL) {
        uint32_t prefetch = host->opts->prefetch;
        mmi_list_init(&a->given_node);
        mmi_list_init(&a->untold_node);
        a->pipe = p;
        a->host = host;
        a->of = *of;
        a->prefetch = prefetch > 0 ? prefetch : host->opts->recv_queue_messages;
        a->prefetch = a->prefetch < MMI_UNACKED_MAX ? a->prefetch : (uint32_t)MMI_UNACKED_MAX;
        a->due = true;   /* its first credit */
    }
    return a;
}

void
mmi_acks_free(mmi_acks *a)
{
    if (a != NULL) {
        mmi_list_rm(&a->given_node);
        mmi_list_rm(&a->untold_node);
        mmi_free(a);
    }
}

static void
acks_list(mmi_list *all, mmi_list *node)
{
    if (!mmi_list_linked(node)) {
        mmi_list_push_back(all, node);
    }
}

void
mmi_acks_tell(mmi_acks *a)
{
    a->due = true;
    mmi_list_rm(&a->untold_node);
    a->pipe->ops->wrote(a->pipe);
}

static void
acks_changed(mmi_acks *a)
{
    acks_list(&a->host->untold, &a->untold_node);
    if ((a->done.count - a->told) * ACKS_PART >= a->prefetch) {
        mmi_acks_tell(a);
    }
}

/* Up to which number the peer may send: by what is done; but no number is beyond what the bitmap
 * can tell of.  Where it is the next receive that says what is done, and that waits until there is
 * something, there is always one more to come. */
static uint64_t
acks_limit(const mmi_acks *a)
{
    uint64_t most = a->done.floor + MMI_UNACKED_MAX;
    uint64_t limit = a->done.count + a->prefetch;
    bool by_hand = (a->host->opts->flags & MM_OPT_ACK_MANUAL) != 0;
    if (a->ends) {
        return a->limit;
    }
    if (a->host->looked && !by_hand && limit <= a->given) {
        limit = a->given + 1;
    }
    limit = limit < most ? limit : most;
    return limit > a->limit ? limit : a->limit;
}

/* Is it time to tell a peer of which nothing more is here?  While messages come fast, it is told by
 * the part, or as it asks for nothing more; else what is done would wait for what was given now. */
static bool
acks_late(const mmi_acks *a)
{
    uint64_t left = a->limit - a->received;
    return left < a->prefetch / ACKS_LEFT ||
           a->host->now_ns(a->host) - a->told_ns >= (uint64_t)ACKS_PAUSE_NS;
}

/* When nothing more of it is here, it may be waiting for what it was not told; and who looks for
 * messages before it asks for one may never ask in vain. */
void
mmi_acks_gave(mmi_acks *a, uint32_t count)
{
    a->given += count;
    acks_list(&a->host->given, &a->given_node);
    if (a->pipe->inbox.count > 0) {
        return;
    }
    bool starves = a->given == a->limit && acks_limit(a) > a->limit;
    if (starves || (mmi_acks_untold(a) && acks_late(a))) {
        mmi_acks_tell(a);
    }
}

bool
mmi_acks_done(mmi_acks *a, uint64_t number)
{
    bool news = number > 0 && number <= a->given && mmi_marks_add(&a->done, number);
    if (news) {
        acks_changed(a);
    }
    return news;
}

void
mmi_acks_done_all(mmi_proto_host *host)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&host->given)) != NULL) {
        mmi_acks *a = MMI_CONTAINER_OF(node, mmi_acks, given_node);
        if (mmi_marks_add_to(&a->done, a->given) > 0) {
            acks_changed(a);
        }
    }
}

void
mmi_acks_lost(mmi_proto_host *host)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&host->given)) != NULL) {
        mmi_acks *a = MMI_CONTAINER_OF(node, mmi_acks, given_node);
        a->pipe->ops->close(a->pipe, MM_REASON_MEMORY, NULL);
    }
}

/* Each ACK wakes a thread of the peer, so who sends much gets few of them. */
void
mmi_acks_idle(mmi_proto_host *host)
{
    MMI_LIST_EACH (&host->untold, node, after) {
        mmi_acks *a = MMI_CONTAINER_OF(node, mmi_acks, untold_node);
        if (a->done.count - a->told <= ACKS_FEW || acks_late(a)) {
            mmi_acks_tell(a);
        } else {
            host->due(host, a->told_ns + (uint64_t)ACKS_PAUSE_NS);
        }
    }
}

uint64_t
mmi_acks_tick(mmi_proto_host *host, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    MMI_LIST_EACH (&host->untold, node, after) {
        mmi_acks *a = MMI_CONTAINER_OF(node, mmi_acks, untold_node);
        uint64_t at = a->told_ns + (uint64_t)ACKS_PAUSE_NS;
        if (at <= now_ns) {
            mmi_acks_tell(a);
        } else {
            next = at < next ? at : next;
        }
    }
    return next;
}

void
mmi_acks_put(mmi_acks *a, uint8_t *out)
{
    const mmi_ack ack = { .ends = a->ends, .floor = a->done.floor, .limit = acks_limit(a) };
    mmi_ack_put(out, &ack);
    a->limit = ack.limit;
    mmi_marks_bitmap(&a->done, out + MMI_ACK_SIZE);
    a->told = a->done.count;
    a->told_ns = a->host->now_ns(a->host);
    a->due = false;
    mmi_list_rm(&a->untold_node);
}

void
mmi_acks_invariants(const mmi_acks *a)
{
    mmi_marks_invariants(&a->done);
    MMI_ASSERT(a->done.top <= a->given && a->given <= a->received);
    MMI_ASSERT(a->told <= a->done.count);
}
