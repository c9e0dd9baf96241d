/*
 * listener.c: accepts peers, within limits.
 *
 * Not here: what they say (link.c).  Law: at most half_open_max handshakes are unfinished: a
 * newcomer evicts the oldest, so silent connections cannot lock others out; out of descriptors, it
 * pauses and comes back.
 */
#include <stdio.h>
#include <string.h>

#include "link/link.h"

static int
listener_start(mmi_listener *l, const mmi_url *url, const mmi_addr *addr)
{
    mmi_engine *e = l->socket->engine;
    if (url->scheme == MMI_INPROC) {
        int rc = mmi_inproc_listen(&e->plat, url->host, &l->inproc);
        if (rc == MM_OK) {
            mmi_list_push_back(&e->inproc, &l->inproc_node);
            rc = mmi_url_format(url, l->text, sizeof l->text);
        }
        return rc;
    }
    mmi_addr bound = *addr;
    int rc = e->plat.listen(e->plat.self, &bound, &l->stream);
    if (rc != MM_OK) {
        l->stream = -1;
        return rc;
    }
    mmi_addr_format(&bound, l->text, sizeof l->text);
    return e->plat.watch(e->plat.self, l->stream, MMI_WATCH_READ, l->tag);
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
    l->scheme = url->scheme;
    l->stream = -1;
    l->timer.kind = MMI_TIMER_LISTENER;
    snprintf(l->asked, sizeof l->asked, "%s", asked);
    mmi_list_init(&l->node);
    mmi_list_init(&l->inproc_node);
    mmi_list_init(&l->half_open);
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
    mmi_list_rm(&l->inproc_node);
    if (l->inproc != NULL) {
        mmi_inproc_close(l->inproc);
    }
    if (l->stream >= 0) {
        e->plat.close(e->plat.self, l->stream);
    }
    MMI_LIST_EACH(&l->socket->links, node, after) {
        mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        if (link->listener == l) {
            mmi_list_rm(&link->half_open);
            link->listener = NULL;
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
    if (l->stream >= 0 && e->plat.watch(e->plat.self, l->stream, 0, l->tag) != MM_OK) {
        mmi_timer_clear(&e->timers, &l->timer);
    }
    mmi_list_rm(&l->inproc_node);
}

static void
listener_unpause(mmi_listener *l)
{
    mmi_engine *e = l->socket->engine;
    if (l->stream < 0) {
        mmi_list_push_back(&e->inproc, &l->inproc_node);
    } else if (e->plat.watch(e->plat.self, l->stream, MMI_WATCH_READ, l->tag) != MM_OK) {
        listener_pause(l);
    }
}

static void
listener_evict(mmi_listener *l)
{
    while (l->half_open_count > l->socket->opts.half_open_max) {
        mmi_link *oldest = MMI_CONTAINER_OF(l->half_open.next, mmi_link, half_open);
        mmi_link_close(oldest, MM_REASON_EVICTED, NULL);
    }
}

/* Another user came to an abstract name: the platform let go of it. */
static void
listener_stranger(mmi_listener *l, uint32_t uid)
{
    char detail[MM_DETAIL_MAX + 1];
    snprintf(detail, sizeof detail,
             "its user has the id %u; an abstract name is for the same user and root",
             (unsigned)uid);
    l->socket->stats.closed[MM_REASON_USER]++;
    mmi_socket_event(l->socket, MM_EVENT_HANDSHAKE_FAILED, MM_REASON_USER, 0, 1, l->text, l->text,
                     detail);
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
    mmi_engine *e = s->engine;
    mmi_addr peer = { .kind = MMI_ADDR_NONE };
    char address[MM_ENDPOINT_MAX + 1];
    int stream;
    int rc = l->inproc != NULL ? mmi_inproc_accept(l->inproc, &stream)
                               : e->plat.accept(e->plat.self, l->stream, &stream, &peer);
    if (rc != MM_OK) {
        if (rc == MM_EPERM && l->scheme == MMI_IPC) {
            listener_stranger(l, peer.uid);
        }
        return rc;
    }
    if (peer.kind == MMI_ADDR_NONE || peer.kind == MMI_ADDR_UNIX) {
        snprintf(address, sizeof address, "%s", l->text);
    } else {
        mmi_addr_format(&peer, address, sizeof address);
    }
    if (s->accepted >= s->opts.connections_max && !listener_refuse(l, stream, address)) {
        return MM_OK;
    }
    rc = mmi_link_open(s, NULL, l, stream, false, address);
    listener_evict(l);
    return rc;
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
