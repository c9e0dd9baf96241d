/*
 * ends/socket.c: the life of a socket: open, closed but lingering, gone.
 *
 * Not here: what it is ready for (socket/ready.c), waiting (sched), looking in (ends/inspect.c).
 * Law: after mmi_socket_close no user call reaches it; it is freed by settle, once its links are
 * gone.
 */
#include "ends/ends.h"
#include "link/link.h"
#include "socket/ended.h"
#include "socket/allowed.h"
#include "socket/group.h"

static const mmi_socket_ends socket_ends = {
    .stopped = mmi_socket_stopped,
    .ended = mmi_socket_ended,
    .link_ended = mmi_dialer_link_ended,
};

static mmi_socket *
socket_new(mmi_engine *e, const mmi_proto_ops *ops, const mm_socket_opts *opts)
{
    mmi_socket *s = mmi_alloc(sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->state = mmi_alloc(ops->sock_size > 0 ? ops->sock_size : 1);
    if (s->state == NULL) {
        mmi_free(s);
        return NULL;
    }
    s->engine = e;
    s->ops = ops;
    s->opts = *opts;
    /* What may have to be dropped again, oldest first, stays as it is. */
    s->segments = ops->segments && opts->overflow != MM_OVERFLOW_DROP_OLDEST;
    s->fileno = -1;
    s->allow_timeout_ms = MMI_ALLOW_TIMEOUT_MS;
    s->ends = &socket_ends;
    mmi_socket_host(s);
    if ((opts->flags & MM_OPT_AT_LEAST_ONCE) != 0) {
        for (size_t i = 0; i < sizeof s->producer; i++) {
            s->producer[i] = (uint8_t)mmi_engine_random(e);
        }
    }
    mmi_list *lists[] = { &s->node,    &s->touched, &s->deferring, &s->dialers,
                          &s->told,    &s->groups,  &s->listeners, &s->links,
                          &s->waiters, &s->watches, &s->stop_ended };
    for (size_t i = 0; i < MMI_COUNT_OF(lists); i++) {
        mmi_list_init(lists[i]);
    }
    s->linger_timer.kind = MMI_TIMER_LINGER;
    s->drops_timer.kind = MMI_TIMER_DROPS;
    s->tick_timer.kind = MMI_TIMER_TICK;
    s->stop_timer.kind = MMI_TIMER_STOP;
    s->expire_timer.kind = MMI_TIMER_EXPIRE;
    return s;
}

/* Who ticks has its timer set from the start, so that setting it never fails. */
static int
socket_register(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    if (s->ops->tick != NULL || s->ops->acks) {
        int rc = mmi_timer_set(&e->timers, &s->tick_timer, UINT64_MAX);
        if (rc != MM_OK) {
            return rc;
        }
    }
    s->handle = mmi_handle_new(MMI_HANDLE_SOCKET, e, s);
    if (s->handle == 0) {
        mmi_timer_clear(&e->timers, &s->tick_timer);
        return MM_EMFILE;
    }
    return MM_OK;
}

int
mmi_socket_open(mmi_engine *e, int role, const mm_socket_opts *opts, mmi_socket **out)
{
    const mmi_proto_ops *ops = mmi_proto_find(role);
    return ops != NULL ? mmi_socket_make(e, ops, opts, out) : MM_EINVAL;
}

int
mmi_socket_make(mmi_engine *e, const mmi_proto_ops *ops, const mm_socket_opts *opts,
                mmi_socket **out)
{
    mmi_socket *s = socket_new(e, ops, opts);
    if (s == NULL) {
        return MM_ENOMEM;
    }
    int rc = ops->init(s->state, &s->host);
    if (rc == MM_OK && (rc = socket_register(s)) != MM_OK) {
        ops->fini(s->state);
    }
    if (rc != MM_OK) {
        mmi_free(s->state);
        mmi_free(s);
        return rc;
    }
    mmi_list_push_back(&e->sockets, &s->node);
    *out = s;
    return MM_OK;
}

static void
socket_close_waiters(mmi_socket *s)
{
    mmi_list *node;
    while ((node = mmi_list_pop_front(&s->waiters)) != NULL) {
        mmi_waiter_wake(s->engine, MMI_CONTAINER_OF(node, mmi_waiter, node), MMI_WAITER_CLOSED);
    }
}

/* Before its endpoints are gone. */
static void
socket_begin_end(mmi_socket *s)
{
    const char *endpoint = NULL;
    if (!mmi_list_empty(&s->listeners)) {
        endpoint = MMI_CONTAINER_OF(s->listeners.next, mmi_listener, node)->text;
    } else if (!mmi_list_empty(&s->dialers)) {
        endpoint = MMI_CONTAINER_OF(s->dialers.next, mmi_dialer, node)->text;
    }
    mmi_ended_begin(s, endpoint);
}

/* If it is a group, it is none of its PUB any more. */
static void
socket_leave_home(mmi_socket *s)
{
    if (s->group == NULL) {
        return;
    }
    s->group->home->dead_before += s->stats.dead_messages;
    mmi_socket_tell_drops(s); /* nobody asks for them any more */
    mmi_list_rm(&s->group->node);
    MMI_LIST_EACH (&s->links, node, after) { /* nobody tells them any more that it is gone */
        MMI_CONTAINER_OF(node, mmi_link, node)->listener = NULL;
    }
}

static void
socket_free_group(mmi_socket *s)
{
    if (s->group != NULL) {
        mmi_socket *home = s->group->home;
        home->behind--;
        if (home->closing) {
            mmi_socket_touch(home); /* it may have waited for that */
        }
        mmi_free(s->group);
    }
}

void
mmi_socket_close(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    if (s->closing) {
        return;
    }
    mmi_engine_materialize(e);
    s->closing = s->host.closing = true;
    socket_begin_end(s);
    mmi_list_rm(&s->told);
    mmi_handle_free(s->handle);
    s->handle = 0;
    socket_close_waiters(s);
    mmi_socket_unwatch(s);
    mmi_socket_no_arrivals(s);
    MMI_LIST_EACH (&s->groups, node, after) {
        mmi_socket_close(mmi_group_of(node)->socket);
    }
    socket_leave_home(s);
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link_finish(MMI_CONTAINER_OF(node, mmi_link, node));
    }
    uint64_t end = mmi_deadline(e->now_ns, s->opts.linger_ms);
    if (s->opts.linger_ms == 0 || mmi_timer_set(&e->timers, &s->linger_timer, end) != MM_OK) {
        mmi_socket_end(s);
    }
    mmi_socket_touch(s);
}

