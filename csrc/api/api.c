/*
 * api.c: engines, sockets, endpoints, subscriptions, fileno, wakers: handle, lock, call, leave.
 *
 * Not here: sending and receiving (api/send.c), waiting for peers and looking in (api/inspect.c).
 * Law: every argument is checked here, once; nothing a user passes reaches an assertion.
 */
#include "api/api.h"

#include <stdio.h>
#include <string.h>

/* It was locked, or was not. */
static int
api_entered(int rc, mmi_engine *e, void *object, mmi_socket **s)
{
    if (rc == MM_OK) {
        *s = object;
        mmi_engine_refresh(e);
        mmi_engine_materialize(e);
    }
    return rc;
}

int
mmi_api_enter(mm_handle socket, mmi_socket **s)
{
    mmi_engine *e = NULL;
    void *object = NULL;
    int rc = mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e);
    return api_entered(rc, e, object, s);
}

int
mmi_api_enter_last(mm_handle socket, mmi_socket **s)
{
    mmi_engine *e = NULL;
    void *object = NULL;
    int rc = mmi_handle_lock_last(socket, MMI_HANDLE_SOCKET, &object, &e);
    return api_entered(rc, e, object, s);
}

int
mmi_api_enter_quick(mm_handle socket, mmi_socket **s)
{
    mmi_engine *e;
    void *object;
    int rc = mmi_handle_lock(socket, MMI_HANDLE_SOCKET, &object, &e);
    if (rc == MM_OK) {
        *s = object;
    }
    return rc;
}

int
mmi_api_end(mmi_engine *e, int rc)
{
    mmi_engine_leave(e);
    return rc;
}

int
mmi_api_leave(mmi_socket *s, int rc)
{
    return mmi_api_end(s->engine, rc);
}

void
mmi_api_note(mm_handle socket, uint32_t events)
{
    mmi_socket *s;
    if (mmi_api_enter_quick(socket, &s) == MM_OK) {
        mmi_socket_note(s, events);
        (void)mmi_api_leave(s, MM_OK);
    }
}

uint64_t
mmi_api_deadline(const mmi_socket *s, mmi_api_wait *w)
{
    if (!w->started) {
        w->started = true;
        w->deadline_ns = mmi_deadline(s->engine->now_ns, w->timeout_ms);
    }
    return w->deadline_ns;
}

int
mmi_api_wait_for(mmi_socket *s, mmi_api_wait *w, uint32_t events, uint64_t key)
{
    return w->timeout_ms == 0
               ? MM_EAGAIN
               : mmi_socket_wait(s, events, key, mmi_api_deadline(s, w), w->slice_ms);
}

int
mm_engine_open(uint32_t flags, mm_handle *engine)
{
    if ((flags & ~(uint32_t)MM_ENGINE_POLL) != 0 || engine == NULL) {
        return MM_EINVAL;
    }
    mmi_plat plat;
    int rc = mmi_plat_posix((flags & MM_ENGINE_POLL) != 0, &plat);
    return rc == MM_OK ? mmi_engine_open(&plat, engine) : rc;
}

int
mm_sim_engine_open(mm_handle world, mm_handle *engine)
{
    mmi_sim *sim = mmi_sim_find(world);
    if (sim == NULL || engine == NULL) {
        return MM_EINVAL;
    }
    mmi_plat plat;
    int rc = mmi_sim_plat(sim, &plat);
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_engine_open(&plat, engine);
    if (rc == MM_OK) {
        void *object;
        mmi_engine *e;
        rc = mmi_handle_lock(*engine, MMI_HANDLE_ENGINE, &object, &e);
        if (rc == MM_OK) {
            mmi_sim_attach(&e->plat, mmi_engine_step_now, e);
            mmi_engine_leave(e);
        }
    }
    return rc;
}

int
mm_engine_end(mm_handle engine, int64_t timeout_ms, uint64_t *abandoned_messages, mm_ended *out,
              uint32_t cap)
{
    void *object;
    mmi_engine *e;
    mmi_engine_lost lost = { .ended = out, .cap = cap };
    int rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc == MM_OK) {
        rc = mmi_engine_close(e, timeout_ms < 0 ? MMI_LINGER_MS : timeout_ms, &lost);
    }
    if (abandoned_messages != NULL) {
        *abandoned_messages = lost.messages;
    }
    return rc == MM_OK ? (int)lost.count : rc;
}

int
mm_engine_close(mm_handle engine, int64_t timeout_ms, uint64_t *abandoned_messages)
{
    return mm_engine_end(engine, timeout_ms, abandoned_messages, NULL, 0);
}

int
mm_live_handles(void)
{
    return mmi_handle_count();
}

