/*
 * link/told.c: what is told of a connection that the peer ends, or that does not do what it should:
 * to us, that its handshake takes long, or why it was given up; to the peer, which rule it broke.
 *
 * Not here: its end (link/end.c), what that leaves (link/left.c), the words for one in the
 * handshake (wire/handshake.c).
 * Law: a peer is told nothing that its wire has no words for, or in the middle of a message.
 */
#include "link/inside.h"
#include "link/shield.h"

#include <stdio.h>

enum { TOLD_SPAN_CAP = 32, TOLD_MS_PER_S = 1000, TOLD_NS_PER_MS = 1000000 };

/* A time as it is to be read: "15 s", "0.250 s". */
static const char *
told_span(char *out, uint64_t ms)
{
    unsigned long long s = ms / TOLD_MS_PER_S, rest = ms % TOLD_MS_PER_S;
    if (rest == 0) {
        snprintf(out, TOLD_SPAN_CAP, "%llu s", s);
    } else {
        snprintf(out, TOLD_SPAN_CAP, "%llu.%03llu s", s, rest);
    }
    return out;
}

void
mmi_told_hung(const mmi_link *link, bool by_ttl, char *out, size_t cap)
{
    char silent[TOLD_SPAN_CAP], limit[TOLD_SPAN_CAP];
    told_span(silent, (link->engine->now_ns - link->last_in_ns) / TOLD_NS_PER_MS);
    if (!by_ttl) {
        snprintf(out, cap, "silent for %s: heartbeat_timeout is %s", silent,
                 told_span(limit, link->socket->opts.heartbeat_timeout_ms));
        return;
    }
    /* A peer of ours keeps its promises while it lives; of others, the options of libzmq. */
    bool of_ours = link->features[0] != '\0';
    snprintf(out, cap, "silent for %s, over the ttl of %s that its own PING promised%s", silent,
             told_span(limit, link->peer_ttl_ms),
             of_ours ? "" : "; its HEARTBEAT_IVL must be below its HEARTBEAT_TTL");
}

void
mmi_told_gone(const mmi_link *link, bool by_ttl, char *out, size_t cap)
{
    char limit[TOLD_SPAN_CAP];
    uint32_t ms = by_ttl ? link->peer_ttl_ms : link->socket->opts.heartbeat_timeout_ms;
    snprintf(out, cap, "silent, and its machine does not answer either: %s is %s",
             by_ttl ? "the ttl of its PING" : "heartbeat_timeout", told_span(limit, ms));
}

/* The front message stands alone and was begun: its size is known. */
static bool
told_begun(const mmi_link *link)
{
    const mmi_ring *outbox = &link->pipe.outbox;
    return link->msg_offset > 0 && outbox->slot_count > 0 &&
           mmi_segment_out_of(mmi_ring_at(outbox, 0)) == NULL;
}

void
mmi_link_reset(mmi_link *link)
{
    char begun[MM_DETAIL_MAX + 1] = "";
    char detail[3 * MM_DETAIL_MAX]; /* an event takes what fits */
    const char *guess = "";
    bool of_ours = link->features[0] != '\0'; /* those say why they end a connection */
    bool cut = told_begun(link);
    bool pinged = link->pinged && mmi_link_pending(link); /* it took no more */
    if (link->state == MMI_LINK_ACTIVE && mmi_tx_is_writing(link)) {
        mmi_link_close(link, MM_REASON_RESET, NULL); /* its writer comes here, too */
        return;
    }
    if (cut) {
        snprintf(begun, sizeof begun, " after %llu of %llu octet%s of a message",
                 (unsigned long long)link->msg_offset, (unsigned long long)link->msg_size,
                 mmi_plural(link->msg_size));
    }
    if (!of_ours && cut) {
        guess = pinged ? ": its MAXMSGSIZE or HEARTBEAT_TIMEOUT may be why"
                       : ": it may limit the size of messages";
    } else if (!of_ours && pinged) {
        guess = "; it sends PINGs of its own: if it reads slowly, its HEARTBEAT_TIMEOUT may be why";
    }
    snprintf(detail, sizeof detail, "%s%s%s", mm_reason_text(MM_REASON_RESET), begun, guess);
    mmi_link_close(link, MM_REASON_RESET, detail);
}

