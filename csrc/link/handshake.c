/*
 * link/handshake.c: the handshake of a link, from the stream being there to the pipe being added.
 *
 * Not here: its bytes (wire/handshake.c).  Law: nobody is a peer before both sides have said who
 * they are; a refusal is heard by the peer where its wire allows, and always by our own events.
 */
#include <stdio.h>
#include <string.h>

#include "link/inside.h"
#include "link/shield.h"

enum { HELLO_READ_SIZE = MMI_LINK_SHIELD_FIRST };   /* octets a read takes during the handshake */

/* The system calls of handshakes that poll told of are made without the lock: a caller that opens
 * connections by the thousand would else wait for each of them. */
static int64_t
hello_io(mmi_link *link, const mmi_iov *iov, bool writes)
{
    mmi_engine *e = link->engine;
    bool *busy = writes ? &link->writing : &link->reading;
    *busy = true;
    mmi_engine_unlock(e);
    int64_t n = writes ? e->plat.writev(e->plat.self, link->stream, iov, 1)
                       : e->plat.readv(e->plat.self, link->stream, iov, 1);
    mmi_engine_relock(e);
    *busy = false;
    if (link->doomed != 0) {
        mmi_link_dirty(link);   /* somebody gave it up meanwhile */
    }
    return link->state == MMI_LINK_HELLO ? n : MM_ECLOSED;
}

/* The peer is gone before it was one. */
static void
hello_ended(mmi_link *link, int reason)
{
    mmi_opening_ended(link->opening, reason == MM_REASON_RESET
                                         ? "connection reset in the handshake"
                                         : "closed by the peer in the handshake");
    mmi_link_close(link, reason, link->opening->detail);
}

/* What there is to say.  Who polls drops the lock for it: the link may then be a closed one. */
static void
hello_write(mmi_link *link, bool polled)
{
    mmi_engine *e = link->engine;
    const uint8_t *out;
    size_t size;
    while ((size = mmi_opening_output(link->opening, &out)) > 0) {
        mmi_iov iov = { .data = (void *)out, .size = size };
        int64_t n = polled ? hello_io(link, &iov, true)
                           : e->plat.writev(e->plat.self, link->stream, &iov, 1);
        if (n == MM_ECLOSED) {
            return;
        }
        if (n == MM_EAGAIN) {
            break;
        }
        if (n < 0) {
            hello_ended(link, MM_REASON_RESET);
            return;
        }
        mmi_opening_sent(link->opening, (size_t)n);
    }
    mmi_link_watch(link);
}

