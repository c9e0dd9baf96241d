/*
 * ends/dialer.c: keeps one connection to an endpoint: resolve, connect, and again after it ended.
 *
 * Not here: the connection (link).  Law: between two attempts lies a random time up to a cap that
 * doubles, from reconnect_min to reconnect_max (full jitter); a link that lived for
 * DIALER_STABLE_NS starts it over, or for DIALER_HEARD_NS if it ended as its peer fell silent; who
 * was denied by a server waits half of reconnect_max at least;
 * names are looked up anew for each round of addresses.  What a transport finds at no cost
 * (redial_ms) is looked for all the time while nobody listens there; who listens, and ends links at
 * once, is dialed as any other.
 */
#include <stdio.h>
#include <string.h>

#include "ends/ends.h"
#include "link/link.h"

static const uint64_t DIALER_STABLE_NS = 1000000000;
static const uint64_t DIALER_NS_PER_MS = 1000000;
static const uint64_t DIALER_HEARD_NS = MMI_PART_MS * 1000000ull;
enum { DIALER_DOUBLINGS_MAX = 20 };

static void dialer_attempt(mmi_dialer *d);

static bool
dialer_named(const mmi_socket *s, const uint8_t *identity, size_t size)
{
    MMI_LIST_EACH (&s->dialers, node, after) {
        const mmi_dialer *d = MMI_CONTAINER_OF(node, mmi_dialer, node);
        if (d->identity_size == size && memcmp(d->identity, identity, size) == 0) {
            return true;
        }
    }
    return false;
}

int
mmi_dialer_open(mmi_socket *s, const mmi_url *url, const uint8_t *identity, size_t size,
                const mmi_expected *who)
{
    if (size > 0 && dialer_named(s, identity, size)) {
        return MM_ESTATE;
    }
    mmi_dialer *d = mmi_alloc(sizeof *d);
    if (d == NULL) {
        return MM_ENOMEM;
    }
    if (size > 0) {
        memcpy(d->identity, identity, size);
        d->identity_size = (uint32_t)size;
    }
    if (who != NULL) {
        d->expects = true;
        d->who = *who;
    }
    d->socket = s;
    d->url = *url;
    d->tran = mmi_tran_of(url);
    d->timer.kind = MMI_TIMER_DIALER;
    int rc = mmi_url_format(url, d->text, sizeof d->text);
    if (rc == MM_OK) {
        rc = mmi_tag_new(s->engine, MMI_TAG_DIALER, d, &d->tag);
    }
    if (rc != MM_OK) {
        mmi_free(d);
        return rc;
    }
    mmi_list_push_back(&s->dialers, &d->node);
    dialer_attempt(d);
    return MM_OK;
}

static void
dialer_close(mmi_dialer *d, void (*leave)(mmi_link *link))
{
    mmi_engine *e = d->socket->engine;
    mmi_link *link = d->link;
    e->plat.resolve_forget(e->plat.self, d->tag);
    mmi_timer_clear(&e->timers, &d->timer);
    mmi_tag_free(e, d->tag);
    mmi_list_rm(&d->node);
    if (link != NULL) {
        mmi_link_forget_dialer(link);
        leave(link);
    }
    mmi_socket_touch(d->socket); /* all others may have finished */
    mmi_free(d);
}

void
mmi_dialer_close(mmi_dialer *d)
{
    dialer_close(d, mmi_link_leave);
}

void
mmi_dialer_retire(mmi_dialer *d)
{
    dialer_close(d, mmi_link_retire);
}

/* The longest time until the next attempt: what is looked for all the time is so as long as it is
 * not there. */
