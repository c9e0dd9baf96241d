/*
 * api/inspect.c: waiting for peers and receipts, looking in, and how event loops wait.
 *
 * Law: looking changes nothing; waiting for peers and subscriptions is by event, never by polling.
 */
#include <string.h>

#include "api/api.h"
#include "queue/backlog.h"
#include "socket/ended.h"
#include "socket/group.h"

enum { NS_PER_MS = 1000000 };

/* Waits until look(s, ...) holds. */
typedef bool (*inspect_fn)(mmi_socket *s, const void *arg);

static int
inspect_wait(mm_handle socket, inspect_fn look, const void *arg, uint32_t events,
             int64_t timeout_ms, int64_t slice_ms)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    while (rc == MM_OK && !look(s, arg)) {
        rc = mmi_api_wait_for(s, &w, events, 0);
        mmi_engine_materialize(e);
    }
    return mmi_api_end(e, rc);
}

static bool
inspect_has_peers(mmi_socket *s, const void *arg)
{
    return s->peer_count >= *(const uint32_t *)arg;
}

int
mm_wait_peers(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms)
{
    return inspect_wait(socket, inspect_has_peers, &count, MM_PEERS, timeout_ms, slice_ms);
}

typedef struct inspect_topic {
    const uint8_t *topic;
    size_t size;
    uint32_t count;
} inspect_topic;

/* Also those in groups, though one of each gets a message; of a group whose place is not kept yet
 * none: a crash would forget it. */
static uint32_t
inspect_reach(mmi_socket *s, const uint8_t *topic, size_t size)
{
    uint32_t count = 0;
    MMI_SOCKETS_OF (s, one) {
        count += mmi_group_kept(one) ? one->ops->reach(one->state, topic, size) : 0;
    }
    return count;
}

static bool
inspect_has_subscribers(mmi_socket *s, const void *arg)
{
    const inspect_topic *t = arg;
    return inspect_reach(s, t->topic, t->size) >= t->count;
}

int
mm_wait_subscribers(mm_handle socket, const void *topic, size_t size, uint32_t count,
                    int64_t timeout_ms, int64_t slice_ms)
{
    uint32_t now;
    int rc = mm_subscriber_count(socket, topic, size, &now);
    inspect_topic t = { .topic = topic, .size = size, .count = count };
    return rc != MM_OK
               ? rc
               : inspect_wait(socket, inspect_has_subscribers, &t, MM_PEERS, timeout_ms, slice_ms);
}

static bool
inspect_drained(mmi_socket *s, const void *arg)
{
    mm_drain_info *const *info = arg;
    return mmi_socket_drain_inspect(s, *info);
}

int
mm_drain(mm_handle socket, int64_t timeout_ms, int64_t slice_ms, mm_drain_info *info)
{
    return inspect_wait(socket, inspect_drained, &info, MM_DRAINED | MMI_ROOM | MM_PEERS,
                        timeout_ms, slice_ms);
}

typedef struct inspect_subscribed {
    uint32_t count;
    mm_subscribed_info *info;
} inspect_subscribed;

static bool
inspect_is_subscribed(mmi_socket *s, const void *arg)
{
    const inspect_subscribed *wanted = arg;
    mm_subscribed_info *info = wanted->info;
    bool all = mmi_socket_subscribed_inspect(s, info);
    return all && info->confirmed + info->probable + info->unconfirmable >= wanted->count;
}

int
mm_wait_subscribed(mm_handle socket, uint32_t count, int64_t timeout_ms, int64_t slice_ms,
                   mm_subscribed_info *info)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_api_leave(s, s->ops->subscribe == NULL ? MM_ENOTSUP : MM_OK);
    inspect_subscribed wanted = { .count = count, .info = info };
    return rc != MM_OK ? rc
                       : inspect_wait(socket, inspect_is_subscribed, &wanted, MM_PEERS, timeout_ms,
                                      slice_ms);
}

