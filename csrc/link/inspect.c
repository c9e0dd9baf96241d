/*
 * link/inspect.c: what is told of one connection: of a peer, or of an attempt to have one.
 *
 * Not here: sums over those of a socket (ends/inspect.c).
 * Law: nothing here changes anything, but the peer may be asked for a receipt.
 */
#include <stdio.h>
#include <string.h>

#include "crypto/z85.h"
#include "link/inside.h"
#include "link/shield.h"
#include "queue/acks.h"
#include "queue/unacked.h"
#include "socket/group.h"

/* What came from that peer and was not received: the inbox, and the one without room there. */
static uint32_t
inspect_inbox(const mmi_link *link, uint64_t *bytes)
{
    const mmi_ring *in = &link->pipe.inbox;
    *bytes = in->bytes + (link->unqueued != NULL ? mmi_msg_cost(link->unqueued) : 0);
    return in->count + (link->unqueued != NULL);
}

/* Messages that are not acknowledged: by it, or by us to it. */
static uint64_t
inspect_unacked(const mmi_pipe *p)
{
    if (p->unacked != NULL) {
        return mmi_unacked_count(p->unacked);
    }
    return p->acks != NULL ? p->acks->received - p->acks->done.count : 0;
}

void
mmi_link_inspect_queues(const mmi_link *link, mm_stats *out)
{
    uint64_t in_bytes;
    out->unacked_messages += inspect_unacked(&link->pipe);
    out->queued_out_messages += link->pipe.outbox.count;
    out->queued_out_bytes += link->pipe.outbox.bytes;
    out->queued_in_messages += inspect_inbox(link, &in_bytes);
    out->queued_in_bytes += in_bytes;
}

/* MM_STOP_: what we asked the peer for, or it us. */
static uint32_t
inspect_stop(const mmi_link *link)
{
    if (link->retiring != NULL) {
        return MM_STOP_LEFT;
    }
    if (link->stopping != MM_STOP_NONE || !link->pipe.stopped) {
        return link->stopping;
    }
    return mmi_link_leaves(link) ? MM_STOP_LEFT : MM_STOP_ITSELF;
}

/* MM_SUBSCRIBED_.  An engine of meshmsg hands subscriptions to the socket before it answers a PING
 * behind them; that of libzmq does not.  Who is told no topics sends everything, but NNG says its
 * hello before it has the connection among its peers: nothing tells when it has. */
static uint32_t
inspect_subscribed(const mmi_link *link)
{
    if (link->socket->ops->subscribe == NULL) {
        return MM_SUBSCRIBED_NONE;
    }
    if (!link->wire->tells_topics) {
        return MM_SUBSCRIBED_WRITTEN;
    }
    if (link->wire->beats && link->asked == link->asked_confirmed) {
        return link->features[0] != '\0' ? MM_SUBSCRIBED_CERTAIN : MM_SUBSCRIBED_PROBABLE;
    }
    bool written = !link->wire->beats && link->command_size == 0 && link->command_out == NULL;
    return written ? MM_SUBSCRIBED_WRITTEN : MM_SUBSCRIBED_WAITING;
}

/* The group that it is a member of here, or that this side is one of there. */
static const char *
inspect_group(const mmi_link *link)
{
    const mmi_socket *s = link->socket;
    return s->group != NULL ? s->group->name : mmi_member_can(link) ? s->member_of : "";
}

static void
inspect_protection(const mmi_link *link, mm_peer *out)
{
    mmi_applicant who;
    bool known = mmi_link_shield_who(link, &who);
    mmi_mechanism_names(link->socket->outer, link->socket->mechanism, out->mechanism,
                        sizeof out->mechanism);
    if (known && who.key.size == MMI_KEY_OCTETS) {
        mmi_z85_encode(out->key, who.key.data);
    }
    if (known && who.version != NULL && who.cipher != NULL) {
        snprintf(out->tls_version, sizeof out->tls_version, "%s", who.version);
        snprintf(out->cipher, sizeof out->cipher, "%s", who.cipher);
    }
    mmi_octets metadata, certificate;
    mmi_link_inspect_more(link, &metadata, &certificate);
    out->metadata_size = (uint32_t)metadata.size;
    out->certificate_size = (uint32_t)certificate.size;
}