static uint64_t
dialer_cap_ms(mmi_dialer *d)
{
    const mm_socket_opts *o = &d->socket->opts;
    uint32_t doublings = d->refused_by != 0 ? d->refusals : d->attempt;
    uint64_t cap_ms = o->reconnect_min_ms;
    for (uint32_t i = 0; i < doublings && cap_ms < o->reconnect_max_ms; i++) {
        cap_ms *= 2;
    }
    d->attempt += d->attempt < DIALER_DOUBLINGS_MAX;
    d->refusals += d->refused_by != 0 && d->refusals < DIALER_DOUBLINGS_MAX;
    if (d->tran->redial_ms > 0 && d->refused_by == 0) {
        return d->tran->redial_ms;
    }
    return cap_ms < o->reconnect_max_ms ? cap_ms : o->reconnect_max_ms;
}

/* Whoever refused it is not dialed again before its time, but another one is that comes to listen
 * there: it is looked for that often. */
static int
dialer_arm(mmi_dialer *d, uint64_t at_ns)
{
    mmi_engine *e = d->socket->engine;
    uint64_t look_ns = e->now_ns + d->tran->redial_ms * DIALER_NS_PER_MS;
    d->refused_until_ns = at_ns;
    at_ns = d->refused_by != 0 && look_ns < at_ns ? look_ns : at_ns;
    return mmi_timer_set(&e->timers, &d->timer, at_ns);
}

/* late: in the second half of that time. */
static void
dialer_retry(mmi_dialer *d, bool late)
{
    mmi_engine *e = d->socket->engine;
    uint64_t cap_ms = dialer_cap_ms(d);
    /* Milliseconds times a random part of one: a random part of nanoseconds would overflow. */
    uint64_t delay_ns = cap_ms * (mmi_engine_random(e) % DIALER_NS_PER_MS);
    delay_ns = late ? (delay_ns + cap_ms * DIALER_NS_PER_MS) / 2 : delay_ns;
    d->addr_count = d->addr_next = 0;
    if (dialer_arm(d, e->now_ns + delay_ns) != MM_OK) {
        mmi_socket_event(d->socket, MM_EVENT_CONNECT_FAILED, MM_REASON_MEMORY, 0, 1, d->text, NULL,
                         "out of memory: no further attempt");
        return;
    }
    mmi_socket_event_retry(d->socket, d->told, delay_ns);
}

static void
dialer_failed(mmi_dialer *d, int reason, const char *address, const char *detail)
{
    d->socket->stats.closed[reason]++;
    /* What is looked for all the time is no news each time. */
    if (d->tran->redial_ms == 0 || d->attempt == 0) {
        mmi_socket_event(d->socket, MM_EVENT_CONNECT_FAILED, reason, 0, 1, d->text, address,
                         detail != NULL ? detail : mm_reason_text(reason));
        d->told = d->socket->event_seq;
    }
}

/* What the transport left open, as the code has it. */
static void
dialer_say(mmi_tran_why *why, int rc)
{
    if (why->reason != MM_REASON_NONE) {
        return;
    }
    why->reason = rc == MM_ECONNREFUSED ? MM_REASON_REFUSED
                  : rc == MM_ENOMEM     ? MM_REASON_MEMORY
                                        : MM_REASON_UNREACHABLE;
    if (why->reason == MM_REASON_UNREACHABLE) {
        snprintf(why->detail, sizeof why->detail, "%s", mm_strerror(rc));
    }
}

/* One address; another user than may be there is not spoken to. */
static int
dialer_dial(mmi_dialer *d, const mmi_addr *a, int *stream, mmi_tran_why *why)
{
    const mmi_plat *p = &d->socket->engine->plat;
    int rc = d->tran->dial(p, &d->url, a, stream, why);
    if (rc == MM_OK && (d->tran->flags & MMI_TRAN_USERS) != 0) {
        rc = mmi_user_fits(d->socket, *stream, true, why);
        if (rc != MM_OK) {
            p->close(p->self, *stream);
        }
    }
    return rc;
}