/* From now on, if this is what decides it: the first such does, and without a peer none. */
static void
socket_end_why(mmi_socket *s, mmi_end_why why)
{
    if (!s->ended && s->peer_count > 0 && s->end.why < MMI_END_LINGER) {
        s->end.why = why;
    }
}

void
mmi_socket_end(mmi_socket *s)
{
    mmi_socket_close(s);
    socket_end_why(s, MMI_END_LINGER);
    s->ended = true;
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link_part(MMI_CONTAINER_OF(node, mmi_link, node), MM_REASON_LOCAL, NULL);
    }
    mmi_socket_touch(s);
}

void
mmi_socket_cut(mmi_socket *s)
{
    mmi_socket_close(s);
    socket_end_why(s, MMI_END_ENGINE);
    mmi_socket_end(s);
    MMI_LIST_EACH (&s->links, node, after) {
        mmi_link_close(MMI_CONTAINER_OF(node, mmi_link, node), MM_REASON_LOCAL, NULL);
    }
}

/* A link of its is closed, and a thread still reads or writes it, or is in a step of a mechanism,
 * which asks lists that go with the socket. */
static bool
socket_in_use(const mmi_socket *s)
{
    MMI_LIST_EACH (&s->engine->dead, node, after) {
        if (MMI_CONTAINER_OF(node, mmi_link, node)->socket == s) {
            return true;
        }
    }
    return !mmi_list_empty(&s->links) || s->pins > 0 || s->behind > 0;
}

void
mmi_socket_reap(mmi_socket *s)
{
    mmi_engine *e = s->engine;
    if (s->peer_count == 0) {
        mmi_ended_tell(s);   /* links that part may stay for long */
    }
    if (socket_in_use(s)) {
        return;
    }
    s->ops->fini(s->state);
    mmi_timer_clear(&e->timers, &s->linger_timer);
    mmi_timer_clear(&e->timers, &s->drops_timer);
    mmi_timer_clear(&e->timers, &s->tick_timer);
    mmi_timer_clear(&e->timers, &s->stop_timer);
    mmi_timer_clear(&e->timers, &s->expire_timer);
    mmi_list_rm(&s->node);
    mmi_list_rm(&s->touched);
    mmi_list_rm(&s->deferring);
    mmi_free(s->state);
    mmi_free(s->resume);
    mmi_free(s->events);
    mmi_free(s->end.endpoint);
    mmi_stop_fini(s);
    mmi_allowed_free(s->allowed);
    if (s->group == NULL && s->outer != NULL && s->outer->forget != NULL) {
        s->outer->forget((void *)s->outer_config);
    }
    socket_free_group(s);
    mmi_free(s);
}

void
mmi_socket_tick(mmi_socket *s)
{
    uint64_t now = s->engine->now_ns, next = mmi_acks_tick(&s->host, now);
    uint64_t role = s->ops->tick != NULL ? s->ops->tick(s->state, now) : UINT64_MAX;
    next = role < next ? role : next;
    int rc = mmi_timer_set(&s->engine->timers, &s->tick_timer, next);
    MMI_ASSERT(rc == MM_OK);   /* it has had its place in the heap since the socket was opened */
    if (s->host.back != NULL) { /* what was due is now where it may expire, or has left room */
        mmi_socket_expiring(s);
        mmi_socket_note(s, MMI_ROOM | MM_DRAINED);
        mmi_finish_look(s);
    }
    if (s->host.retained != NULL) { /* there may be nothing for who subscribed */
        mmi_socket_note(s, MM_DRAINED);
    }
    mmi_socket_touch(s);
}
