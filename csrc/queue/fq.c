/*
 * fq.c: fair queueing over a list of pipes with input.
 * Not here: what the messages mean.
 * Law: a message is in one place: an inbox, left, or the caller's hands.
 */
#include "queue/fq.h"

enum { FQ_TURN = 64 };   /* messages of a segment a peer may give while others wait */

#include "base/limits.h"

void
mmi_fq_init(mmi_fq *fq, const mm_socket_opts *opts)
{
    size_t bytes_max = MMI_LEFT_BYTES_MAX;
    if (opts->recv_queue_bytes > bytes_max) {
        bytes_max = (size_t)opts->recv_queue_bytes;
    }
    uint32_t count_max = MMI_LEFT_MESSAGES_MAX;
    if (opts->recv_queue_messages > count_max) {
        count_max = opts->recv_queue_messages;
    }
    mmi_list_init(&fq->active);
    mmi_ring_init(&fq->left, count_max, bytes_max);
}

void
mmi_fq_fini(mmi_fq *fq, mmi_proto_host *host)
{
    mmi_drop_ring(host, &fq->left);
}

void
mmi_fq_add(mmi_fq *fq, mmi_fq_node *node, mmi_pipe *pipe)
{
    (void)fq;
    mmi_list_init(&node->node);
    node->pipe = pipe;
}

/* Takes the front of the inbox over into left; false: it stays. */
static bool
fq_keep_one(mmi_fq *fq, mmi_pipe *p, mmi_fq_keep keep)
{
    /* A keep adds an identity at most. */
    const size_t wrapping = MM_IDENTITY_MAX + MMI_FRAME_OVERHEAD;
    mmi_msg *m = mmi_ring_at(&p->inbox, 0);
    bool fits = m->kind == MMI_MSG_ONE ? mmi_ring_fits(&fq->left, mmi_msg_cost(m) + wrapping)
                                       : mmi_ring_fits_entry(&fq->left, m);
    if (!fits || mmi_ring_reserve(&fq->left) != MM_OK) {
        return false;
    }
    mmi_msg *kept = keep(p, m);
    if (kept == NULL) {
        return false;
    }
    (void)mmi_ring_pop(&p->inbox);
    p->handed += kept->count;
    int rc = mmi_ring_push(&fq->left, kept);
    MMI_ASSERT(rc == MM_OK);
    return true;
}

void
mmi_fq_rm(mmi_fq *fq, mmi_fq_node *node, mmi_fq_keep keep)
{
    mmi_list_rm(&node->node);
    while (keep != NULL && node->pipe->inbox.count > 0) {
        if (!fq_keep_one(fq, node->pipe, keep)) {
            return;
        }
    }
}

mmi_msg *
mmi_fq_keep_all(mmi_pipe *pipe, mmi_msg *m)
{
    (void)pipe;
    return m;
}

void
mmi_fq_in(mmi_fq *fq, mmi_fq_node *node)
{
    if (!mmi_list_linked(&node->node) && node->pipe->inbox.count > 0) {
        mmi_list_push_back(&fq->active, &node->node);
    }
}

/* NULL: none has input.  A socket that closes drops what is in the inboxes, all of them at once,
 * before its pipes go one by one. */
static mmi_fq_node *
fq_front(const mmi_fq *fq)
{
    for (mmi_list *at = fq->active.next; at != &fq->active; at = at->next) {
        mmi_fq_node *node = MMI_CONTAINER_OF(at, mmi_fq_node, node);
        if (node->pipe->inbox.count > 0) {
            return node;
        }
    }
    return NULL;
}

bool
mmi_fq_ready(const mmi_fq *fq)
{
    return fq->left.count > 0 || fq_front(fq) != NULL;
}

mmi_msg *
mmi_fq_peek(const mmi_fq *fq, mmi_pipe **from)
{
    *from = NULL;
    if (fq->left.count > 0) {
        return mmi_ring_at(&fq->left, 0);
    }
    mmi_fq_node *front = fq_front(fq);
    if (front == NULL) {
        return NULL;
    }
    *from = front->pipe;
    return mmi_ring_at(&(*from)->inbox, 0);
}

mmi_msg *
mmi_fq_pop(mmi_fq *fq)
{
    if (fq->left.count > 0) {
        return mmi_ring_pop_one(&fq->left);
    }
    mmi_fq_node *front = fq_front(fq);
    if (front == NULL) {
        return NULL;
    }
    mmi_msg *m = mmi_pipe_recv(front->pipe);
    mmi_list_rm(&front->node);
    mmi_fq_in(fq, front);
    return m;
}

int
mmi_fq_recv(mmi_fq *fq, mmi_msg **m)
{
    *m = mmi_fq_pop(fq);
    if (*m == NULL) {
        return mmi_fq_ready(fq) ? MM_ENOMEM : MM_EAGAIN;
    }
    return MM_OK;
}

int
mmi_fq_take(mmi_fq *fq, uint32_t max_messages, size_t max_bytes, mmi_span *out)
{
    if (mmi_ring_take(&fq->left, max_messages, max_bytes, out)) {
        return MM_OK;
    }
    mmi_fq_node *front = fq_front(fq);
    if (front == NULL) {
        return MM_EAGAIN;
    }
    bool alone = front->node.next == front->node.prev;
    uint32_t turn = alone || max_messages < FQ_TURN ? max_messages : (uint32_t)FQ_TURN;
    (void)mmi_pipe_take(front->pipe, turn, max_bytes, out);
    mmi_list_rm(&front->node);
    mmi_fq_in(fq, front);
    return MM_OK;
}

mmi_msg *
mmi_fq_front(const mmi_fq *fq, uint32_t *first)
{
    mmi_pipe *from;
    mmi_msg *m = mmi_fq_peek(fq, &from);
    mmi_segment_in *segment = m != NULL ? mmi_segment_in_of(m) : NULL;
    *first = segment != NULL ? segment->first : 0;
    return m;
}

uint32_t
mmi_fq_unclaimed(const mmi_fq *fq, uint64_t *bytes)
{
    *bytes = fq->left.bytes;
    return fq->left.count;
}