int
mm_socket_open(mm_handle engine, int role, const mm_socket_opts *opts, mm_handle *socket)
{
    mm_socket_opts defaults;
    int rc = mm_socket_defaults(role, &defaults);
    opts = opts != NULL ? opts : &defaults;
    if (rc != MM_OK || !mmi_api_opts_valid(mmi_proto_find(role), opts)) {
        return MM_EINVAL;
    }
    void *object;
    mmi_engine *e;
    rc = mmi_handle_lock(engine, MMI_HANDLE_ENGINE, &object, &e);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket *s;
    rc = mmi_socket_open(e, role, opts, &s);
    if (rc == MM_OK) {
        *socket = s->handle;
    }
    return mmi_api_end(e, rc);
}

int
mm_socket_close(mm_handle socket)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_socket_close(s);
    return mmi_api_end(e, MM_OK);
}

/* Whether an outer mechanism protects it is said twice, by the endpoint and by the socket, and no
 * two mechanisms seal.  MM_EADDRINVAL: one says so and the other does not; MM_EINVAL. */
static int
api_outer_agrees(const mmi_socket *s, const mmi_url *url, bool dials)
{
    const mmi_mechanism *outer = s->outer;
    if (url->outer != (outer != NULL)) {
        return MM_EADDRINVAL;
    }
    if (outer == NULL) {
        return MM_OK;
    }
    if (mmi_mechanism_seals(s->mechanism)) {
        return MM_EINVAL;
    }
    return outer->may == NULL ? MM_OK : outer->may(s->outer_config, dials);
}

int
mmi_api_keep(mmi_socket *s, const void *config, size_t size, const void **kept)
{
    if (!mmi_api_fresh(s)) {
        return MM_ESTATE;
    }
    *kept = mmi_engine_policy(s->engine, config, size);
    return *kept != NULL ? MM_OK : MM_ENOMEM;
}

int
mmi_api_protect(mmi_socket *s, const mmi_mechanism *mechanism, const void *config, size_t size)
{
    const void *kept;
    int rc = mmi_api_keep(s, config, size, &kept);
    if (rc == MM_OK) {
        s->mechanism = mechanism;
        s->mechanism_config = kept;
    }
    return rc;
}

/* Where to listen. The engine's lock is dropped while that is looked up: *s may be gone after. */
static int
api_bind_addr(mmi_socket **s, mm_handle socket, const mmi_url *url, mmi_addr *out)
{
    mmi_engine *e = (*s)->engine;
    const mmi_tran *tran = mmi_tran_of(url);
    int rc = MM_OK;
    if (tran->locate != NULL) {
        mmi_engine_unlock(e);
        rc = tran->locate(&e->plat, url, out);
        mmi_engine_relock(e);
        *s = mmi_handle_object(socket, MMI_HANDLE_SOCKET, e);
    }
    if (*s == NULL) {
        return MM_ECLOSED;
    }
    bool near = (tran->flags & MMI_TRAN_LOCAL) != 0 || mmi_addr_loopback(out);
    bool safe = near || mmi_mechanism_seals((*s)->mechanism) || (*s)->outer != NULL ||
                ((*s)->opts.flags & MM_OPT_INSECURE) != 0;
    rc = rc == MM_OK ? api_outer_agrees(*s, url, false) : rc;
    return rc == MM_OK && !safe ? MM_EINSECURE : rc;
}

int
mm_bind(mm_handle socket, const char *url, char *bound, size_t bound_size)
{
    mmi_url parsed;
    int rc = mmi_tran_parse(url, MM_USE_BIND, &parsed, NULL);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->host.stopping) {
        return mmi_api_leave(s, MM_ESTATE);
    }
    mmi_engine *e = s->engine;
    mmi_addr addr = { .kind = MMI_ADDR_NONE };
    mmi_listener *l = NULL;
    rc = api_bind_addr(&s, socket, &parsed, &addr);
    if (rc == MM_OK && s->host.stopping) {
        rc = MM_ESTATE;   /* since the name was looked up */
    }
    if (rc == MM_OK) {
        rc = mmi_listener_open(s, &parsed, &addr, url, &l);
    }
    if (rc == MM_OK && bound_size > 0) {
        snprintf(bound, bound_size, "%s", l->text);
    }
    return mmi_api_end(e, rc);
}

static int
api_connect(mm_handle socket, const char *url, const uint8_t *identity, size_t size,
            const mmi_expected *who)
{
    mmi_url parsed;
    int rc = mmi_tran_parse(url, MM_USE_CONNECT, &parsed, NULL);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->host.stopping) {
        return mmi_api_leave(s, MM_ESTATE);
    }
    bool mute = !parsed.wire->hello->speaks(s->ops->is.number);
    bool nameless = size > 0 && s->ops->find == NULL;
    bool unproved = who != NULL && s->outer == NULL;
    rc = mute || nameless ? MM_ENOTSUP : api_outer_agrees(s, &parsed, true);
    rc = rc == MM_OK && unproved ? MM_EINVAL : rc;
    return mmi_api_leave(s, rc != MM_OK ? rc : mmi_dialer_open(s, &parsed, identity, size, who));
}

int
mm_connect(mm_handle socket, const char *url)
{
    return api_connect(socket, url, NULL, 0, NULL);
}

