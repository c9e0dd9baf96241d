/*
 * link/note.c: what is noted of a link for later: that it has something to write, that it is to be
 * closed, and what poll is to tell of it.
 *
 * Not here: who writes it (link/tx.c), who closes it (link/part.c).
 * Law: nothing is written, read or ended here.
 */
#include <string.h>

#include "link/inside.h"

void
mmi_link_dirty(mmi_link *link)
{
    if (link->state != MMI_LINK_DEAD && !mmi_list_linked(&link->dirty)) {
        mmi_list_push_back(&link->engine->dirty, &link->dirty);
    }
}

bool
mmi_link_paused(const mmi_link *link)
{
    return link->halted || link->held != NULL || link->unread_used < link->unread_size;
}

bool
mmi_link_pending(const mmi_link *link)
{
    if (link->state == MMI_LINK_HELLO) {
        const uint8_t *out;
        return link->opening != NULL && mmi_opening_output(link->opening, &out) > 0;
    }
    bool messages = link->state == MMI_LINK_ACTIVE && link->pipe.outbox.count > 0;
    return messages || link->sealed_left > 0 || link->command_out_size > 0 ||
           link->command_size > 0 || link->pong_due || mmi_stop_answer_due(link);
}

bool
mmi_link_flush_worth(const mmi_link *link)
{
    const mmi_ring *out = &link->pipe.outbox;
    return out->bytes >= MMI_LINK_WORTH_BYTES || out->count >= out->count_max / 2;
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
    case MMI_LINK_CONNECTING:
        events = MMI_WATCH_WRITE;
        break;
    case MMI_LINK_DEAD:
        return;
    default:
        events = mmi_link_paused(link) ? 0 : MMI_WATCH_READ;
        events |= mmi_link_pending(link) && !link->rested ? MMI_WATCH_WRITE : 0;
        break;
    }
    if (link->hung) {
        events &= (uint32_t)~MMI_WATCH_READ;
    }
    events = link->doomed != 0 ? 0 : events;   /* nothing of its is waited for any more */
    if (events != link->watched || link->hung) {
        int rc = e->plat.watch(e->plat.self, link->stream, events, link->tag);
        link_count_write_watch(link, events);
        link->watched = events;
        if (rc != MM_OK && link->doomed == 0) {
            link->doomed = MM_REASON_MEMORY;
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
mmi_link_doom(mmi_link *link, int reason, const char *detail)
{
    if (link->doomed == 0) {
        size_t size = detail != NULL ? strlen(detail) + 1 : 0;
        link->doomed = reason;
        link->doomed_detail = size > 0 ? mmi_alloc(size) : NULL;
        if (link->doomed_detail != NULL) {
            memcpy(link->doomed_detail, detail, size);
        }
    }
}

void
mmi_link_doom_written(mmi_link *link, int reason, const char *detail)
{
    mmi_link_doom(link, reason, detail);
    mmi_timer_clear(&link->engine->timers, &link->timer);
    mmi_link_watch(link);
}
