/*
 * dist_deferred.c: messages that go where the last one went are encoded behind it and counted; the
 * outboxes get all of them at once, when somebody is about to look (materialize, role/role.h).  So
 * what a message costs its sender does not grow with the number of its subscribers.
 * Not here: what is sent one by one (dist.c).
 * Law: an outbox would take what is deferred for it, by count and by bytes, and takes nothing
 * else before; the topics and the pipes do not change meanwhile.
 */
#include "base/limits.h"
#include "queue/dist.h"

void
mmi_dist_deferred_open(mmi_dist *dist, const mmi_dist_deferred *deferred)
{
    dist->deferred = *deferred;
    dist->deferred.part = (mmi_pipe_part){ .segment = dist->shared, .at = dist->shared->used };
    dist->host->deferred(dist->host);
}

bool
mmi_dist_deferred_send(mmi_dist *dist, mmi_msg *m)
{
    mmi_dist_deferred *deferred = &dist->deferred;
    if (deferred->room_count == 0 || m->kind != MMI_MSG_ONE || m->frame_count == 0 || m->alone) {
        return false;
    }
    mmi_segment_out *segment = dist->shared;
    const mmi_framing *f = segment->framing;
    size_t cost, size = f->size(f, m, &cost);
    if (cost > deferred->room_bytes || size > segment->cap - segment->used ||
        mmi_msg_cost(m) > (size_t)MMI_SEGMENT_BODY_MAX ||
        mmi_pipe_check(deferred->first->pipe, m) != MM_OK ||
        deferred->place != mmi_radix_place(&dist->topics, m->frames[0].data, m->frames[0].size)) {
        return false;
    }
    f->put(f, m, segment->data + segment->used);
    segment->used += size;
    deferred->part.size += size;
    deferred->part.cost += cost;
    deferred->part.count++;
    deferred->room_bytes -= cost;
    deferred->room_count--;
    mmi_msg_unref(m);
    return true;
}

void
mmi_dist_materialize(mmi_dist *dist)
{
    const mmi_pipe_part part = dist->deferred.part;
    mmi_dist_node *node = dist->deferred.first;
    dist->deferred.room_count = 0;
    dist->deferred.part.count = 0;
    for (uint32_t i = 0; part.count > 0 && i < dist->deferred.node_count;
         i++, node = node->seen_next) {
        mmi_pipe *p = node->pipe;
        if (mmi_pipe_share(p, &part) != MM_OK) {   /* no memory */
            mmi_drop_count_of(dist->host, MMI_DROP_OVERFLOW, p, part.count);
        }
    }
}
