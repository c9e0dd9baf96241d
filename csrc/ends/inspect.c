/*
 * ends/inspect.c: what a socket tells about itself: counters, peers, whether all is delivered.
 *
 * Law: nothing here changes anything, but peers may be asked for receipts; every figure is exact at
 * the moment it is taken.
 */
#include <stdio.h>
#include <string.h>

#include "ends/ends.h"
#include "link/link.h"

static uint32_t
look_count(const mmi_list *list)
{
    uint32_t count = 0;
    MMI_LIST_EACH(list, node, after) {
        count++;
    }
    return count;
}

static void
look_backlog(const mmi_socket *s, uint64_t *messages, uint64_t *bytes)
{
    uint64_t held = 0;
    *messages = s->ops->backlog != NULL ? s->ops->backlog(s->state, &held) : 0;
    *bytes = held;
}

/* What came from that peer and was not received: the inbox, and the one without room there. */
static uint32_t
look_inbox(const mmi_link *link, uint64_t *bytes)
{
    const mmi_ring *in = &link->pipe.inbox;
    *bytes = in->bytes + (link->held != NULL ? mmi_msg_cost(link->held) : 0);
    return in->count + (link->held != NULL);
}

void
mmi_socket_stats_now(mmi_socket *s, mm_stats *out)
{
    *out = s->stats;
    look_backlog(s, &out->queued_out_messages, &out->queued_out_bytes);
    uint64_t held = 0;
    out->queued_in_messages = s->ops->held != NULL ? s->ops->held(s->state, &held) : 0;
    out->queued_in_bytes = held;
    MMI_LIST_EACH(&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state != MMI_LINK_ACTIVE) {
            continue;
        }
        out->queued_out_messages += link->pipe.outbox.count;
        out->queued_out_bytes += link->pipe.outbox.bytes;
        out->queued_in_messages += look_inbox(link, &held);
        out->queued_in_bytes += held;
    }
    out->peers = s->peer_count;
    out->half_open = s->half_open;
    out->listeners = look_count(&s->listeners);
    out->dialers = look_count(&s->dialers);
    out->topics = s->ops->topics != NULL ? s->ops->topics(s->state) : 0;
}

/* MM_STOP_: what we asked the peer for, or it us. */
static uint32_t
look_stop(const mmi_link *link)
{
    if (link->stopping != MM_STOP_NONE || !link->pipe.stopped) {
        return link->stopping;
    }
    return link->leaving ? MM_STOP_LEFT : MM_STOP_ITSELF;
}

/* MM_SUBSCRIBED_.  An engine of meshmsg hands subscriptions to the socket before it answers a PING
 * behind them; that of libzmq does not. */
static uint32_t
look_subscribed(const mmi_link *link)
{
    if (link->socket->ops->subscribe == NULL) {
        return MM_SUBSCRIBED_NONE;
    }
    if (!link->wire->tells_topics) {
        return MM_SUBSCRIBED_CERTAIN;
    }
    if (link->wire->beats && link->asked == link->asked_confirmed) {
        return link->features[0] != '\0' ? MM_SUBSCRIBED_CERTAIN : MM_SUBSCRIBED_PROBABLE;
    }
    bool written = !link->wire->beats && link->command_size == 0 && link->command_out == NULL;
    return written ? MM_SUBSCRIBED_WRITTEN : MM_SUBSCRIBED_WAITING;
}