int
mm_connect_as(mm_handle socket, const char *url, const void *identity, size_t size)
{
    const uint8_t *name = identity;
    bool valid = size > 0 && size <= MM_IDENTITY_MAX && name[0] != 0;
    return valid ? api_connect(socket, url, name, size, NULL) : MM_EINVAL;
}

int
mm_connect_node(mm_handle socket, const char *url, const uint8_t *key, const char *name)
{
    mmi_expected who;
    size_t size = strnlen(name, sizeof who.name);
    if (size == 0 || size == sizeof who.name) {
        return MM_EINVAL;
    }
    memcpy(who.key, key, sizeof who.key);
    memcpy(who.name, name, size + 1);
    return api_connect(socket, url, NULL, 0, &who);
}

int
mm_unbind(mm_handle socket, const char *url)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_url parsed;
    rc = MM_ENOENT;
    MMI_LIST_EACH (&s->listeners, node, after) {
        mmi_listener *l = MMI_CONTAINER_OF(node, mmi_listener, node);
        if (strcmp(l->text, url) == 0 || strcmp(l->asked, url) == 0) {
            mmi_listener_close(l);
            rc = MM_OK;
            break;
        }
    }
    if (rc != MM_OK) {
        int bad = mmi_tran_parse(url, 0, &parsed, NULL);
        rc = bad != MM_OK ? bad : rc;
    }
    return mmi_api_leave(s, rc);
}

/* What connects to that endpoint: of several the first that knows its node, or that does not. */
static mmi_dialer *
api_dialer(mmi_socket *s, const char *text, bool expects)
{
    mmi_dialer *other = NULL;
    MMI_LIST_EACH (&s->dialers, node, after) {
        mmi_dialer *d = MMI_CONTAINER_OF(node, mmi_dialer, node);
        if (strcmp(d->text, text) == 0) {
            if (d->expects == expects) {
                return d;
            }
            other = other != NULL ? other : d;
        }
    }
    return other;
}

int
mm_leave(mm_handle socket, const char *url, int how)
{
    mmi_url parsed;
    char text[MM_ENDPOINT_MAX + 1];
    int rc = (how & ~(MM_LEAVE_NODE | MM_LEAVE_LATER)) == 0 ? MM_OK : MM_EINVAL;
    rc = rc == MM_OK ? mmi_tran_parse(url, 0, &parsed, NULL) : rc;
    if (rc != MM_OK || (rc = mmi_url_format(&parsed, text, sizeof text)) != MM_OK) {
        return rc;
    }
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_dialer *d = api_dialer(s, text, (how & MM_LEAVE_NODE) != 0);
    if (d == NULL) {
        return mmi_api_leave(s, MM_ENOENT);
    }
    if ((how & MM_LEAVE_LATER) != 0) {
        mmi_dialer_retire(d);
    } else {
        mmi_dialer_close(d);
    }
    return mmi_api_leave(s, MM_OK);
}

int
mm_disconnect(mm_handle socket, const char *url)
{
    return mm_leave(socket, url, 0);
}

static int
api_subscribe(mm_handle socket, bool add, const uint8_t *topic, size_t size)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->subscribe == NULL) {
        rc = MM_ENOTSUP;
    } else if (size > s->opts.topic_size_max) {
        rc = MM_EMSGSIZE;
    } else if (s->member_of[0] != '\0' && !mmi_api_fresh(s)) {
        rc = MM_ESTATE;   /* its topics stay */
    } else {
        rc = s->ops->subscribe(s->state, add, topic, size);
        mmi_socket_touch(s);
    }
    return mmi_api_leave(s, rc);
}

int
mm_subscribe(mm_handle socket, const void *topic, size_t size)
{
    return api_subscribe(socket, true, topic, size);
}

int
mm_unsubscribe(mm_handle socket, const void *topic, size_t size)
{
    return api_subscribe(socket, false, topic, size);
}

int
mm_grant(mm_handle socket, uint64_t peer, int add, const void *topic, size_t size)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->ops->grant == NULL) {
        rc = MM_ENOTSUP;
    } else if (size > s->opts.topic_size_max) {
        rc = MM_EMSGSIZE;
    } else {
        rc = s->ops->grant(s->state, peer, add != 0, topic, size);
        mmi_socket_note(s, MM_PEERS);
    }
    return mmi_api_leave(s, rc);
}

int
mm_welcome(mm_handle socket, const void *body, size_t size)
{
    mmi_msg *m = mmi_msg_copy(body, size);
    if (m == NULL) {
        return MM_ENOMEM;
    }
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        mmi_msg_unref(m);
        return rc;
    }
    if (s->ops->set_welcome == NULL) {
        rc = MM_ENOTSUP;
    } else if (size > s->opts.message_size_max) {
        rc = MM_EMSGSIZE;
    }
    if (rc == MM_OK) {
        s->ops->set_welcome(s->state, m);
    } else {
        mmi_msg_unref(m);
    }
    return mmi_api_leave(s, rc);
}
