/*
 * link/heartbeat.c: is the peer alive?  RFC 37, PING and PONG, beat by beat.
 *
 * Any octet from the peer counts as life; what silence means is said in link/silence.c, what a PING
 * says and its PONG confirms in link/ping.c.  Where the wire has no PINGs, TCP keepalive covers
 * them.
 * Law: one PONG is owed at a time, so a flood costs nothing.
 */
#include <string.h>

#include "link/inside.h"

enum {
    HEARTBEAT_LATE_PART = 3,    /* of the time-out: a beat that is later was missed by us */
    HEARTBEAT_RARE_MS = 10000,  /* beats this far apart are of connections that rest        */
    HEARTBEAT_TOGETHER = 8      /* so many times an interval such beats of all go out        */
};
static const uint64_t HEARTBEAT_NS_PER_MS = 1000000;

/* Is it what the peer promised that counts, as that is shorter than our own timeout? */
static bool
heartbeat_by_ttl(const mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    uint32_t own = o->heartbeat_interval_ms > 0 && link->wire->beats ? o->heartbeat_timeout_ms : 0;
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
    if (interval == 0 || !link->wire->beats) {
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

/* The next beat.  Rare ones wait for each other, and come early rather than late: to wake for each
 * of a few hundred connections is most of what they cost who rests. */
static uint64_t
heartbeat_next_ns(uint64_t now_ns, uint32_t interval_ms)
{
    uint64_t beat = mmi_deadline(now_ns, interval_ms);
    uint64_t step = interval_ms * HEARTBEAT_NS_PER_MS / HEARTBEAT_TOGETHER;
    return interval_ms < HEARTBEAT_RARE_MS ? beat : beat - beat % step;
}

static void
heartbeat_arm(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    uint32_t interval = heartbeat_interval_ms(link);
    uint64_t due = mmi_link_leaves(link) ? link->leave_ns : UINT64_MAX;
    if (interval > 0) {
        uint64_t beat = heartbeat_next_ns(e->now_ns, interval), end = heartbeat_end_ns(link);
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

/*
 * A beat goes out even while one is unanswered: it is our sign of life to a peer that cannot answer
 * as it waits for room. It carries the count as well: a peer may answer several PINGs with one
 * PONG.
 */
static void
heartbeat_beat(mmi_link *link)
{
    if (link->pings_out == 0 || (link->command_size == 0 && link->command_out_size == 0)) {
        mmi_heartbeat_send(link);
    }
}

/* Is a beat needed now? */
static bool
heartbeat_wanted(const mmi_link *link)
{
    uint64_t interval_ns = heartbeat_interval_ms(link) * HEARTBEAT_NS_PER_MS;
    bool heard = link->engine->now_ns - link->last_in_ns < interval_ns;
    bool asks = link->written != link->confirmed || link->asked != link->asked_confirmed;
    return mmi_heartbeat_counts(link) || (!mmi_link_paused(link) && (!heard || asks));
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
    case MMI_VERDICT_NONE: break;
    }
    if (mmi_link_paused(link)) {
        link->last_in_ns = e->now_ns;
    }
    if (o->heartbeat_interval_ms > 0 && link->wire->beats && heartbeat_wanted(link)) {
        heartbeat_beat(link);
    }
    heartbeat_arm(link);
}

void
mmi_heartbeat_command(mmi_link *link, const mmi_command *command)
{
    if (command->kind == MMI_COMMAND_PONG) {
        mmi_heartbeat_pong(link, command);
        return;
    }
    link->pinged = true;
    uint32_t ttl_ms = (uint32_t)command->ttl_ds * MMI_MS_PER_DS;
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