static void
look_peer(const mmi_link *link, mm_peer *out)
{
    const mmi_pipe *p = &link->pipe;
    uint64_t in_bytes = 0;
    uint32_t in_count = look_inbox(link, &in_bytes);
    *out = (mm_peer){
        .id = p->id,
        .since_ns = link->wall_ns,
        .role = (uint32_t)p->peer_role,
        .wire = (uint32_t)link->wire->id,
        .zmtp_minor = link->wire->minor,
        .stop = look_stop(link),
        .meshmsg = link->features[0] != '\0',
        .subscribed = look_subscribed(link),
        .outgoing = p->outgoing,
        .identity_size = (uint32_t)p->identity_size,
        .queued_out_messages = p->outbox.count,
        .queued_out_bytes = p->outbox.bytes,
        .queued_in_messages = in_count,
        .queued_in_bytes = in_bytes,
        .sent_messages = link->written,
        .received_messages = link->parsed,
        .dropped_messages = p->dropped,
        .confirmed_messages = link->confirmed,
        .subscriptions = p->subscriptions,
        .rtt_ns = link->rtt_ns,
        .stalled = mmi_silence_stalled(link),
    };
    if (p->identity_size > 0) {
        memcpy(out->identity, p->identity, p->identity_size);
    }
    snprintf(out->endpoint, sizeof out->endpoint, "%s", link->endpoint);
    snprintf(out->address, sizeof out->address, "%s", link->address);
}

uint32_t
mmi_socket_peers(mmi_socket *s, mm_peer *out, uint32_t cap)
{
    uint32_t count = 0;
    MMI_LIST_EACH(&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state != MMI_LINK_ACTIVE) {
            continue;
        }
        if (count < cap) {
            look_peer(link, &out[count]);
        }
        count++;
    }
    return count;
}

uint32_t
mmi_socket_attempts(mmi_socket *s, mm_attempt *out, uint32_t cap)
{
    uint32_t count = 0;
    MMI_LIST_EACH(&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state != MMI_LINK_CONNECTING && link->state != MMI_LINK_HELLO) {
            continue;
        }
        if (count < cap) {
            mm_attempt *at = &out[count];
            *at = (mm_attempt){ .id = link->pipe.id,
                                .age_ns = s->engine->now_ns - link->started_ns,
                                .octets = link->opening != NULL ? link->opening->heard : 0,
                                .outgoing = link->pipe.outgoing,
                                .connected = link->state == MMI_LINK_HELLO };
            snprintf(at->endpoint, sizeof at->endpoint, "%s", link->endpoint);
            snprintf(at->address, sizeof at->address, "%s", link->address);
        }
        count++;
    }
    return count;
}

bool
mmi_socket_drain_look(mmi_socket *s, mm_drain_info *info)
{
    const mm_stats *st = &s->stats;
    *info = (mm_drain_info){ .confirmed_messages = st->confirmed_messages,
                             .in_doubt_messages = st->in_doubt_messages,
                             .unconfirmable_messages = s->unconfirmable_gone };
    look_backlog(s, &info->queued_messages, &info->queued_bytes);
    info->dropped_messages =
        st->dropped_overflow + st->dropped_no_peer + st->dropped_peer_gone + st->dropped_unfit;
    MMI_LIST_EACH(&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state != MMI_LINK_ACTIVE) {
            continue;
        }
        info->queued_messages += link->pipe.outbox.count;
        info->queued_bytes += link->pipe.outbox.bytes;
        if (!link->wire->beats) {
            info->unconfirmable_messages += link->written;
        } else {
            info->unconfirmed_messages += link->written - link->confirmed;
            if (link->written != link->confirmed && link->pipe.outbox.count == 0) {
                mmi_heartbeat_ping(link);
            }
        }
    }
    return info->queued_messages == 0 && info->unconfirmed_messages == 0;
}

bool
mmi_socket_subscribed_look(mmi_socket *s, mm_subscribed_info *info)
{
    *info = (mm_subscribed_info){ .confirmed = 0 };
    MMI_LIST_EACH(&s->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->state != MMI_LINK_ACTIVE || link->pipe.stopped) {
            continue;
        }
        uint32_t known = look_subscribed(link);
        info->confirmed += known == MM_SUBSCRIBED_CERTAIN;
        info->probable += known == MM_SUBSCRIBED_PROBABLE;
        info->unconfirmable += known == MM_SUBSCRIBED_WRITTEN;
        if (known == MM_SUBSCRIBED_WAITING) {
            info->waiting++;
            mmi_heartbeat_ping(link);
        }
    }
    return info->waiting == 0;
}
