/*
 * ends/listener.c: accepts peers, within limits.
 *
 * Not here: what they say (link).  Law: at most half_open_max handshakes are unfinished: a
 * newcomer evicts the oldest, of an address that has many before others, so silent connections
 * cannot lock others out; out of descriptors, it pauses and comes back.
 */
#include <stdio.h>
#include <string.h>

#include "ends/ends.h"
#include "link/link.h"
#include "socket/group.h"

static int
listener_watch(mmi_listener *l)
{
    mmi_engine *e = l->socket->engine;
    if (l->tran->pending != NULL) {
        mmi_list_push_back(&e->rung, &l->rung_node);
        return MM_OK;
    }
    return e->plat.watch(e->plat.self, l->at.stream, MMI_WATCH_READ, l->tag);
}

static int
listener_start(mmi_listener *l, const mmi_url *url, const mmi_addr *addr)
{
    mmi_engine *e = l->socket->engine;
    l->at.open = mmi_users_open(l->socket);
    int rc = l->tran->listen(&e->plat, url, addr, &l->at, l->text, sizeof l->text);
    l->listening = rc == MM_OK;
    return rc == MM_OK ? listener_watch(l) : rc;
}

int
mmi_listener_open(mmi_socket *s, const mmi_url *url, const mmi_addr *addr, const char *asked,
                  mmi_listener **out)
{
    mmi_listener *l = mmi_alloc(sizeof *l);
    if (l == NULL) {
        return MM_ENOMEM;
    }
    l->socket = s;
    l->tran = mmi_tran_of(url);
    l->timer.kind = MMI_TIMER_LISTENER;
    snprintf(l->asked, sizeof l->asked, "%s", asked);
    mmi_list_init(&l->node);
    mmi_list_init(&l->rung_node);
    mmi_half_open_init(&l->half_open);
    int rc = mmi_tag_new(s->engine, MMI_TAG_LISTENER, l, &l->tag);
    if (rc == MM_OK) {
        rc = listener_start(l, url, addr);
    }
    if (rc != MM_OK) {
        mmi_listener_close(l);
        return rc;
    }
    mmi_list_push_back(&s->listeners, &l->node);
    mmi_socket_event(s, MM_EVENT_LISTENING, MM_REASON_NONE, 0, 1, l->text, NULL, NULL);
    *out = l;
    return MM_OK;
}

void
mmi_listener_close(mmi_listener *l)
{
    mmi_engine *e = l->socket->engine;
    mmi_timer_clear(&e->timers, &l->timer);
    mmi_tag_free(e, l->tag);
    mmi_list_rm(&l->node);
    mmi_list_rm(&l->rung_node);
    if (l->listening) {
        l->tran->close(&e->plat, &l->at);
    }
    mmi_half_open_fini(&l->half_open);
    MMI_SOCKETS_OF (l->socket, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            mmi_link_forget_listener(MMI_CONTAINER_OF(node, mmi_link, node), l);
        }
    }
    mmi_free(l);
}

static void
listener_pause(mmi_listener *l)
{
    mmi_engine *e = l->socket->engine;
    if (mmi_timer_set(&e->timers, &l->timer, mmi_deadline(e->now_ns, MMI_ACCEPT_PAUSE_MS)) !=
        MM_OK) {
        return;   /* stays watched: it is tried again at once */
    }
    if (l->tran->pending != NULL) {
        mmi_list_rm(&l->rung_node);
    } else if (e->plat.watch(e->plat.self, l->at.stream, 0, l->tag) != MM_OK) {
        mmi_timer_clear(&e->timers, &l->timer);
    }
}

static void
listener_unpause(mmi_listener *l)
{
    if (listener_watch(l) != MM_OK) {
        listener_pause(l);
    }
}

static void
listener_evict(mmi_listener *l)
{
    while (l->half_open.count > l->socket->opts.half_open_max) {
        mmi_half_open_place *place = mmi_half_open_surplus(&l->half_open);
        mmi_link_close(MMI_CONTAINER_OF(place, mmi_link, half_open), MM_REASON_EVICTED, NULL);
    }
}

/* Whoever holds a place with nothing but an unfinished handshake, and has had his time, gives it
 * to who comes. */
