/*
 * dist_lag.c: messages that go where the last one went are encoded behind it and counted; the
 * outboxes get all of them at once, when somebody is about to look (catch_up, role/role.h).  So
 * what a message costs its sender does not grow with the number of its subscribers.
 * Not here: what is sent one by one (dist.c).
 * Law: an outbox that lags would take what it lags behind, by count and by bytes, and takes nothing
 * else before; the topics and the pipes do not change meanwhile.
 */
#include "base/limits.h"
#include "queue/dist.h"

void
mmi_dist_lag_open(mmi_dist *dist, const mmi_dist_lag *lag)
{
    dist->lag = *lag;
    dist->lag.part = (mmi_pipe_part){.pack = dist->shared, .at = dist->shared->used};
    dist->host->lags(dist->host);
}

bool
mmi_dist_lag_send(mmi_dist *dist, mmi_msg *m)
{
    mmi_dist_lag *lag = &dist->lag;
    if (lag->room_count == 0 || m->kind != MMI_MSG_ONE || m->frame_count == 0) {
        return false;
    }
    mmi_pack_out *pack = dist->shared;
    const mmi_framing *f = pack->framing;
    size_t cost, size = f->size(f, m, &cost);
    if (cost > lag->room_bytes || size > pack->cap - pack->used ||
        mmi_msg_cost(m) > (size_t)MMI_PACK_BODY_MAX ||
        mmi_pipe_check(lag->first->pipe, m) != MM_OK ||
        lag->place != mmi_radix_place(&dist->topics, m->frames[0].data, m->frames[0].size)) {
        return false;
    }
    f->put(f, m, pack->data + pack->used);
    pack->used += size;
    lag->part.size += size;
    lag->part.cost += cost;
    lag->part.count++;
    lag->room_bytes -= cost;
    lag->room_count--;
    mmi_msg_unref(m);
    return true;
}

void
mmi_dist_catch_up(mmi_dist *dist)
{
    const mmi_pipe_part part = dist->lag.part;
    mmi_dist_node *node = dist->lag.first;
    dist->lag.room_count = 0;
    dist->lag.part.count = 0;
    for (uint32_t i = 0; part.count > 0 && i < dist->lag.node_count; i++, node = node->seen_next) {
        mmi_pipe *p = node->pipe;
        if (mmi_pipe_share(p, &part) != MM_OK) {   /* no memory */
            p->dropped += part.count;
            mmi_drop_count(dist->host, MMI_DROP_OVERFLOW, p->id, part.count);
        }
    }
}
