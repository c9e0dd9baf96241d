/*
 * notices.c: one notice for a topic (or, each, for a topic and a peer), from its first change until
 * the user knows again what is so.
 * Not here: who subscribes (pub.c).
 * Law: a notice keeps its node; it is the mark of the node (each: what its subscriber's map has for
 * the node, until that left), and is freed once its topic is cancelled and the user knows, or was
 * never told.  So of a topic (each: and a subscriber) there is one at most.
 */
#include "queue/notices.h"

#include <string.h>

#include "base/limits.h"

typedef struct mmi_notice {
    mmi_list node, passing;    /* in the queue; in passing */
    mmi_radix_node *topic;
    mmi_notices_own *own;      /* each: NULL once its subscriber left */
    uint64_t pipe_ids[2];      /* who cancelled last, who subscribed last */
    mmi_known *known[2];       /* whom they are known as                  */
    uint8_t changes;           /* to be told, 2 at most                   */
    bool told;                 /* the user takes it for subscribed        */
} mmi_notice;

void
mmi_notices_init(mmi_notices *n, mmi_radix *topics, bool each)
{
    *n = (mmi_notices){ .topics = topics, .each = each };
    mmi_list_init(&n->queue);
    mmi_list_init(&n->passing);
}

static void
notice_end(mmi_notice *notice)
{
    mmi_known_unref(notice->known[0]);
    mmi_known_unref(notice->known[1]);
    mmi_free(notice);
}

void
mmi_notices_fini(mmi_notices *n)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&n->queue)) != NULL) {
        notice_end(MMI_CONTAINER_OF(node, mmi_notice, node));
    }
}

static void
notice_stays(mmi_notices *n, mmi_notice *notice)
{
    if (mmi_list_linked(&notice->passing)) {
        mmi_list_rm(&notice->passing);
        n->passing_count--;
        n->passing_bytes -= mmi_radix_topic_size(notice->topic);
    }
}

static uint64_t
notice_key(const mmi_radix_node *node)
{
    return (uint64_t)(uintptr_t)node;
}

static mmi_notice *
notice_find(const mmi_notices *n, mmi_radix_node *node, const mmi_notices_own *own)
{
    return n->each ? mmi_map_find(&own->by_node, notice_key(node)) : *mmi_radix_mark(node);
}

/* There is nothing to tell of it, and nothing was. */
static void
notice_free(mmi_notices *n, mmi_notice *notice)
{
    notice_stays(n, notice);
    mmi_list_rm(&notice->node);
    if (!n->each) {
        *mmi_radix_mark(notice->topic) = NULL;
    } else if (notice->own != NULL) {
        (void)mmi_map_rm(&notice->own->by_node, notice_key(notice->topic));
    }
    mmi_radix_release(notice->topic);
    notice_end(notice);
}

static void
notice_passes(mmi_notices *n, mmi_notice *notice)
{
    mmi_list_push_back(&n->passing, &notice->passing);
    n->passing_count++;
    n->passing_bytes += mmi_radix_topic_size(notice->topic);
    while (n->passing_count > MMI_NOTICES_MAX || n->passing_bytes > MMI_SUBSCRIPTION_BYTES_MAX) {
        notice_free(n, MMI_CONTAINER_OF(n->passing.next, mmi_notice, passing));
    }
}

static void
notice_changed(mmi_notices *n, mmi_notice *notice, bool add, const mmi_pipe *pipe)
{
    notice->pipe_ids[add] = pipe->id;
    mmi_known_unref(notice->known[add]);
    notice->known[add] = mmi_known_ref(pipe->known);
    notice->changes = notice->changes == 2 ? 1 : notice->changes + 1;
    if (!mmi_list_linked(&notice->node)) {
        mmi_list_push_back(&n->queue, &notice->node);
    }
    notice_stays(n, notice);
    if (notice->changes == 2 && !notice->told) {
        notice_passes(n, notice);
    }
}

/* NULL: no memory. */
static mmi_notice *
notice_new(const mmi_notices *n, mmi_radix_node *node, mmi_notices_own *own)
{
    mmi_notice *notice = mmi_alloc(sizeof(*notice));
    if (notice == NULL) {
        return NULL;
    }
    if (!n->each) {
        *mmi_radix_mark(node) = notice;
    } else if (mmi_map_put(&own->by_node, notice_key(node), notice) == MM_OK) {
        notice->own = own;
    } else {
        mmi_free(notice);
        return NULL;
    }
    mmi_list_init(&notice->node);
    mmi_list_init(&notice->passing);
    notice->topic = node;
    mmi_radix_keep(node);
    return notice;
}

int
mmi_notices_added(mmi_notices *n, mmi_radix_node *node, mmi_notices_own *own, bool first,
                  const mmi_pipe *pipe)
{
    if (!n->each && !first) {
        return MM_OK;
    }
    mmi_notice *notice = notice_find(n, node, own);
    if (notice == NULL) {
        notice = notice_new(n, node, own);
    }
    if (notice == NULL) {
        return MM_ENOMEM;
    }
    notice_changed(n, notice, true, pipe);
    return MM_OK;
}

void
mmi_notices_removed(mmi_notices *n, mmi_radix_node *node, mmi_notices_own *own, bool last,
                    const mmi_pipe *pipe)
{
    if (n->each || last) {
        notice_changed(n, notice_find(n, node, own), false, pipe);
    }
}

void
mmi_notices_left(mmi_notices_own *own)
{
    for (uint32_t i = 0; i < own->by_node.cap; i++) {
        mmi_notice *notice = own->by_node.slots[i].value;
        if (notice != NULL) {
            notice->own = NULL;
        }
    }
    mmi_map_fini(&own->by_node);
}

int
mmi_notices_take(mmi_notices *n, mmi_msg **m)
{
    if (mmi_list_empty(&n->queue)) {
        return MM_EAGAIN;
    }
    mmi_notice *notice = MMI_CONTAINER_OF(n->queue.next, mmi_notice, node);
    size_t size;
    const uint8_t *topic = mmi_radix_topic(n->topics, notice->topic, &size);
    const uint64_t frame_size = (uint64_t)size + 1;
    *m = mmi_msg_new(&frame_size, 1);
    if (*m == NULL) {
        return MM_ENOMEM;
    }
    bool add = !notice->told;
    mmi_msg_data(*m, 0)[0] = add;
    if (size > 0) {
        memcpy(mmi_msg_data(*m, 0) + 1, topic, size);
    }
    mmi_msg_from(*m, notice->pipe_ids[add], notice->known[add]);
    notice_stays(n, notice);
    mmi_list_rm(&notice->node);
    notice->told = add;
    if (--notice->changes > 0) {
        mmi_list_push_back(&n->queue, &notice->node);   /* behind what others have to tell */
    } else if (!add) {
        notice_free(n, notice);
    }
    return MM_OK;
}