void
mmi_link_read_ended(mmi_link *link, int64_t n, bool discard)
{
    if (n < 0) {
        mmi_link_reset(link);
        return;
    }
    bool clean = discard || (mmi_parser_idle(&link->parser) && link->tail_size == 0 &&
                             mmi_link_shield_idle(link));
    const mmi_mechanism *m = link->shield != NULL ? link->shield->of.mechanism : NULL;
    char detail[MM_DETAIL_MAX + 1] = "";
    if (clean && m != NULL && m->closed != NULL && !m->closed(link->shield->of.self)) {
        snprintf(detail, sizeof detail,
                 "closed without a word of %s that it ends: the peer crashed, or somebody cut it",
                 m->name);
    }
    mmi_link_close(link, clean ? MM_REASON_EOF : MM_REASON_EOF_MID_MESSAGE,
                   detail[0] != '\0' ? detail : NULL);
}

uint64_t
mmi_link_patience_ns(const mmi_link *link)
{
    uint32_t ms = link->socket->opts.handshake_timeout_ms;
    if (link->surplus) {
        ms = MMI_REFUSING_MS;
    } else if (link->pipe.outgoing && !link->silent && ms > MMI_SILENT_MS) {
        ms = MMI_SILENT_MS;
    }
    return mmi_deadline(link->started_ns, ms);
}

bool
mmi_link_tell_silent(mmi_link *link)
{
    mmi_socket *s = link->socket;
    bool under_way = link->state == MMI_LINK_CONNECTING || link->state == MMI_LINK_HELLO;
    if (!under_way || !link->pipe.outgoing || link->silent ||
        s->opts.handshake_timeout_ms <= MMI_SILENT_MS) {
        return false;
    }
    char detail[MM_DETAIL_MAX + 1];
    uint64_t heard = link->handshake != NULL ? link->handshake->heard : 0;
    if (link->state == MMI_LINK_CONNECTING) {
        snprintf(detail, sizeof detail, "no answer to the attempt to connect for 1 s");
    } else if (heard == 0) {
        bool outer = s->outer != NULL;
        snprintf(detail, sizeof detail, "connected, and it said nothing for 1 s: it may %s %s",
                 outer ? "not speak" : "be no",
                 outer ? s->outer->name : link->handshake->wire->peer_name);
    } else {
        snprintf(
            detail, sizeof detail, "the handshake is not done after 1 s, %llu octet%s came: %s",
            (unsigned long long)heard, mmi_plural(heard), mmi_handshake_guess(link->handshake));
    }
    link->silent = true;
    mmi_link_tell(link, MM_EVENT_PEER_SILENT, MM_REASON_NONE, detail);
    if (mmi_timer_set(&s->engine->timers, &link->timer, mmi_link_patience_ns(link)) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
    }
    return true;
}

void
mmi_link_breach(mmi_link *link, int reason, const char *detail)
{
    mmi_engine *e = link->engine;
    bool hears = link->state == MMI_LINK_ACTIVE && link->features[0] != '\0';
    /* No command goes into a message, or a record. */
    bool between = !mmi_tx_is_writing(link) && link->msg_offset == 0 && link->sealed_left == 0;
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_ERROR_TEXT_MAX];
    uint64_t end = mmi_deadline(e->now_ns, MMI_REFUSING_MS);
    if (!hears || !between || link->socket->closing ||
        mmi_timer_set(&e->timers, &link->timer, end) != MM_OK ||
        mmi_link_control(link, frame, link->wire->put_error(frame, detail)) != MM_OK) {
        mmi_link_close(link, reason, detail);
        return;
    }
    mmi_link_refuse(link, reason, detail);
}

bool
mmi_link_say_why(mmi_link *link, const char *detail)
{
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_ERROR_TEXT_MAX];
    bool between = !mmi_tx_is_writing(link) && link->msg_offset == 0 && link->sealed_left == 0;
    return link->state == MMI_LINK_ACTIVE && link->features[0] != '\0' && between &&
           mmi_link_control(link, frame, link->wire->put_error(frame, detail)) == MM_OK;
}