int
mm_peer_count(mm_handle socket, uint32_t *count)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    *count = s->peer_count;
    return mmi_api_leave(s, MM_OK);
}

int
mm_subscriber_count(mm_handle socket, const void *topic, size_t size, uint32_t *count)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->reach == NULL) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    *count = inspect_reach(s, topic, size);
    return mmi_api_leave(s, MM_OK);
}

int
mm_router_peer(mm_handle socket, const void *identity, size_t size, uint64_t *peer)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->find == NULL) {
        return mmi_api_leave(s, MM_ENOTSUP);
    }
    return mmi_api_leave(s, s->ops->find(s->state, identity, size, peer));
}

int
mm_fileno(mm_handle socket, int *fd)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    return rc == MM_OK ? mmi_api_leave(s, mmi_socket_fileno(s, fd)) : rc;
}

int
mm_mark_unclaimed(mm_handle socket, int some)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    s->unclaimed = some != 0;
    mmi_socket_touch(s);
    return mmi_api_leave(s, MM_OK);
}

int
mm_interrupt(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket_interrupt(s);
    mmi_socket_touch(s);   /* a descriptor's level is right again after that */
    return mmi_api_leave(s, MM_OK);
}

int
mm_waker_open(mm_handle engine, mm_handle *waker, int fds[2])
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_waker *w;
    rc = mmi_waker_open(e, &w);
    if (rc == MM_OK) {
        *waker = w->handle;
        fds[0] = w->outlook >= 0 ? w->outlook : w->notifier;
        fds[1] = w->notifier;
    }
    return mmi_api_end(e, rc);
}

int
mm_waker_close(mm_handle waker)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(waker, MMI_HANDLE_WAKER, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_waker_close(e, object);
    return mmi_api_end(e, MM_OK);
}

int
mm_watch(mm_handle socket, mm_handle waker, uint32_t events)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_waker *w = mmi_handle_object(waker, MMI_HANDLE_WAKER, s->engine);
    if (w == NULL ||
        (events & ~(uint32_t)(MM_READABLE | MM_WRITABLE | MM_PEERS | MM_DRAINED)) != 0) {
        return mmi_api_leave(s, MM_EINVAL);
    }
    return mmi_api_leave(s, mmi_waker_watch(w, s, events));
}

int
mm_waker_take(mm_handle waker, mm_ready *out, uint32_t cap)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(waker, MMI_HANDLE_WAKER, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    return mmi_api_end(e, mmi_waker_take(e, object, out, cap));
}

int
mm_socket_stats(mm_handle socket, mm_stats *out)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket_stats_now(s, out);
    out->dead_messages += s->dead_before;
    MMI_LIST_EACH (&s->groups, node, after) {
        const mmi_socket *group = mmi_group_of(node)->socket;
        out->dead_messages += group->stats.dead_messages;
        out->missing_peers += mmi_back_missing(group->host.back);
    }
    return mmi_api_leave(s, MM_OK);
}

/* What waits in a spool counts as sent. */
static void
inspect_elsewhere(const mmi_socket *s, mm_later *out)
{
    const uint64_t ns_per_us = 1000, us_per_ms = 1000, never = UINT64_MAX;
    uint64_t due = never, now = s->engine->plat.wall_ns(s->engine->plat.self) / ns_per_us;
    out->sent += mmi_back_elsewhere(s->host.back, &due);
    if (due != never) {
        int64_t ms = due > now ? (int64_t)((due - now) / us_per_ms) : 0;
        out->next_ms = out->next_ms < 0 || ms < out->next_ms ? ms : out->next_ms;
    }
}

int
mm_socket_later(mm_handle socket, mm_later *out)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    *out = (mm_later){ .next_ms = -1 };
    if (s->host.back != NULL) {
        mmi_back_tell_later(s->host.back, out);
        inspect_elsewhere(s, out);
    }
    return mmi_api_leave(s, MM_OK);
}

