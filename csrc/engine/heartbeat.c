/*
 * heartbeat.c: is the peer alive, how far away is it, and what has it received?  RFC 37, PING and
 * PONG.
 *
 * Every PING carries the number of messages written so far; its PONG can only come after the peer
 * has read them, so it confirms them.  Any octet from the peer counts as life; while we do not read
 * (the inbox is full) silence proves nothing.  Peers of ZMTP 3.0 get no PING: TCP keepalive covers
 * them. Law: a PONG confirms the count it brings back; one PONG is owed at a time, so a flood costs
 * nothing.
 */
#include <string.h>

#include "base/octets.h"
#include "engine/link.h"

enum { HEARTBEAT_MS_PER_DS = 100, HEARTBEAT_CONTEXT_SIZE = 8 };

/* How long the peer may be silent: our own timeout, or what it asked for, whichever is shorter. */
static uint64_t
heartbeat_patience_ms(const mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    uint64_t own = o->heartbeat_interval_ms > 0 && link->minor > 0 ? o->heartbeat_timeout_ms : 0;
    uint64_t ttl = link->peer_ttl_ms;
    return own == 0 || (ttl > 0 && ttl < own) ? ttl : own;
}

static uint64_t
heartbeat_end_ns(const mmi_link *link)
{
    uint64_t ms = heartbeat_patience_ms(link);
    return ms == 0 ? UINT64_MAX : mmi_deadline(link->last_in_ns, (int64_t)ms);
}

static void
heartbeat_arm(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    const mm_socket_opts *o = &link->socket->opts;
    uint32_t interval = o->heartbeat_interval_ms;
    if (interval == 0 || link->minor == 0) {
        interval = link->peer_ttl_ms;
    } else if (link->peer_ttl_ms > 0 && link->peer_ttl_ms < interval) {
        interval = link->peer_ttl_ms;
    }
    if (interval == 0) {
        mmi_timer_clear(&e->timers, &link->timer);
        return;
    }
    uint64_t beat = mmi_deadline(e->now_ns, interval), end = heartbeat_end_ns(link);
    if (mmi_timer_set(&e->timers, &link->timer, beat < end ? beat : end) != MM_OK) {
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
    uint8_t context[HEARTBEAT_CONTEXT_SIZE];
    _Static_assert(sizeof context == sizeof link->written, "the context is that number");
    mmi_be64_put(context, link->written);
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_PING_CONTEXT_MAX];
    size_t size = mmi_command_put_ping(frame, heartbeat_ttl_ds(link), context, sizeof context);
    if (mmi_link_control(link, frame, size) != MM_OK) {
        return;   /* the next beat tries again */
    }
    if (link->pings_out++ == 0) {
        link->ping_ns = e->now_ns;
    }
    link->ping_count = link->written;
}

void
mmi_heartbeat_ping(mmi_link *link)
{
    if (link->state == MMI_LINK_ACTIVE && link->minor > 0 && link->pings_out == 0) {
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

void
mmi_heartbeat_due(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    const mm_socket_opts *o = &link->socket->opts;
    if (mmi_link_paused(link)) {
        link->last_in_ns = e->now_ns;
    }
    if (e->now_ns >= heartbeat_end_ns(link)) {
        mmi_link_close(link, MM_REASON_HEARTBEAT, NULL);
        return;
    }
    if (o->heartbeat_interval_ms > 0 && link->minor > 0) {
        heartbeat_beat(link);
    }
    heartbeat_arm(link);
}

static void
heartbeat_pong(mmi_link *link, const mmi_command *command)
{
    uint64_t count = link->ping_count;
    if (link->pings_out == 0 || (command->size != 0 && command->size != HEARTBEAT_CONTEXT_SIZE)) {
        return;   /* unasked for */
    }
    if (command->size > 0) {
        count = mmi_be64_get(command->data);
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
    s->stats.confirmed_messages += count - link->confirmed;
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
