/*
 * conflate.c: one message a topic, found by a tree of those kept.
 * Not here: whether to conflate (sub.c).
 * Law: an entry is the mark of its node, which it keeps.  The topic of a message of one frame is
 * the longest subscription that it matches, as it says nothing of where its topic ends.
 */
#include "proto/conflate.h"

typedef struct conflate_entry {
    mmi_list node;
    mmi_radix_node *topic;
    mmi_msg *msg;
} conflate_entry;

void
mmi_conflate_init(mmi_conflate *c, mmi_proto_host *host)
{
    const uint32_t by_topic = MM_OPT_CONFLATE_TOPIC;
    c->host = host;
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
        conflate_drop(c, MMI_CONTAINER_OF(oldest, conflate_entry, node), MMI_DROP_OVERFLOW);
    }
}

/* Takes m, whose topic is so long. */
static void
conflate_put(mmi_conflate *c, mmi_msg *m, size_t topic_size)
{
    mmi_radix *kept = &c->kept[m->frame_count == 1];
    const uint8_t *topic = m->frames[0].data;
    mmi_radix_node *node = mmi_radix_find(kept, topic, topic_size);
    conflate_entry *entry =
        node != NULL ? *mmi_radix_mark(node) : conflate_add(c, kept, topic, topic_size);
    if (entry == NULL) {   /* no memory */
        mmi_drop(c->host, MMI_DROP_OVERFLOW, m->pipe_id, m);
        return;
    }
    if (entry->msg != NULL) {
        c->bytes -= mmi_msg_cost(entry->msg);
        c->host->stats->dropped_conflated++;   /* as was asked for: no event */
        mmi_msg_unref(entry->msg);
    }
    entry->msg = m;
    c->bytes += mmi_msg_cost(m);
    conflate_bound(c, entry);
}

/* Is it subscribed to?  And how long is its topic? */
static bool
conflate_wants(const mmi_conflate *c, const mmi_radix *topics, const uint8_t *frame, size_t size,
               uint32_t frame_count, size_t *topic_size)
{
    const mmi_radix_node *node = mmi_radix_place(topics, frame, size);
    *topic_size = 0;
    if (node != NULL && c->by_topic) {
        *topic_size = frame_count > 1 ? size : mmi_radix_topic_size(node);
    }
    return node != NULL;
}

static void
conflate_filter(mmi_conflate *c, const mmi_pipe *p)
{
    mmi_drop_count(c->host, MMI_DROP_FILTERED, p->id, 1);
}

static void
conflate_pack(mmi_conflate *c, const mmi_pipe *p, const mmi_span *span, const mmi_radix *topics)
{
    const mmi_pack_in *pack = mmi_pack_in_of(span->msg);
    for (uint32_t i = span->first; i < span->first + span->count; i++) {
        uint32_t frame, frames = mmi_pack_in_frames(pack, i, &frame);
        size_t topic_size, size = pack->offset[frame + 1] - pack->offset[frame];
        if (!conflate_wants(c, topics, pack->data + pack->offset[frame], size, frames,
                            &topic_size)) {
            conflate_filter(c, p);
            continue;
        }
        mmi_msg *m = mmi_pack_in_copy(pack, i);
        if (m == NULL) {
            mmi_drop(c->host, MMI_DROP_OVERFLOW, p->id, NULL);
            continue;
        }
        conflate_put(c, m, topic_size);
    }
}

void
mmi_conflate_take_in(mmi_conflate *c, mmi_pipe *p, const mmi_radix *topics)
{
    mmi_span span;
    while (mmi_pipe_take(p, UINT32_MAX, SIZE_MAX, &span)) {
        mmi_msg *m = span.msg;
        if (mmi_pack_in_of(m) != NULL) {
            conflate_pack(c, p, &span, topics);
            mmi_msg_unref(m);
            continue;
        }
        size_t topic_size;
        if (m->frame_count > 0 && conflate_wants(c, topics, m->frames[0].data, m->frames[0].size,
                                                 m->frame_count, &topic_size)) {
            conflate_put(c, m, topic_size);
        } else {
            conflate_filter(c, p);
            mmi_msg_unref(m);
        }
    }
}

int
mmi_conflate_recv(mmi_conflate *c, mmi_msg **m)
{
    if (mmi_list_empty(&c->queue)) {
        return MM_EAGAIN;
    }
    *m = conflate_rm(c, MMI_CONTAINER_OF(c->queue.next, conflate_entry, node));
    return MM_OK;
}

void
mmi_conflate_sift(mmi_conflate *c, const mmi_radix *topics)
{
    MMI_LIST_EACH(&c->queue, node, after) {
        conflate_entry *entry = MMI_CONTAINER_OF(node, conflate_entry, node);
        const mmi_frame *first = &entry->msg->frames[0];
        if (mmi_radix_place(topics, first->data, first->size) == NULL) {
            conflate_drop(c, entry, MMI_DROP_FILTERED);
        }
    }
}
