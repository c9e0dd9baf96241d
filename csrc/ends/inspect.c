/*
 * ends/inspect.c: what a socket tells about itself: counters, peers, whether all is delivered.
 *
 * Not here: what is told of one connection (link/inspect.c).
 * Law: nothing here changes anything, but peers may be asked for receipts; every figure is exact at
 * the moment it is taken.
 */
#include "ends/ends.h"
#include "link/link.h"
#include "queue/backlog.h"
#include "queue/replays.h"
#include "queue/retained.h"
#include "socket/group.h"

static uint32_t
inspect_count(const mmi_list *list)
{
    uint32_t count = 0;
    MMI_LIST_EACH (list, node, after) {
        count++;
    }
    return count;
}

static void
inspect_backlog(const mmi_socket *s, uint64_t *messages, uint64_t *bytes)
{
    uint64_t size = 0;
    *messages = s->host.back != NULL ? mmi_back_count(s->host.back, &size) : 0;
    *bytes = size;
}

void
mmi_socket_stats_now(mmi_socket *s, mm_stats *out)
{
    *out = s->stats;
    inspect_backlog(s, &out->queued_out_messages, &out->queued_out_bytes);
    uint64_t size = 0;
    if (s->host.back != NULL) {
        out->delayed_messages = s->host.back->delayed.count;
        out->delayed_bytes = s->host.back->delayed.bytes;
        out->delayed_messages += mmi_back_elsewhere(s->host.back, NULL);
        out->missing_peers = mmi_back_missing(s->host.back);
    }
    if (s->host.retained != NULL) {
        out->retained_topics = s->host.retained->count;
        out->retained_bytes = s->host.retained->bytes;
    }
    out->queued_in_messages = s->ops->unclaimed != NULL ? s->ops->unclaimed(s->state, &size) : 0;
    out->queued_in_bytes = size;
    MMI_LIST_EACH (&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (mmi_link_is_peer(link)) {
            mmi_link_inspect_queues(link, out);
        }
    }
    out->peers = s->peer_count;
    out->half_open = s->half_open;
    out->listeners = inspect_count(&s->listeners);
    out->dialers = inspect_count(&s->dialers);
    out->topics = s->ops->topics != NULL ? s->ops->topics(s->state) : 0;
}

uint32_t
mmi_socket_peers(mmi_socket *s, void *out, uint32_t cap)
{
    mm_peer *peers = out;
    uint32_t count = 0;
    MMI_SOCKETS_OF (s, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
            if (mmi_link_is_peer(link) && count++ < cap) {
                mmi_link_inspect(link, &peers[count - 1]);
            }
        }
    }
    return count;
}

/* NULL: it is no peer. */
static const mmi_link *
inspect_link(mmi_socket *s, uint64_t peer)
{
    MMI_SOCKETS_OF (s, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
            if (mmi_link_is_peer(link) && link->pipe.id == peer) {
                return link;
            }
        }
    }
    return NULL;
}

int
mmi_socket_peer_more(mmi_socket *s, uint64_t peer, mmi_octets *metadata, mmi_octets *certificate)
{
    const mmi_link *link = inspect_link(s, peer);
    if (link == NULL) {
        return MM_ESTATE;
    }
    mmi_link_inspect_more(link, metadata, certificate);
    return MM_OK;
}

const char *
mmi_socket_peer_address(mmi_socket *s, uint64_t peer)
{
    const mmi_link *link = inspect_link(s, peer);
    return link != NULL ? link->address : NULL;
}

uint32_t
mmi_socket_attempts(mmi_socket *s, void *out, uint32_t cap)
{
    mm_attempt *attempts = out;
    uint32_t count = 0;
    MMI_LIST_EACH (&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (!mmi_link_is_attempt(link)) {
            continue;
        }
        if (count < cap) {
            mmi_link_inspect_attempt(link, &attempts[count]);
        }
        count++;
    }
    return count;
}

/* What is kept elsewhere is queued, but for what is on its way: `away`, to peers that acknowledge.
 * What others were written is done there. */
static void
inspect_source(const mmi_socket *s, uint64_t away, mm_drain_info *info)
{
    const mmi_replays *replays = s->host.replays;
    if (mmi_replays_on(replays)) {
        info->queued_messages += mmi_replays_left(replays);
    }
    if (s->host.retained != NULL) {
        info->queued_messages += mmi_retained_owed(s->host.retained);
    }
    if (!mmi_back_sourced(s->host.back)) {
        return;
    }
    const mmi_source *source = &s->host.back->receipts.source;
    uint64_t left = source->left(source->arg);
    info->queued_messages = left > away ? left - away : 0;
}

bool
mmi_socket_drain_inspect(mmi_socket *s, mm_drain_info *info)
{
    const mm_stats *st = &s->stats;
    *info = (mm_drain_info){ .confirmed_messages = st->confirmed_messages,
                             .in_doubt_messages = st->in_doubt_messages,
                             .unconfirmable_messages = s->unconfirmable_gone };
    inspect_backlog(s, &info->queued_messages, &info->queued_bytes);
    if (s->host.back != NULL) {
        info->queued_messages += s->host.back->delayed.count;
        info->queued_bytes += s->host.back->delayed.bytes;
    }
    info->dropped_messages = st->dropped_overflow + st->dropped_no_peer + st->dropped_peer_gone +
                             st->dropped_unencodable + st->dropped_expired + st->dropped_attempts +
                             st->dead_messages;
    uint64_t away = 0;
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (mmi_link_is_peer(link)) {
            uint64_t before = info->unconfirmed_messages;
            mmi_link_inspect_drain(link, info);
            away += link->pipe.unacked != NULL ? info->unconfirmed_messages - before : 0;
        }
    }
    inspect_source(s, away, info);
    bool fails = (s->host.back != NULL && mmi_back_failed(s->host.back) != MM_OK) ||
                 mmi_replays_failed(s->host.replays) != MM_OK;
    return fails || (info->queued_messages == 0 && info->unconfirmed_messages == 0);
}

bool
mmi_socket_subscribed_inspect(mmi_socket *s, mm_subscribed_info *info)
{
    *info = (mm_subscribed_info){ .confirmed = 0 };
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (mmi_link_is_peer(link)) {
            mmi_link_inspect_subscribed(link, info);
        }
    }
    return info->waiting == 0;
}