void
mmi_link_inspect_more(const mmi_link *link, mmi_octets *metadata, mmi_octets *certificate)
{
    const mmi_known *known = link->pipe.known;
    mmi_applicant who;
    (void)mmi_link_shield_who(link, &who);
    *certificate = who.certificate;
    *metadata = known == NULL
                    ? (mmi_octets){ .data = NULL }
                    : (mmi_octets){ .data = known->metadata, .size = known->metadata_size };
}

void
mmi_link_inspect(const mmi_link *link, mm_peer *out)
{
    const mmi_pipe *p = &link->pipe;
    uint64_t in_bytes = 0;
    uint32_t in_count = inspect_inbox(link, &in_bytes);
    *out = (mm_peer){
        .id = p->id,
        .since_ns = link->wall_ns,
        .role = (uint32_t)p->peer_role,
        .wire = (uint32_t)link->wire->id,
        .zmtp_minor = link->wire->minor,
        .stop = inspect_stop(link),
        .meshmsg = link->features[0] != '\0',
        .subscribed = inspect_subscribed(link),
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
        .takes_meta = p->takes_meta,
        .takes_bytes = p->takes_size,
        .takes_frames = p->takes_frames,
        .acks = p->unacked != NULL || p->acks != NULL,
        .finished = link->end_out == MMI_END_TOLD || link->end_came,
        .unacked_messages = inspect_unacked(p),
        .rtt_ns = link->rtt_ns,
        .stalled = mmi_silence_stalled(link),
        .uid = mmi_link_uid(link),
    };
    if (p->identity_size > 0) {
        memcpy(out->identity, p->identity, p->identity_size);
    }
    snprintf(out->endpoint, sizeof out->endpoint, "%s", link->endpoint);
    snprintf(out->address, sizeof out->address, "%s", link->address);
    snprintf(out->user_id, sizeof out->user_id, "%s", p->known != NULL ? p->known->user_id : "");
    snprintf(out->group, sizeof out->group, "%s", inspect_group(link));
    inspect_protection(link, out);
}

void
mmi_link_inspect_attempt(const mmi_link *link, mm_attempt *out)
{
    *out = (mm_attempt){ .id = link->pipe.id,
                         .age_ns = link->engine->now_ns - link->started_ns,
                         .octets = link->handshake != NULL ? link->handshake->heard : 0,
                         .outgoing = link->pipe.outgoing,
                         .connected = link->state == MMI_LINK_HELLO };
    snprintf(out->endpoint, sizeof out->endpoint, "%s", link->endpoint);
    snprintf(out->address, sizeof out->address, "%s", link->address);
}

void
mmi_link_inspect_drain(mmi_link *link, mm_drain_info *info)
{
    info->queued_messages += link->pipe.outbox.count;
    info->queued_bytes += link->pipe.outbox.bytes;
    if (!link->wire->beats) {
        info->unconfirmable_messages += link->written;
        return;
    }
    info->unconfirmed_messages += link->written - link->confirmed;
    if (link->written != link->confirmed && link->pipe.outbox.count == 0) {
        mmi_heartbeat_ping(link);
    }
}

void
mmi_link_inspect_subscribed(mmi_link *link, mm_subscribed_info *info)
{
    if (link->pipe.stopped) {
        return;
    }
    uint32_t known = inspect_subscribed(link);
    info->confirmed += known == MM_SUBSCRIBED_CERTAIN;
    info->probable += known == MM_SUBSCRIBED_PROBABLE;
    info->unconfirmable += known == MM_SUBSCRIBED_WRITTEN;
    if (known == MM_SUBSCRIBED_WAITING) {
        info->waiting++;
        mmi_heartbeat_ping(link);
    }
}
