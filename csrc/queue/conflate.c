/*
 * conflate.c: one message a topic, found by a tree of those kept.
 * Not here: whether to conflate (sub.c).
 * Law: an entry is the mark of its node, which it keeps.  The topic of a message of one frame is
 * the longest subscription that it matches, as it says nothing of where its topic ends; when that
 * changes, its entry changes over.  The mark of a subscription is the number of the last message of
 * one frame that was given out under it, so that nothing older follows.
 */
#include "queue/conflate.h"

#include <string.h>

typedef struct conflate_entry {
    mmi_list node;
    mmi_radix_node *topic;
    mmi_msg *msg;
    uintptr_t number;          /* of msg, as they came                 */
    uintptr_t since;           /* number of the first in this place: the order of the queue */
} conflate_entry;

/* Also when they have run over. */
static bool
conflate_newer(uintptr_t a, uintptr_t b)
{
    return (intptr_t)(a - b) > 0;
}

void
mmi_conflate_init(mmi_conflate *c, mmi_proto_host *host, mmi_radix *topics)
{
    const uint32_t by_topic = MM_OPT_CONFLATE_TOPIC;
    c->host = host;
    c->topics = topics;
    c->by_topic = (host->opts->flags & by_topic) != 0;
    c->on = (host->opts->flags & (MM_OPT_CONFLATE | by_topic)) != 0;
    mmi_list_init(&c->queue);
    mmi_radix_init(&c->kept[0]);
    mmi_radix_init(&c->kept[1]);
}

/* The message of an entry, which is no longer there. */
static mmi_msg *
conflate_rm(mmi_conflate *c, conflate_entry *entry)
{
    mmi_msg *m = entry->msg;
    mmi_list_rm(&entry->node);
    *mmi_radix_mark(entry->topic) = NULL;
    mmi_radix_release(entry->topic);
    mmi_free(entry);
    c->count--;
    c->bytes -= mmi_msg_cost(m);
    return m;
}

static void
conflate_drop(mmi_conflate *c, conflate_entry *entry, mmi_drop_why why)
{
    mmi_msg *m = conflate_rm(c, entry);
    mmi_drop(c->host, why, m->pipe_id, m);
}

void
mmi_conflate_fini(mmi_conflate *c)
{
    while (!mmi_list_empty(&c->queue)) {
        conflate_drop(c, MMI_CONTAINER_OF(c->queue.next, conflate_entry, node), MMI_DROP_CLOSED);
    }
    mmi_radix_fini(&c->kept[0]);
    mmi_radix_fini(&c->kept[1]);
}