int64_t
mm_now_ms(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    int64_t ms = (int64_t)(s->engine->now_ns / NS_PER_MS);
    mmi_engine_leave_quick(s->engine);
    return ms;
}

int64_t
mm_wall_ms(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    const mmi_plat *plat = &s->engine->plat;
    int64_t ms = (int64_t)(plat->wall_ns(plat->self) / NS_PER_MS);
    mmi_engine_leave_quick(s->engine);
    return ms;
}

/* Fills an array with as many as there is room for, and counts all. */
typedef uint32_t (*inspect_list)(mmi_socket *s, void *out, uint32_t cap);

static int
inspect_all(mm_handle socket, inspect_list list, void *out, uint32_t cap, uint32_t *count)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    *count = list(s, out, cap);
    return mmi_api_leave(s, MM_OK);
}

int
mm_socket_peers(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count)
{
    return inspect_all(socket, mmi_socket_peers, out, cap, count);
}

static void
inspect_copy(void *out, size_t cap, mmi_octets from)
{
    size_t size = from.size < cap ? from.size : cap;
    if (size > 0) {
        memcpy(out, from.data, size);
    }
}

int
mm_peer_more(mm_handle socket, uint64_t peer, void *metadata, size_t metadata_cap,
             void *certificate, size_t certificate_cap)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_octets said, shown;
    rc = mmi_socket_peer_more(s, peer, &said, &shown);
    if (rc == MM_OK) {
        inspect_copy(metadata, metadata_cap, said);
        inspect_copy(certificate, certificate_cap, shown);
    }
    return mmi_api_leave(s, rc);
}

int
mm_peer_address(mm_handle socket, uint64_t peer, char *address, size_t cap)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    const char *found = mmi_socket_peer_address(s, peer);
    if (found != NULL && cap > 0) {
        mmi_text_copy(address, cap, found);
    }
    return mmi_api_leave(s, found != NULL ? MM_OK : MM_ESTATE);
}

int
mm_stop_peers(mm_handle socket, mm_peer *out, uint32_t cap, uint32_t *count)
{
    return inspect_all(socket, mmi_stop_inspect, out, cap, count);
}

int
mm_socket_attempts(mm_handle socket, mm_attempt *out, uint32_t cap, uint32_t *count)
{
    return inspect_all(socket, mmi_socket_attempts, out, cap, count);
}

int
mm_events_open(mm_handle engine, int *fd)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    return rc == MM_OK ? mmi_api_end(e, mmi_events_open(e, fd)) : rc;
}

int
mm_events_take(mm_handle engine, mm_handle *sockets, uint32_t cap)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    return rc == MM_OK ? mmi_api_end(e, mmi_events_take(e, sockets, cap)) : rc;
}

int
mm_ended_take(mm_handle engine, mm_ended *out, uint32_t cap, uint64_t *unlisted, uint32_t *pending)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    int count = (int)mmi_ended_take(e, out, cap);
    *unlisted = cap > 0 ? mmi_ended_take_unlisted(e) : 0;
    *pending = mmi_ended_pending(e);
    return mmi_api_end(e, count);
}

int
mm_events_ring(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    if (e->events_notifier >= 0) {
        e->plat.notifier_ring(e->plat.self, e->events_notifier);
    }
    return mmi_api_end(e, MM_OK);
}

int
mm_events_close(mm_handle engine)
{
    void *object;
    mmi_engine *e;
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_events_close(e);
    return mmi_api_end(e, MM_OK);
}

int
mm_socket_events(mm_handle socket, uint64_t from_seq, mm_event *out, uint32_t cap,
                 uint64_t *next_seq)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (cap == 0) {
        MMI_SOCKETS_OF (s, one) {
            mmi_socket_tell_drops(one);
        }
    }
    return mmi_api_leave(s, (int)mmi_socket_events(s, from_seq, out, cap, next_seq));
}