void
mmi_link_hello_start(mmi_link *link, bool polled)
{
    mmi_socket *s = link->socket;
    const mmi_dialer *d = link->dialer;
    mmi_opening_config config = {
        .role = s->ops->role,
        .identity = s->opts.identity,
        .identity_size = s->opts.identity_size,
        .features = mmi_wire_features,
        .refusal = link->surplus ? mm_reason_text(MM_REASON_CONNECTIONS) : NULL,
        .wire = d != NULL ? d->url.wire : NULL,
        .as = d != NULL ? d->as : 0,
        .marks = link->marks,
        .mechanism = s->mechanism,
        .mechanism_config = s->mechanism_config,
    };
    link->state = MMI_LINK_HELLO;
    link->opening = mmi_alloc(sizeof *link->opening);
    if (link->opening == NULL || mmi_opening_init(link->opening, &config) != MM_OK) {
        mmi_free(link->opening);
        link->opening = NULL;
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    if (d != NULL) {
        s->stats.connects++;
    }
    hello_write(link, polled);
}

void
mmi_link_hello_writable(mmi_link *link)
{
    hello_write(link, true);
}

/* Moves what the handshake still has to say (an ERROR, or a hello that tells why) to where
 * FINISHING flushes from. */
static void
hello_refused(mmi_link *link)
{
    const uint8_t *out;
    size_t size = mmi_opening_output(link->opening, &out);
    if (link->dialer != NULL && link->opening->instead != 0) {
        link->dialer->as = link->opening->instead;
    }
    if (size == 0 || mmi_link_control(link, out, size) != MM_OK) {
        mmi_link_close(link, link->opening->reason, link->opening->detail);
        return;
    }
    mmi_link_refuse(link, link->opening->reason, link->opening->detail);
}

static void
hello_refuse_peer(mmi_link *link, int rc)
{
    int reason = rc == MM_ESTATE       ? MM_REASON_ROLE_REFUSED
                 : rc == MM_EADDRINUSE ? MM_REASON_IDENTITY
                                       : MM_REASON_MEMORY;
    const char *detail = rc == MM_ESTATE       ? "this socket takes no more peers"
                         : rc == MM_EADDRINUSE ? "a connected peer has this identity"
                                               : "out of memory";
    uint8_t frame[MMI_COMMAND_OVERHEAD + MMI_ERROR_TEXT_MAX];
    if (link->wire->put_error == NULL ||
        mmi_link_control(link, frame, link->wire->put_error(frame, detail)) != MM_OK) {
        mmi_link_close(link, reason, detail);
        return;
    }
    mmi_link_refuse(link, reason, detail);
}

/* What the peer is known by here: as it was dialed, else as it says.  MM_ENOMEM. */
static int
hello_keep_identity(mmi_link *link, const mmi_wire_peer *peer)
{
    const mmi_dialer *d = link->dialer;
    bool dialed = d != NULL && d->identity_size > 0;
    const uint8_t *identity = dialed ? d->identity : peer->identity;
    size_t size = dialed ? d->identity_size : peer->identity_size;
    if (size == 0) {
        return MM_OK;
    }
    link->identity = mmi_alloc(size);
    if (link->identity == NULL) {
        return MM_ENOMEM;
    }
    memcpy(link->identity, identity, size);
    link->pipe.identity = link->identity;
    link->pipe.identity_size = size;
    return MM_OK;
}

/* What the hello told is kept with the link.  MM_ENOMEM. */
static int
hello_keep_peer(mmi_link *link)
{
    const mm_socket_opts *o = &link->socket->opts;
    const mmi_wire_limits limits = {
        .message_size_max = o->message_size_max,
        .frames_max = o->frames_max,
        .command_size_max = o->topic_size_max + MMI_COMMAND_OVERHEAD,
    };
    mmi_wire_peer peer;
    mmi_opening_peer(link->opening, &peer);
    link->wire = peer.wire;
    mmi_parser_init(&link->parser, &limits, peer.wire, link->opening);
    mmi_shield shield = mmi_opening_take_shield(link->opening);
    if (shield.mechanism != NULL && mmi_link_shield_begin(link, shield) != MM_OK) {
        return MM_ENOMEM;
    }
    link->pipe.framing = peer.framing;
    link->pipe.peer_role = peer.role;
    snprintf(link->features, sizeof link->features, "%s", peer.features);
    link->pipe.hears_refusals = (peer.role == MM_REQ || peer.role == MM_SURVEYOR) &&
                                mmi_wire_knows(peer.features, "refuse");
    return hello_keep_identity(link, &peer);
}

/* MM_ENOMEM. */
static int
hello_keep(mmi_link *link)
{
    mmi_opening *o = link->opening;
    const uint8_t *out;
    size_t left = mmi_opening_output(o, &out);
    int rc = hello_keep_peer(link);
    if (rc == MM_OK && link->shield != NULL) {
        rc = mmi_link_shield_first(link, out, left);
    } else if (rc == MM_OK && left > 0) {
        rc = mmi_link_control(link, out, left);
    }
    mmi_link_commands_begin(link);   /* it is no frame of its own: nothing may go in front of it */
    link->pipe.packs = link->socket->packs;
    mmi_opening_fini(o);
    mmi_free(o);
    link->opening = NULL;
    return rc;
}

/* A subscriber that cannot say its topics is sent everything. */
static void
hello_subscribe_all(mmi_link *link)
{
    mmi_socket *s = link->socket;
    int rc = s->ops->subscription(s->state, &link->pipe, true, (const uint8_t *)"", 0);
    if (rc != MM_OK) {
        mmi_link_close(link, rc == MM_EPROTO ? MM_REASON_SUBSCRIPTIONS : MM_REASON_MEMORY, NULL);
    }
}

/* From here on the protocol knows it. */
static void
hello_activate(mmi_link *link)
{
    mmi_socket *s = link->socket;
    mmi_link_leave_half_open(link);
    link->state = MMI_LINK_ACTIVE;
    link->active_ns = link->last_in_ns = s->engine->now_ns;
    link->wall_ns = s->engine->plat.wall_ns(s->engine->plat.self);
    s->peer_count++;
    s->stats.handshakes++;
    mmi_heartbeat_start(link);
    if (s->host.stopping) {
        mmi_stop_ask(link);
    }
    mmi_socket_event(s, MM_EVENT_PEER_UP, MM_REASON_NONE, link->pipe.id, 1, link->endpoint,
                     link->address, mm_role_name(link->pipe.peer_role));
    mmi_socket_note(s, MM_PEERS);
}

/* Both sides have said who they are: the link becomes a peer. */
static void
hello_done(mmi_link *link)
{
    mmi_socket *s = link->socket;
    if (hello_keep(link) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    int rc = s->ops->add(s->state, &link->pipe);
    if (rc != MM_OK) {
        hello_refuse_peer(link, rc);
        return;
    }
    hello_activate(link);
    mmi_socket_touch(s);
    mmi_link_dirty(link);
    if (!link->wire->tells_topics && s->ops->subscription != NULL) {
        hello_subscribe_all(link);
    }
}

/* What came behind the peer's handshake. */
static void
hello_feed_rest(mmi_link *link, uint8_t *buf, size_t size)
{
    if (link->shield != NULL) {
        mmi_link_shield_feed(link, buf, size);
    } else {
        mmi_link_feed(link, buf, size, NULL);
    }
}

void
mmi_link_hello_readable(mmi_link *link)
{
    uint8_t buf[HELLO_READ_SIZE];
    mmi_iov iov = { .data = buf, .size = sizeof buf };
    int64_t n = hello_io(link, &iov, false);
    if (n == MM_EAGAIN || n == MM_ECLOSED) {
        return;
    }
    if (n <= 0) {
        hello_ended(link, n == 0 ? MM_REASON_HANDSHAKE_EOF : MM_REASON_RESET);
        return;
    }
    size_t used = 0;
    int rc = mmi_opening_feed(link->opening, buf, (size_t)n, &used);
    if (rc < 0) {
        hello_refused(link);
        return;
    }
    mmi_link_hello_writable(link);   /* our answer, once theirs was accepted */
    if (link->state != MMI_LINK_HELLO || rc == 0) {
        return;
    }
    hello_done(link);
    if (link->state == MMI_LINK_ACTIVE && used < (size_t)n) {
        hello_feed_rest(link, buf + used, (size_t)n - used);
    }
    mmi_link_watch(link);
}