static conflate_entry *
conflate_add(mmi_conflate *c, mmi_radix *kept, const uint8_t *topic, size_t size)
{
    conflate_entry *entry = mmi_alloc(sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    entry->topic = mmi_radix_hold(kept, topic, size);
    if (entry->topic == NULL) {
        mmi_free(entry);
        return NULL;
    }
    *mmi_radix_mark(entry->topic) = entry;
    entry->since = c->number;
    mmi_list_push_back(&c->queue, &entry->node);
    c->count++;
    return entry;
}

/* The others that waited longest go until it is within the limits. */
static void
conflate_bound(mmi_conflate *c, conflate_entry *newest)
{
    const mm_socket_opts *o = c->host->opts;
    while (c->count > 1 && (c->count > o->recv_queue_messages || c->bytes > o->recv_queue_bytes)) {
        mmi_list *oldest = c->queue.next != &newest->node ? c->queue.next : newest->node.next;
        conflate_drop(c, MMI_CONTAINER_OF(oldest, conflate_entry, node), MMI_DROP_RECV_OVERFLOW);
    }
}

/* Of those that have no topic by themselves: one frame says not where its topic ends. */
static bool
conflate_is_bare(const mmi_conflate *c, const mmi_msg *m)
{
    return c->by_topic && m->frame_count == 1;
}

/* As was asked for: no event. */
static void
conflate_supersede(mmi_conflate *c, mmi_msg *m)
{
    c->host->stats->dropped_conflated++;
    mmi_msg_unref(m);
}

/* Takes m, whose topic is so long. */
static void
conflate_put(mmi_conflate *c, mmi_msg *m, size_t topic_size)
{
    mmi_radix *kept = &c->kept[conflate_is_bare(c, m)];
    const uint8_t *topic = m->frames[0].data;
    c->number++;
    mmi_radix_node *node = mmi_radix_find(kept, topic, topic_size);
    conflate_entry *entry =
        node != NULL ? *mmi_radix_mark(node) : conflate_add(c, kept, topic, topic_size);
    if (entry == NULL) {   /* no memory */
        mmi_drop(c->host, MMI_DROP_MEMORY, m->pipe_id, m);
        return;
    }
    if (entry->msg != NULL) {
        c->bytes -= mmi_msg_cost(entry->msg);
        conflate_supersede(c, entry->msg);
    }
    entry->msg = m;
    entry->number = c->number;
    c->bytes += mmi_msg_cost(m);
    conflate_bound(c, entry);
}

/* Is it subscribed to?  And how long is its topic? */
static bool
conflate_wants(const mmi_conflate *c, const uint8_t *frame, size_t size, uint32_t frame_count,
               size_t *topic_size)
{
    const mmi_radix_node *node = mmi_radix_place(c->topics, frame, size);
    *topic_size = 0;
    if (node != NULL && c->by_topic) {
        *topic_size = frame_count > 1 ? size : mmi_radix_topic_size(node);
    }
    return node != NULL;
}

static void
conflate_filter(mmi_conflate *c, mmi_pipe *p)
{
    mmi_drop_count_of(c->host, MMI_DROP_FILTERED, p, 1);
}

static void
conflate_segment(mmi_conflate *c, mmi_pipe *p, const mmi_span *span)
{
    const mmi_segment_in *segment = mmi_segment_in_of(span->msg);
    for (uint32_t i = span->first; i < span->first + span->count; i++) {
        uint32_t frame, frames = mmi_segment_in_frames(segment, i, &frame);
        size_t topic_size, size = segment->offset[frame + 1] - segment->offset[frame];
        if (!conflate_wants(c, segment->data + segment->offset[frame], size, frames, &topic_size)) {
            conflate_filter(c, p);
            continue;
        }
        mmi_msg *m = mmi_segment_in_copy(segment, i);
        if (m == NULL) {
            mmi_drop_of(c->host, MMI_DROP_MEMORY, p, NULL);
            continue;
        }
        conflate_put(c, m, topic_size);
    }
}

void
mmi_conflate_take_in(mmi_conflate *c, mmi_pipe *p)
{
    mmi_span span;
    while (mmi_pipe_take(p, UINT32_MAX, SIZE_MAX, &span)) {
        mmi_msg *m = span.msg;
        if (mmi_segment_in_of(m) != NULL) {
            conflate_segment(c, p, &span);
            mmi_msg_unref(m);
            continue;
        }
        size_t topic_size;
        if (m->frame_count > 0 &&
            conflate_wants(c, m->frames[0].data, m->frames[0].size, m->frame_count, &topic_size)) {
            conflate_put(c, m, topic_size);
        } else {
            conflate_filter(c, p);
            mmi_msg_unref(m);
        }
    }
}

/* Where the last one given out is noted; NULL: it has a topic by itself, which stays. */
static void **
conflate_given(mmi_conflate *c, const mmi_msg *m, size_t topic_size)
{
    mmi_radix_node *node = NULL;
    if (conflate_is_bare(c, m)) {
        node = mmi_radix_find(c->topics, m->frames[0].data, topic_size);
    }
    return node != NULL ? mmi_radix_mark(node) : NULL;
}

int
mmi_conflate_recv(mmi_conflate *c, mmi_msg **m)
{
    if (mmi_list_empty(&c->queue)) {
        return MM_EAGAIN;
    }
    conflate_entry *entry = MMI_CONTAINER_OF(c->queue.next, conflate_entry, node);
    void **given = conflate_given(c, entry->msg, mmi_radix_topic_size(entry->topic));
    if (given != NULL) {
        *given = (void *)entry->number;
    }
    *m = conflate_rm(c, entry);
    return MM_OK;
}

/* Two of one topic: the newer message stays, in the place that has waited longer. */
static void
conflate_join(mmi_conflate *c, conflate_entry *entry, conflate_entry *other)
{
    if (conflate_newer(other->since, entry->since)) {
        mmi_list_rm(&other->node);
        mmi_list_push_back(&entry->node, &other->node);   /* before it */
        other->since = entry->since;
    }
    if (conflate_newer(entry->number, other->number)) {
        mmi_msg *newer = entry->msg;
        entry->msg = other->msg;
        other->msg = newer;
        other->number = entry->number;
    }
    conflate_supersede(c, conflate_rm(c, entry));
}

/* The topic of its message is another now, so long. */
static void
conflate_change(mmi_conflate *c, conflate_entry *entry, size_t size)
{
    mmi_radix *kept = &c->kept[1];
    const uint8_t *topic = entry->msg->frames[0].data;
    void **given = conflate_given(c, entry->msg, size);
    if (given != NULL && *given != NULL && conflate_newer((uintptr_t)*given, entry->number)) {
        conflate_supersede(c, conflate_rm(c, entry));
        return;
    }
    mmi_radix_node *node = mmi_radix_find(kept, topic, size);
    if (node != NULL) {
        conflate_join(c, entry, *mmi_radix_mark(node));
        return;
    }
    node = mmi_radix_hold(kept, topic, size);
    if (node == NULL) {   /* no memory */
        conflate_drop(c, entry, MMI_DROP_MEMORY);
        return;
    }
    *mmi_radix_mark(entry->topic) = NULL;
    mmi_radix_release(entry->topic);
    *mmi_radix_mark(node) = entry;
    entry->topic = node;
}

void
mmi_conflate_turned(mmi_conflate *c, bool add, const uint8_t *topic, size_t size)
{
    if (add) {
        *mmi_radix_mark(mmi_radix_find(c->topics, topic, size)) = NULL;   /* it begins anew */
    }
    MMI_LIST_EACH (&c->queue, node, after) {
        conflate_entry *entry = MMI_CONTAINER_OF(node, conflate_entry, node);
        const mmi_msg *m = entry->msg;
        const mmi_frame *first = &m->frames[0];
        size_t now;
        if (first->size < size || (size > 0 && memcmp(first->data, topic, size) != 0)) {
            continue;
        }
        if (!conflate_wants(c, first->data, first->size, m->frame_count, &now)) {
            conflate_drop(c, entry, MMI_DROP_FILTERED);
        } else if (conflate_is_bare(c, m) && now != mmi_radix_topic_size(entry->topic)) {
            conflate_change(c, entry, now);
        }
    }
}
