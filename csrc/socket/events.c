/*
 * socket/events.c: what happened to a socket's connections, kept in a small ring that any number of
 * readers read by sequence number.
 *
 * Law: reading takes nothing away; what fell out before it was read is visible as a gap in the
 * numbers and in stats.events_lost; drops, and what is not retained, are told at once, then at most
 * once a second, each cause as an event of its own; what repeats is told at once, then at most each
 * MMI_EVENT_REPEATS_MS, when it happens.
 */
#include <stdio.h>
#include <string.h>

#include "queue/backlog.h"
#include "socket/group.h"

enum { EVENTS_FIRST = 2 };   /* a socket with one connection has no more */
static const uint64_t EVENT_NS_PER_MS = 1000000;
static const uint64_t EVENT_DROPS_INTERVAL_NS = 1000000000;

/* Twice the room; each event goes where its number says.  Without memory all stays as it is. */
static void
event_grow(mmi_socket *s)
{
    uint32_t cap = s->event_cap == 0 ? EVENTS_FIRST : s->event_cap * 2;
    mm_event *grown = mmi_alloc(cap * sizeof *grown);
    if (grown == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->event_cap; i++) {
        if (s->events[i].seq != 0) {
            grown[(s->events[i].seq - 1) % cap] = s->events[i];
        }
    }
    mmi_free(s->events);
    s->events = grown;
    s->event_cap = cap;
}

/* Where the next event goes; NULL: nowhere. */
static mm_event *
event_slot(mmi_socket *s)
{
    if (s->event_seq >= s->event_cap && s->event_cap < MMI_SOCKET_EVENTS_MAX) {
        event_grow(s);
    }
    if (s->event_cap == 0) {
        return NULL;
    }
    mm_event *slot = &s->events[s->event_seq % s->event_cap];
    s->stats.events_lost += slot->seq != 0;
    return slot;
}

/* Whoever wants to know of events is told that there is one: once, until it has asked. */
static void
event_ring(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    if (e->events_notifier < 0 || s->closing || mmi_list_linked(&s->told)) {
        return;
    }
    bool first = mmi_list_empty(&e->told);
    mmi_list_push_back(&e->told, &s->told);
    if (first) {
        e->plat.notifier_ring(e->plat.self, e->events_notifier);
    }
}

void
mmi_socket_event(mmi_socket *s, int kind, int reason, uint64_t peer, uint64_t count,
                 const char *endpoint, const char *address, const char *detail)
{
    s = mmi_socket_home(s);
    mm_event *event = event_slot(s);
    s->event_seq++;
    if (event == NULL) {
        s->stats.events_lost++;
        return;
    }
    memset(event, 0, sizeof *event);
    event->seq = s->event_seq;
    event->time_ns = s->engine->plat.wall_ns(s->engine->plat.self);
    event->peer = peer;
    event->count = count;
    event->kind = (uint32_t)kind;
    event->reason = reason;
    event->retry_ns = -1;
    mmi_text_copy(event->endpoint, sizeof event->endpoint, endpoint);
    mmi_text_copy(event->address, sizeof event->address, address);
    mmi_text_copy(event->detail, sizeof event->detail, detail);
    event_ring(s);
}

int
mmi_events_open(mmi_engine *e, int *fd)
{
    int notifier;
    if (e->events_notifier >= 0) {
        return MM_ESTATE;
    }
    int rc = e->plat.notifier_open(e->plat.self, &notifier);
    if (rc == MM_OK) {
        e->events_notifier = *fd = notifier;
    }
    return rc;
}

int
mmi_events_take(mmi_engine *e, mm_handle *out, uint32_t cap)
{
    uint32_t count = 0;
    mmi_list *node;
    while (count < cap && (node = mmi_list_pop_front(&e->told)) != NULL) {
        out[count++] = MMI_CONTAINER_OF(node, mmi_socket, told)->handle;
    }
    if (mmi_list_empty(&e->told) && e->events_notifier >= 0) {
        e->plat.notifier_clear(e->plat.self, e->events_notifier);
    }
    return (int)count;
}

void
mmi_events_close(mmi_engine *e)
{
    if (e->events_notifier >= 0) {
        e->plat.notifier_ring(e->plat.self, e->events_notifier);   /* for copies of it */
        e->plat.notifier_close(e->plat.self, e->events_notifier);
        e->events_notifier = -1;
    }
    while (mmi_list_pop_front(&e->told) != NULL) {
    }
}

/* The event of that number.  NULL: it is not there any more, or never was for want of memory. */
static mm_event *
event_find(mmi_socket *s, uint64_t seq)
{
    mm_event *event = seq > 0 && s->event_cap > 0 ? &s->events[(seq - 1) % s->event_cap] : NULL;
    return event != NULL && event->seq == seq ? event : NULL;
}

void
mmi_socket_event_retry(mmi_socket *s, uint64_t seq, uint64_t delay_ns)
{
    mm_event *event = event_find(s, seq);
    if (event != NULL) {
        event->retry_ns = (int64_t)delay_ns;
    }
}

void
mmi_socket_event_user(mmi_socket *s, const char *user_id)
{
    s = mmi_socket_home(s);
    mm_event *event = event_find(s, s->event_seq);
    if (event != NULL) {
        mmi_text_copy(event->user_id, sizeof event->user_id, user_id);
    }
}

