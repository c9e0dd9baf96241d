/*
 * heartbeat.c: is the peer alive, how far away is it, and what has it received?  RFC 37, PING and
 * PONG.
 *
 * Every PING carries the number of messages written so far; its PONG can only come after the peer
 * has read them, so it confirms them.  Any octet from the peer counts as life; what silence means
 * is said in silence.c.  Peers of ZMTP 3.0 get no PING: TCP keepalive covers them.
 * Law: a PONG confirms the count it brings back; one PONG is owed at a time, so a flood costs
 * nothing.
 */
#include <string.h>

#include "base/octets.h"
#include "link/link.h"

enum {
    HEARTBEAT_MS_PER_DS = 100,
    HEARTBEAT_CONTEXT_SIZE = 8,
    HEARTBEAT_LATE_PART = 3   /* of the time-out: a beat that is later was missed by us */
};
static const uint64_t HEARTBEAT_NS_PER_MS = 1000000;

/* Is it what the peer promised that counts, as that is shorter than our own timeout? */
static bool
heartbeat_by_ttl(const mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    uint32_t own = o->heartbeat_interval_ms > 0 && link->minor > 0 ? o->heartbeat_timeout_ms : 0;
    return own == 0 || (link->peer_ttl_ms > 0 && link->peer_ttl_ms < own);
}

/* How long the peer may be silent. */
static uint64_t
heartbeat_patience_ms(const mmi_link *link)
{
    return heartbeat_by_ttl(link) ? link->peer_ttl_ms : link->socket->opts.heartbeat_timeout_ms;
}

/* Between two beats, which are also when we look at a silent peer. */
static uint32_t
heartbeat_interval_ms(const mmi_link *link)
{
    uint32_t interval = link->socket->opts.heartbeat_interval_ms;
    if (interval == 0 || link->minor == 0) {
        return link->peer_ttl_ms;
    }
    return link->peer_ttl_ms > 0 && link->peer_ttl_ms < interval ? link->peer_ttl_ms : interval;
}

/* When there is something to judge, if nothing comes before; later than now. */
static uint64_t
heartbeat_end_ns(const mmi_link *link)
{
    uint64_t now = link->engine->now_ns, ms = heartbeat_patience_ms(link);
    uint64_t end = ms == 0 ? UINT64_MAX : mmi_deadline(link->last_in_ns, (int64_t)ms);
    uint64_t gone = link->silence.gone_ns;
    end = end > now ? end : UINT64_MAX;
    return gone > now && gone < end ? gone : end;
}

static void
heartbeat_arm(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    uint32_t interval = heartbeat_interval_ms(link);
    uint64_t due = link->leaving ? link->leave_ns : UINT64_MAX;
    if (interval > 0) {
        uint64_t beat = mmi_deadline(e->now_ns, interval), end = heartbeat_end_ns(link);
        due = beat < due ? beat : due;
        due = end < due ? end : due;
    }
    if (due == UINT64_MAX) {
        mmi_timer_clear(&e->timers, &link->timer);
    } else if (mmi_timer_set(&e->timers, &link->timer, due) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
    }
}

void
mmi_heartbeat_start(mmi_link *link)
{
    heartbeat_arm(link);
}

/* What we promise the peer: a sign of life within this. 0: no promise, as our heartbeat is off. */
static uint16_t
heartbeat_ttl_ds(const mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    uint32_t ttl = o->heartbeat_timeout_ms / HEARTBEAT_MS_PER_DS;
    ttl = ttl > MMI_HEARTBEAT_TTL_MAX_DS ? MMI_HEARTBEAT_TTL_MAX_DS : ttl;
    return o->heartbeat_interval_ms == 0 ? 0 : (uint16_t)ttl;
}