/* Tries the addresses that are left; when none is, waits and starts over. */
static void
dialer_try(mmi_dialer *d)
{
    mmi_engine *e = d->socket->engine;
    char address[MM_ENDPOINT_MAX + 1];
    do {
        const mmi_addr *a = d->addr_count > 0 ? &d->addrs[d->addr_next] : NULL;
        d->addr_next++;
        if (a != NULL) {
            mmi_addr_format(a, d->tran->scheme, address, sizeof address);
        } else {
            snprintf(address, sizeof address, "%s", d->text);
        }
        int stream;
        mmi_tran_why why = { .reason = MM_REASON_NONE };
        int rc = dialer_dial(d, a, &stream, &why);
        if (rc == MM_OK || rc == MM_EAGAIN) {
            rc = mmi_link_open(d->socket, d, NULL, stream, rc == MM_EAGAIN, NULL, address);
            if (rc == MM_OK) {
                return;
            }
        }
        if (rc == MM_EMFILE) {
            mmi_part_yield(e);   /* the next attempt has its descriptor */
        }
        dialer_say(&why, rc);
        dialer_failed(d, why.reason, address, why.detail[0] != '\0' ? why.detail : NULL);
    } while (d->addr_next < d->addr_count);
    dialer_retry(d, false);
}

static void
dialer_attempt(mmi_dialer *d)
{
    mmi_engine *e = d->socket->engine;
    d->addr_next = 0;
    d->addr_count = 0;
    if (d->tran->resolve != NULL) {
        int rc = d->tran->resolve(&e->plat, &d->url, d->tag, d->addrs, MMI_ADDRS_MAX);
        if (rc == MM_EAGAIN) {
            return;
        }
        if (rc <= 0) {
            dialer_failed(d, MM_REASON_UNREACHABLE, NULL, "the name is unknown");
            dialer_retry(d, false);
            return;
        }
        d->addr_count = rc;
    }
    dialer_try(d);
}

void
mmi_dialer_due(mmi_dialer *d)
{
    const mmi_engine *e = d->socket->engine;
    if (d->link != NULL) {
        return;
    }
    if (d->refused_by != 0 && e->now_ns < d->refused_until_ns) {
        if (d->tran->listening(&e->plat, &d->url) == d->refused_by &&
            dialer_arm(d, d->refused_until_ns) == MM_OK) {
            return;
        }
        d->refusals = 0; /* it is another one */
    }
    d->refused_by = 0;
    dialer_attempt(d);
}

void
mmi_dialer_resolved(mmi_dialer *d)
{
    mmi_engine *e = d->socket->engine;
    int rc = e->plat.resolve_take(e->plat.self, d->tag, d->addrs, MMI_ADDRS_MAX);
    if (rc == MM_EAGAIN || d->link != NULL) {
        return;
    }
    if (rc <= 0) {
        dialer_failed(d, MM_REASON_UNREACHABLE, NULL, "the name is unknown");
        dialer_retry(d, false);
        return;
    }
    d->addr_count = rc;
    d->addr_next = 0;
    dialer_try(d);
}

void
mmi_dialer_link_ended(mmi_dialer *d, uint64_t lived_ns, int reason)
{
    bool silent = reason == MM_REASON_HEARTBEAT;
    /* A server that protects itself knows us, and says that it does not want us. */
    bool told = reason == MM_REASON_TLS_ALERT ||
                (reason == MM_REASON_ERROR_COMMAND && d->socket->mechanism != NULL);
    bool denied = lived_ns == 0 && told;
    if (lived_ns == 0 && !denied && d->addr_next < d->addr_count) {
        dialer_try(d);   /* the next address of the same name */
        return;
    }
    if (lived_ns >= (silent ? DIALER_HEARD_NS : DIALER_STABLE_NS)) {
        d->attempt = d->refusals = 0;
    } else if (d->tran->listening != NULL) {
        d->refused_by = d->tran->listening(&d->socket->engine->plat, &d->url);
    }
    d->attempt = denied ? DIALER_DOUBLINGS_MAX : d->attempt;
    d->refusals = denied ? DIALER_DOUBLINGS_MAX : d->refusals;
    dialer_retry(d, denied);
}