static bool
listener_give_place(mmi_listener *l)
{
    mmi_half_open_place *place = mmi_half_open_surplus(&l->half_open);
    mmi_link *link = place != NULL ? MMI_CONTAINER_OF(place, mmi_link, half_open) : NULL;
    if (link == NULL ||
        l->socket->engine->now_ns < mmi_deadline(link->started_ns, MMI_HALF_OPEN_SURE_MS)) {
        return false;
    }
    mmi_link_close(link, MM_REASON_EVICTED, NULL);
    return true;
}

/* The next who came, if his user may. */
static int
listener_next(mmi_listener *l, int *stream, mmi_addr *peer, mmi_tran_why *why)
{
    const mmi_plat *p = &l->socket->engine->plat;
    int rc = l->tran->accept(p, &l->at, stream, peer, why);
    if (rc == MM_OK && (l->tran->flags & MMI_TRAN_USERS) != 0) {
        rc = mmi_user_fits(l->socket, *stream, false, why);
        if (rc != MM_OK) {
            p->close(p->self, *stream);
        }
    }
    return rc;
}

/* Somebody came who was let go of again. */
static void
listener_turned_away(mmi_listener *l, const mmi_tran_why *why)
{
    l->socket->stats.closed[why->reason]++;
    mmi_socket_event(l->socket, MM_EVENT_HANDSHAKE_FAILED, why->reason, 0, 1, l->text, l->text,
                     why->detail[0] != '\0' ? why->detail : NULL);
}

/* One connection too many: that is told here at once; and to the peer, once it listens, if there
 * are not too many of those.  false: the stream was closed. */
static bool
listener_refuse(mmi_listener *l, int stream, const char *address)
{
    mmi_socket *s = l->socket;
    char detail[MM_DETAIL_MAX + 1];
    snprintf(detail, sizeof detail, "too many connections: connections_max is %u",
             s->opts.connections_max);
    s->stats.closed[MM_REASON_CONNECTIONS]++;
    mmi_socket_event(s, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_CONNECTIONS, 0, 1, l->text, address,
                     detail);
    if (s->refusing < MMI_REFUSING_MAX) {
        return true;
    }
    s->engine->plat.close(s->engine->plat.self, stream);
    return false;
}

static int
listener_take(mmi_listener *l)
{
    mmi_socket *s = l->socket;
    mmi_addr peer = { .kind = MMI_ADDR_NONE };
    char address[MM_ENDPOINT_MAX + 1];
    int stream;
    mmi_tran_why why = { .reason = MM_REASON_NONE };
    int rc = listener_next(l, &stream, &peer, &why);
    if (rc != MM_OK) {
        if (why.reason != MM_REASON_NONE) {
            listener_turned_away(l, &why);
        }
        return rc;
    }
    if (peer.kind == MMI_ADDR_NONE) {
        snprintf(address, sizeof address, "%s", l->text);
    } else {
        mmi_addr_format(&peer, l->tran->scheme, address, sizeof address);
    }
    if (s->accepted >= s->opts.connections_max && !listener_give_place(l) &&
        !listener_refuse(l, stream, address)) {
        return MM_OK;
    }
    rc = mmi_link_open(s, NULL, l, stream, false, &peer, address);
    listener_evict(l);
    return rc;
}

bool
mmi_listener_rung(const mmi_listener *l)
{
    return l->tran->pending(&l->at);
}

void
mmi_listener_accept(mmi_listener *l)
{
    int rc = MM_OK;
    for (int i = 0; i < MMI_ACCEPTS_PER_STEP && rc != MM_EAGAIN; i++) {
        rc = listener_take(l);
        if (rc == MM_EMFILE || rc == MM_ENOMEM) {
            mmi_part_yield(l->socket->engine);
            if (!l->paused) {
                l->paused = true;
                mmi_socket_event(l->socket, MM_EVENT_ACCEPT_PAUSED, MM_REASON_NONE, 0, 1, l->text,
                                 NULL, mm_strerror(rc));
            }
            listener_pause(l);
            return;
        }
    }
    if (l->paused) {
        l->paused = false;
        listener_unpause(l);
        mmi_socket_event(l->socket, MM_EVENT_ACCEPT_RESUMED, MM_REASON_NONE, 0, 1, l->text, NULL,
                         NULL);
    }
}