static void
heartbeat_send(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    uint8_t context[HEARTBEAT_CONTEXT_SIZE * 2];
    mmi_be64_put(context, link->written);
    mmi_be64_put(context + HEARTBEAT_CONTEXT_SIZE, link->asked);
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    size_t context_size = link->asked > 0 ? sizeof context : (size_t)HEARTBEAT_CONTEXT_SIZE;
    size_t size = mmi_command_put_ping(frame, heartbeat_ttl_ds(link), context, context_size);
    if (mmi_link_control(link, frame, size) != MM_OK) {
        return;   /* the next beat tries again */
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
    if (link->state == MMI_LINK_ACTIVE && link->minor > 0 && link->pings_out == 0) {
        heartbeat_send(link);
    }
}

void
mmi_heartbeat_last(mmi_link *link)
{
    bool asked = link->pings_out > 0 && link->ping_count == link->written;
    if (link->minor > 0 && link->written != link->confirmed && !asked) {
        heartbeat_send(link);
    }
}

/*
 * A beat goes out even while one is unanswered: it is our sign of life to a peer that cannot answer
 * as it waits for room. It carries the count as well: a peer may answer several PINGs with one
 * PONG.
 */
static void
heartbeat_beat(mmi_link *link)
{
    if (link->pings_out == 0 || (link->command_size == 0 && link->command_out_size == 0)) {
        heartbeat_send(link);
    }
}

/* Who comes late, as this machine was suspended or had no time for us, has not listened meanwhile,
 * and the peer may have been suspended as well: its silence begins anew. */
static void
heartbeat_forgive(mmi_link *link)
{
    uint64_t now = link->engine->now_ns, due = link->timer.deadline_ns;
    uint64_t beat_ms = heartbeat_interval_ms(link);
    uint64_t third_ms = heartbeat_patience_ms(link) / HEARTBEAT_LATE_PART;
    uint64_t late_ms = third_ms > 0 && third_ms < beat_ms ? third_ms : beat_ms;
    if (now > due && now - due > late_ms * HEARTBEAT_NS_PER_MS) {
        link->last_in_ns = now;
        link->silence.owed_ns = 0;
    }
}

void
mmi_heartbeat_due(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    const mm_socket_opts *o = &link->socket->opts;
    heartbeat_forgive(link);
    char detail[MM_DETAIL_MAX + 1];
    switch (mmi_silence_judge(link, heartbeat_patience_ms(link) * HEARTBEAT_NS_PER_MS,
                              heartbeat_interval_ms(link) * HEARTBEAT_NS_PER_MS)) {
    case MMI_VERDICT_GONE:
        mmi_told_gone(link, heartbeat_by_ttl(link), detail, sizeof detail);
        mmi_link_close(link, MM_REASON_HEARTBEAT, detail);
        return;
    case MMI_VERDICT_HUNG:
        mmi_told_hung(link, heartbeat_by_ttl(link), detail, sizeof detail);
        mmi_link_part(link, MM_REASON_HEARTBEAT, detail);
        return;
    case MMI_VERDICT_NONE:
        break;
    }
    if (mmi_link_paused(link)) {
        link->last_in_ns = e->now_ns;
    }
    if (o->heartbeat_interval_ms > 0 && link->minor > 0) {
        heartbeat_beat(link);
    }
    heartbeat_arm(link);
}

/* The peer has carried out so many of our subscriptions and cancellations. */
static void
heartbeat_asked(mmi_link *link, uint64_t asked)
{
    if (asked > link->asked_confirmed && asked <= link->asked_pinged) {
        link->asked_confirmed = asked;
        mmi_socket_note(link->socket, MM_PEERS);
    }
}

static void
heartbeat_pong(mmi_link *link, const mmi_command *command)
{
    uint64_t count = link->ping_count, asked = link->asked_pinged;
    if (link->pings_out == 0 ||
        (command->size != 0 && command->size != HEARTBEAT_CONTEXT_SIZE &&
         command->size != HEARTBEAT_CONTEXT_SIZE * 2)) {
        return;   /* unasked for */
    }
    if (command->size > 0) {
        count = mmi_be64_get(command->data);
        bool says = command->size > HEARTBEAT_CONTEXT_SIZE;
        asked = says ? mmi_be64_get(command->data + HEARTBEAT_CONTEXT_SIZE) : 0;
    } else if (--link->pings_out > 0) {
        return;   /* libzmq < 4.3 echoes nothing, but answers each in turn */
    }
    if (count < link->confirmed || count > link->ping_count) {
        return;
    }
    mmi_socket *s = link->socket;
    if (count == link->ping_count) {
        link->rtt_ns = (int64_t)(s->engine->now_ns - link->ping_ns);
        link->pings_out = 0;
    }
    heartbeat_asked(link, asked);
    if (link->parting && count > link->confirmed) {
        link->silence.moved_ns = s->engine->now_ns;
    }
    s->stats.confirmed_messages += count - link->confirmed;
    s->stats.in_doubt_messages -= link->parting ? count - link->confirmed : 0;
    link->confirmed = count;
    mmi_socket_note(s, MM_DRAINED);
}

void
mmi_heartbeat_command(mmi_link *link, const mmi_command *command)
{
    if (command->kind == MMI_COMMAND_PONG) {
        heartbeat_pong(link, command);
        return;
    }
    link->pinged = true;
    uint32_t ttl_ms = (uint32_t)command->ttl_ds * HEARTBEAT_MS_PER_DS;
    if (ttl_ms != link->peer_ttl_ms) {
        link->peer_ttl_ms = ttl_ms;
        heartbeat_arm(link);
        if (link->state != MMI_LINK_ACTIVE) {
            return;
        }
    }
    link->pong_due = true;
    link->pong_size = (uint8_t)command->size;
    if (command->size > 0) {
        memcpy(link->pong, command->data, command->size);
    }
    mmi_link_dirty(link);
}
