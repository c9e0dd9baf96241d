/*
 * drop.c: the counters and words of the ways to lose a message.
 * Not here: coalescing of events; the engine does that.
 * Law: one call, one count (or as many as messages taken), one event.
 */
#include "queue/drop.h"

static uint64_t *
drop_counter(mm_stats *stats, mmi_drop_why why)
{
    switch (why) {
    case MMI_DROP_OVERFLOW:
    case MMI_DROP_RECV_OVERFLOW:
    case MMI_DROP_REMOVED:
    case MMI_DROP_HARMED:
    case MMI_DROP_UNKEPT:
    case MMI_DROP_MEMORY: return &stats->dropped_overflow;
    case MMI_DROP_NO_PEER: return &stats->dropped_no_peer;
    case MMI_DROP_PEER_GONE: return &stats->dropped_peer_gone;
    case MMI_DROP_CLOSED: return &stats->dropped_closed;
    case MMI_DROP_LATE: return &stats->dropped_late;
    case MMI_DROP_FILTERED: return &stats->dropped_filtered;
    case MMI_DROP_TOO_LARGE:
    case MMI_DROP_PEER_TAKES:
    case MMI_DROP_UNENCODABLE: return &stats->dropped_unencodable;
    case MMI_DROP_EXPIRED: return &stats->dropped_expired;
    case MMI_DROP_ATTEMPTS: return &stats->dropped_attempts;
    case MMI_DROP_MALFORMED:
    case MMI_DROP_NO_ID:
    case MMI_DROP_WHYS: break;
    }
    return &stats->dropped_malformed;
}

/* Each has its own words, by which the engine tells them apart; in brackets are the options that
 * say what is to become of such a message. */
static const char *const drop_texts[] = {
    [MMI_DROP_OVERFLOW] = "queue full (send_queue_messages, send_queue_bytes, overflow)",
    [MMI_DROP_RECV_OVERFLOW] = "receive queue full (recv_queue_messages, recv_queue_bytes)",
    [MMI_DROP_MEMORY] = "no memory for it",
    [MMI_DROP_REMOVED] = "removed from its spool before it was sent (overflow, max_age, trim)",
    [MMI_DROP_HARMED] = "harmed in its spool (on_corruption)",
    [MMI_DROP_UNKEPT] = "the spool is full (max_bytes, max_messages, overflow)",
    [MMI_DROP_TOO_LARGE] = "larger than what this socket sends (message_size_max, frames_max)",
    [MMI_DROP_PEER_TAKES] = "larger than the peer says it takes (its message_size_max, frames_max)",
    [MMI_DROP_NO_PEER] = "no peer to send to",
    [MMI_DROP_PEER_GONE] = "the peer is gone",
    [MMI_DROP_CLOSED] = "the socket was closed",
    [MMI_DROP_LATE] = "nobody waits for this reply",
    [MMI_DROP_FILTERED] = "not subscribed any more",
    [MMI_DROP_MALFORMED] = "not what this role expects",
    [MMI_DROP_NO_ID] = "an answer without the id of its request: who answers must send back all "
                       "frames in front of the empty one",
    [MMI_DROP_EXPIRED] = "its time was over (ttl)",
    [MMI_DROP_ATTEMPTS] = "handed out as often as it may be (max_attempts)",
    [MMI_DROP_UNENCODABLE] = "the peer's wire has no words for it",
};
static const char drop_text_alone[] = "no peer to send to (no_peer, overflow)";

void
mmi_drop_count(mmi_proto_host *host, mmi_drop_why why, uint64_t peer, uint64_t count)
{
    *drop_counter(host->stats, why) += count;
    int kind = why == MMI_DROP_LATE ? MM_EVENT_LATE_REPLY : MM_EVENT_DROPPED;
    bool alone = why == MMI_DROP_NO_PEER && host->alone;
    host->event(host, kind, MM_REASON_NONE, peer, count, alone ? drop_text_alone : drop_texts[why]);
}

void
mmi_drop(mmi_proto_host *host, mmi_drop_why why, uint64_t peer, mmi_msg *m)
{
    uint32_t count = m != NULL ? m->count : 1;
    mmi_drop_count(host, why, peer, count);
    mmi_msg_unref(m);
}

void
mmi_drop_of(mmi_proto_host *host, mmi_drop_why why, mmi_pipe *p, mmi_msg *m)
{
    mmi_drop_count_of(host, why, p, m != NULL ? m->count : 1);
    mmi_msg_unref(m);
}

void
mmi_drop_count_of(mmi_proto_host *host, mmi_drop_why why, mmi_pipe *p, uint64_t count)
{
    if (p != NULL) {
        p->dropped += count;
    }
    mmi_drop_count(host, why, p != NULL ? p->id : 0, count);
}

void
mmi_drop_expired(mmi_proto_host *host, mmi_pipe *p, mmi_msg *m)
{
    mmi_drop_of(host, MMI_DROP_EXPIRED, p, m);
}

void
mmi_drop_inbox(mmi_proto_host *host, mmi_pipe *p)
{
    mmi_msg *m;
    while ((m = mmi_pipe_recv(p)) != NULL) {
        mmi_drop_of(host, MMI_DROP_MALFORMED, p, m);
    }
}

void
mmi_drop_ring(mmi_proto_host *host, mmi_ring *r)
{
    mmi_msg *m;
    while ((m = mmi_ring_pop(r)) != NULL) {
        mmi_drop(host, MMI_DROP_CLOSED, 0, m);
    }
    mmi_ring_fini(r);
}

bool
mmi_drop_overflows(const mmi_proto_host *host)
{
    return host->opts->overflow == MM_OVERFLOW_DROP_NEWEST ||
           host->opts->overflow == MM_OVERFLOW_DROP_OLDEST;
}