/* Without the port, which is another one each time. */
static size_t
event_host_size(const char *address)
{
    const char *port = strrchr(address, ':');
    bool has_port =
        port != NULL && port[1] != '\0' && port[1 + strspn(port + 1, "0123456789")] == '\0';
    return has_port ? (size_t)(port - address) : strlen(address);
}

static bool
event_is(const mm_event *event, int reason, const char *endpoint, const char *address,
         const char *detail)
{
    size_t host = event_host_size(address);
    return event->reason == reason && event_host_size(event->address) == host &&
           memcmp(event->address, address, host) == 0 && strcmp(event->endpoint, endpoint) == 0 &&
           strcmp(event->detail, detail) == 0;
}

uint64_t
mmi_socket_event_repeats(mmi_socket *s, int reason, const char *endpoint, const char *address,
                         const char *detail)
{
    uint64_t now = s->engine->now_ns;
    mmi_socket_repeat *oldest = &s->repeats[0];
    for (size_t i = 0; i < MMI_COUNT_OF(s->repeats); i++) {
        mmi_socket_repeat *r = &s->repeats[i];
        const mm_event *event = event_find(s, r->seq);
        if (event != NULL && event_is(event, reason, endpoint, address, detail)) {
            uint64_t count = r->count + 1;
            bool due = now - r->told_ns >= MMI_EVENT_REPEATS_MS * EVENT_NS_PER_MS;
            *r = due ? (mmi_socket_repeat){ .seq = s->event_seq + 1, .told_ns = now } : *r;
            r->count = due ? 0 : count;
            return due ? count : 0;
        }
        oldest = r->told_ns < oldest->told_ns ? r : oldest;
    }
    *oldest = (mmi_socket_repeat){ .seq = s->event_seq + 1, .told_ns = now };
    return 1;
}

void
mmi_socket_tell_drops(mmi_socket *s)
{
    for (size_t i = 0; i < MMI_COUNT_OF(s->drops) && s->drops[i].count > 0; i++) {
        mmi_socket_drops *drops = &s->drops[i];
        s->drops_event_ns = s->engine->now_ns;
        mmi_socket_event(s, drops->kind, MM_REASON_NONE, drops->peer, drops->count, NULL, NULL,
                         drops->why);
        drops->count = 0;
    }
}

/* Adds to what is not told yet of the same cause: the same words. */
static void
drops_add(mmi_socket *s, int kind, const char *why, uint64_t peer, uint64_t count)
{
    size_t i = 0;
    while (i < MMI_COUNT_OF(s->drops) && s->drops[i].count > 0 && s->drops[i].why != why) {
        i++;
    }
    if (i == MMI_COUNT_OF(s->drops)) {
        mmi_socket_tell_drops(s);
        i = 0;
    }
    s->drops[i].kind = kind;
    s->drops[i].why = why;
    s->drops[i].count += count;
    s->drops[i].peer = peer;
}

void
mmi_proto_event(mmi_proto_host *host, int kind, int reason, uint64_t peer, uint64_t count,
                const char *detail)
{
    mmi_socket *s = MMI_CONTAINER_OF(host, mmi_socket, host);
    if (kind != MM_EVENT_DROPPED && kind != MM_EVENT_NOT_RETAINED &&
        kind != MM_EVENT_SPOOL_REMOVED && kind != MM_EVENT_UNSENDABLE) {
        char named[MM_DETAIL_MAX + 1];
        if (s->group != NULL) {
            snprintf(named, sizeof named, "group %s: %s", s->group->name, detail);
        }
        mmi_socket_event(s, kind, reason, peer, count, NULL, NULL,
                         s->group != NULL ? named : detail);
        return;
    }
    if (s->closing) {
        return;   /* nobody can read of it any more */
    }
    drops_add(s, kind, detail, peer, count);
    if (host->back != NULL && mmi_receipts_news(&host->back->receipts)) {
        mmi_socket_note(s, MM_DRAINED); /* who waits for its receipt hears of it */
    }
    uint64_t due = s->drops_event_ns + EVENT_DROPS_INTERVAL_NS;
    if (s->drops_event_ns == 0 || s->engine->now_ns >= due) {
        mmi_socket_tell_drops(s);
    } else if (s->drops_timer.index == 0 &&
               mmi_timer_set(&s->engine->timers, &s->drops_timer, due) != MM_OK) {
        mmi_socket_tell_drops(s);
    }
}

uint32_t
mmi_socket_events(mmi_socket *s, uint64_t from_seq, mm_event *out, uint32_t cap, uint64_t *next_seq)
{
    uint64_t held = s->event_seq < s->event_cap ? s->event_seq : s->event_cap;
    uint64_t oldest = s->event_seq - held + 1;
    uint64_t seq = from_seq > oldest ? from_seq : oldest;
    uint32_t count = 0;
    for (; seq <= s->event_seq && count < cap; seq++) {
        const mm_event *event = &s->events[(seq - 1) % s->event_cap];
        if (event->seq == seq) {   /* else there was no memory for it */
            out[count++] = *event;
        }
    }
    *next_seq = seq;
    return count;
}
