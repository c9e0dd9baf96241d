/*
 * link/watch.c: what poll is to tell of a link: that it can be read, if somebody wants that, or has
 * room again.
 *
 * Not here: when it waits for room (link/tx.h), writing and reading (link/write.c, link/read.c).
 * Law: nothing is written, read or ended here.
 */
#include "link/inside.h"
#include "link/shield.h"
#include "queue/backlog.h"

bool
mmi_link_stilled(const mmi_link *link)
{
    const mmi_socket *s = link->socket;
    const mmi_back *back = s->host.back;
    return link->pipe.unacked == NULL && mmi_back_sourced(back) && s->group == NULL &&
           link->state == MMI_LINK_ACTIVE && (back->receipts.source.settled || s->closing);
}

bool
mmi_link_paused(const mmi_link *link)
{
    return link->halted || link->unqueued != NULL || link->unread_used < link->unread_size;
}

bool
mmi_link_pending(const mmi_link *link)
{
    if (link->state == MMI_LINK_HELLO) {
        const uint8_t *out;
        return link->handshake != NULL && (mmi_handshake_due(link->handshake) ||
                                           mmi_handshake_output(link->handshake, &out) > 0);
    }
    if (mmi_link_stilled(link)) {
        return false;
    }
    bool messages = link->state == MMI_LINK_ACTIVE && link->pipe.outbox.count > 0;
    return messages || link->sealed_left > 0 || link->command_out_size > 0 ||
           link->command_size > 0 || link->pong_due || mmi_stop_answer_due(link) ||
           mmi_ack_due(link) || mmi_finish_due(link) || mmi_link_shield_pending(link);
}

bool
mmi_link_awaits_round(const mmi_link *link)
{
    return mmi_tx_is_paced(link) && !mmi_link_polled_for_room(link);
}

void
mmi_link_flush_now(mmi_link *link)
{
    if (mmi_link_awaits_round(link) && mmi_link_pending(link)) {
        mmi_link_dirty(link);
    }
}

bool
mmi_link_stranded(const mmi_link *link)
{
    bool up = link->state == MMI_LINK_ACTIVE || mmi_link_finishes(link);
    bool noted = mmi_list_linked(&link->tx.due) || mmi_tx_is_paced(link);
    return up && !noted && link->tx.state == MMI_TX_IDLE && !link->reading &&
           (mmi_tx_ends(link) || mmi_link_pending(link));
}

/* Who writes it will know: until then poll is left as it is. */
static bool
link_waits_for_room(const mmi_link *link)
{
    switch (link->tx.state) {
    case MMI_TX_WRITING: return mmi_link_polled_for_room(link);
    case MMI_TX_BLOCKED: return true;
    default: return link->state == MMI_LINK_HELLO && mmi_link_pending(link);
    }
}

static void
link_count_write_watch(mmi_link *link, uint32_t events)
{
    bool before = (link->watched & MMI_WATCH_WRITE) != 0, after = (events & MMI_WATCH_WRITE) != 0;
    link->engine->write_watches += (uint32_t)after - (uint32_t)before;
}

void
mmi_link_watch(mmi_link *link)
{
    mmi_engine *e = link->engine;
    uint32_t events = 0;
    switch (link->state) {
    case MMI_LINK_CONNECTING: events = MMI_WATCH_WRITE; break;
    case MMI_LINK_DEAD: return;
    default:
        events = mmi_link_paused(link) ? 0 : MMI_WATCH_READ;
        events |= link_waits_for_room(link) ? MMI_WATCH_WRITE : 0;
        break;
    }
    if (link->hung) {
        events &= (uint32_t)~MMI_WATCH_READ;
    }
    events = mmi_tx_ends(link) ? 0 : events;   /* nothing of its is waited for any more */
    if (events != link->watched || link->hung) {
        int rc = e->plat.watch(e->plat.self, link->stream, events, link->tag);
        link_count_write_watch(link, events);
        link->watched = events;
        if (rc != MM_OK && !mmi_tx_ends(link)) {
            mmi_link_doom(link, MMI_TX_CLOSE, MM_REASON_MEMORY, NULL);
            mmi_link_dirty(link);
        }
    }
}

void
mmi_link_unwatch(mmi_link *link)
{
    mmi_engine *e = link->engine;
    (void)e->plat.watch(e->plat.self, link->stream, 0, 0);
    link_count_write_watch(link, 0);
    link->watched = 0;
}

void
mmi_link_doom_written(mmi_link *link, uint32_t how, int reason, const char *detail)
{
    mmi_link_doom(link, how, reason, detail);
    mmi_timer_clear(&link->engine->timers, &link->timer);
    mmi_link_watch(link);
}
