/*
 * socket/ended.c: what sockets dropped after they were closed: noted, listed, taken.
 *
 * Law: as in socket/ended.h; no memory for an entry is as no room for it.
 */
#include "socket/ended.h"

#include <stdio.h>
#include <string.h>

#include "queue/backlog.h"

_Static_assert((int)MMI_ENDED_MAX == (int)MM_ENDED_MAX, "who takes has room for all");

typedef struct ended_entry {
    mmi_list node;             /* engine->ended */
    mm_ended told;
} ended_entry;

void
mmi_ended_begin(mmi_socket *s, const char *endpoint)
{
    s->end.handle = s->handle;
    s->end.why = s->peer_count > 0 ? MMI_END_PEER_GONE : MMI_END_NO_PEER;
    s->engine->lingering++;
    size_t size = endpoint != NULL ? strlen(endpoint) + 1 : 0;
    s->end.endpoint = size > 0 ? mmi_alloc(size) : NULL;
    if (s->end.endpoint != NULL) {
        memcpy(s->end.endpoint, endpoint, size);
    }
}

void
mmi_ended_note(mmi_socket *s, uint64_t messages, uint64_t bytes)
{
    if (mmi_back_sourced(s->host.back)) {
        return; /* they are kept elsewhere */
    }
    s->end.messages[s->end.why] += messages;
    s->end.bytes[s->end.why] += bytes;
    s->engine->abandoned_messages += messages;
}

static void
ended_words(const mmi_socket *s, mmi_end_why why, char *out, size_t size)
{
    unsigned long long bytes = (unsigned long long)s->end.bytes[why];
    const double ms_per_s = 1000;
    switch (why) {
    case MMI_END_LINGER:
        snprintf(out, size, "socket closed, linger of %g s over, not written (linger); %llu bytes",
                 (double)s->opts.linger_ms / ms_per_s, bytes);
        return;
    case MMI_END_PEER_GONE:
        snprintf(out, size, "socket closed, and then its peer was gone; %llu bytes", bytes);
        return;
    case MMI_END_ENGINE:
        snprintf(out, size, "socket closed with its engine, not written in time; %llu bytes",
                 bytes);
        return;
    case MMI_END_NO_PEER:
    case MMI_END_WHYS: break;
    }
    snprintf(out, size, "socket closed while it had no peer; %llu bytes", bytes);
}

static void
ended_list(mmi_socket *s, mmi_end_why why)
{
    mmi_engine *e = s->engine;
    ended_entry *entry = e->ended_count < MMI_ENDED_MAX ? mmi_alloc(sizeof *entry) : NULL;
    if (entry == NULL) {
        e->ended_unlisted += s->end.messages[why];
        return;
    }
    memset(entry, 0, sizeof *entry);
    mmi_list_init(&entry->node);
    entry->told.socket = s->end.handle;
    entry->told.role = s->ops->is.number;
    mm_event *event = &entry->told.event;
    event->time_ns = e->plat.wall_ns(e->plat.self);
    event->kind = MM_EVENT_DROPPED;
    event->reason = MM_REASON_NONE;
    event->count = s->end.messages[why];
    event->retry_ns = -1;
    snprintf(event->endpoint, sizeof event->endpoint, "%s",
             s->end.endpoint != NULL ? s->end.endpoint : "");
    ended_words(s, why, event->detail, sizeof event->detail);
    mmi_list_push_back(&e->ended, &entry->node);
    e->ended_count++;
}

void
mmi_ended_tell(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    if (s->end.told) {
        return;
    }
    s->end.told = true;
    if (s->host.back != NULL) {
        uint64_t bytes = 0;
        uint64_t messages = mmi_back_count(s->host.back, &bytes) + s->host.back->delayed.count;
        bytes += s->host.back->delayed.bytes;
        mmi_ended_note(s, messages, bytes);
    }
    for (int why = 0; why < MMI_END_WHYS; why++) {
        if (s->end.messages[why] > 0) {
            ended_list(s, (mmi_end_why)why);
        }
    }
    e->lingering--;
    bool over = e->lingering == 0 && e->ended_awaited;
    bool news = e->ended_count > 0 || e->ended_unlisted > 0 || over;
    if (news && e->events_notifier >= 0) {
        e->plat.notifier_ring(e->plat.self, e->events_notifier);
    }
}

uint32_t
mmi_ended_take(mmi_engine *e, mm_ended *out, uint32_t cap)
{
    uint32_t count = 0;
    while (count < cap && !mmi_list_empty(&e->ended)) {
        mmi_list *node = mmi_list_pop_front(&e->ended);
        ended_entry *entry = MMI_CONTAINER_OF(node, ended_entry, node);
        e->abandoned_messages -= entry->told.event.count;
        e->ended_count--;
        out[count++] = entry->told;
        mmi_free(entry);
    }
    return count;
}

uint32_t
mmi_ended_pending(mmi_engine *e)
{
    uint32_t pending = e->lingering + e->ended_count + (e->ended_unlisted > 0);
    e->ended_awaited = pending > 0;
    return pending;
}

uint64_t
mmi_ended_take_unlisted(mmi_engine *e)
{
    uint64_t messages = e->ended_unlisted;
    e->ended_unlisted = 0;
    e->abandoned_messages -= messages;
    return messages;
}

void
mmi_ended_fini(mmi_engine *e)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&e->ended)) != NULL) {
        mmi_free(MMI_CONTAINER_OF(node, ended_entry, node));
    }
    e->ended_count = 0;
}
