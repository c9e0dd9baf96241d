/*
 * link/ping.c: what a PING of ours says, and what its PONG confirms.
 *
 * Every PING carries the number of messages written so far; its PONG can only come after the peer
 * has read them, so it confirms them.
 * Not here: when one is sent, what silence means, and PINGs of the peer (link/heartbeat.c).
 * Law: a PONG confirms the count it brings back.
 */
#include "base/octets.h"
#include "link/inside.h"

enum { PING_CONTEXT_SIZE = 8 };   /* bytes of one count */

/*
 * Does the peer count on our signs of life?  Ours do, and so does who sends PINGs itself.  Another
 * one may have ended already, with messages that we have not read yet: its system answers octets of
 * ours with a reset, and then ours throws away what it sent.  So it is asked nothing while there is
 * something to read, and promised nothing.
 */
bool
mmi_heartbeat_counts(const mmi_link *link)
{
    return link->pinged || link->features[0] != '\0';
}

/* What we promise the peer: a sign of life within this. 0: no promise, as our heartbeat is off, or
 * it may be better not to write to it for longer. */
static uint16_t
ping_ttl_ds(const mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    uint32_t ttl = o->heartbeat_timeout_ms / MMI_MS_PER_DS;
    ttl = ttl > MMI_HEARTBEAT_TTL_MAX_DS ? MMI_HEARTBEAT_TTL_MAX_DS : ttl;
    return o->heartbeat_interval_ms == 0 || !mmi_heartbeat_counts(link) ? 0 : (uint16_t)ttl;
}

void
mmi_heartbeat_send(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    uint8_t context[PING_CONTEXT_SIZE * 2];
    mmi_be64_put(context, link->written);
    mmi_be64_put(context + PING_CONTEXT_SIZE, link->asked);
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    size_t context_size = link->asked > 0 ? sizeof context : (size_t)PING_CONTEXT_SIZE;
    size_t size = link->wire->put_ping(frame, ping_ttl_ds(link), context, context_size);
    if (mmi_link_control(link, frame, size) != MM_OK) {
        return; /* the next beat tries again */
    }
    if (link->pings_out++ == 0) {
        link->ping_ns = e->now_ns;
    }
    link->ping_count = link->written;
    link->asked_pinged = link->asked;
}

void
mmi_heartbeat_ping(mmi_link *link)
{
    if (link->state == MMI_LINK_ACTIVE && link->wire->beats && link->pings_out == 0) {
        mmi_heartbeat_send(link);
    }
}

void
mmi_heartbeat_last(mmi_link *link)
{
    bool asked = link->pings_out > 0 && link->ping_count == link->written;
    if (link->wire->beats && link->written != link->confirmed && !asked) {
        mmi_heartbeat_send(link);
    }
}

/* The peer has carried out so many of our subscriptions and cancellations. */
static void
ping_asked(mmi_link *link, uint64_t asked)
{
    if (asked > link->asked_confirmed && asked <= link->asked_pinged) {
        link->asked_confirmed = asked;
        mmi_socket_note(link->socket, MM_PEERS);
    }
}

void
mmi_heartbeat_pong(mmi_link *link, const mmi_command *command)
{
    uint64_t count = link->ping_count, asked = link->asked_pinged;
    if (link->pings_out == 0 || (command->size != 0 && command->size != PING_CONTEXT_SIZE &&
                                 command->size != PING_CONTEXT_SIZE * 2)) {
        return; /* unasked for */
    }
    if (command->size > 0) {
        count = mmi_be64_get(command->data);
        bool says = command->size > PING_CONTEXT_SIZE;
        asked = says ? mmi_be64_get(command->data + PING_CONTEXT_SIZE) : 0;
    } else if (--link->pings_out > 0) {
        return; /* libzmq < 4.3 echoes nothing, but answers each in turn */
    }
    if ((count < link->confirmed && link->pipe.unacked == NULL) || count > link->ping_count) {
        return;
    }
    mmi_socket *s = link->socket;
    if (count == link->ping_count) {
        link->rtt_ns = (int64_t)(s->engine->now_ns - link->ping_ns);
        link->pings_out = 0;
    }
    ping_asked(link, asked);
    if (link->state == MMI_LINK_PARTING && count > link->confirmed) {
        link->silence.moved_ns = s->engine->now_ns;
    }
    if (link->pipe.unacked != NULL) { /* its ACKs say what is done, this what it has read */
        link->answered = count > link->answered ? count : link->answered;
        return;
    }
    s->stats.confirmed_messages += count - link->confirmed;
    s->stats.in_doubt_messages -= link->state == MMI_LINK_PARTING ? count - link->confirmed : 0;
    link->confirmed = count;
    mmi_socket_note(s, MM_DRAINED);
}
