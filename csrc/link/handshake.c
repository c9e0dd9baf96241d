/*
 * link/handshake.c: the handshake of a link, from the stream being there to its peer being known.
 *
 * Not here: its bytes (wire/handshake.c), how it becomes a peer (link/become.c).  Law: nobody is a
 * peer before both sides have said who they are; a refusal is heard by the peer where its wire
 * allows, and always by our own events.
 */
#include <stdio.h>
#include <string.h>

#include "crypto/secret.h"
#include "link/ask.h"
#include "link/inside.h"
#include "link/shield.h"

enum { HELLO_READ_SIZE = MMI_LINK_SHIELD_FIRST };   /* octets a read takes during the handshake */
_Static_assert((int)MMI_ASK_AHEAD_MAX >= (int)HELLO_READ_SIZE &&
                   (int)MMI_ASK_AHEAD_MAX <= (int)MMI_LINK_SHIELD_FIRST,
               "what came behind what asks is kept, and fed at once when it may come in");

/* The lock was dropped, and is taken again.  false: the link is no longer in its handshake. */
static bool
hello_back(mmi_link *link, bool wrote)
{
    mmi_engine_relock(link->engine);
    if (wrote) {
        mmi_tx_end(link);
    } else {
        link->reading = false;
    }
    if (mmi_tx_ends(link)) {
        mmi_link_dirty(link);   /* somebody gave it up meanwhile */
    }
    return link->state == MMI_LINK_HELLO;
}

/* The system calls of handshakes that poll told of are made without the lock: a caller that opens
 * connections by the thousand would else wait for each of them. */
static int64_t
hello_io(mmi_link *link, const mmi_iov *iov, bool writes)
{
    mmi_engine *e = link->engine;
    if (writes) {
        (void)mmi_tx_begin(link);   /* nobody else writes it yet */
    } else {
        link->reading = true;
    }
    mmi_engine_unlock(e);
    int64_t n = writes ? e->plat.writev(e->plat.self, link->stream, iov, 1)
                       : e->plat.readv(e->plat.self, link->stream, iov, 1);
    return hello_back(link, writes) ? n : MM_ECLOSED;
}

/* The link is in memory until the step is over, and its socket with it: see mmi_socket_reap. */
static bool
hello_stepped(mmi_link *link, uint64_t from_ns)
{
    bool lives = hello_back(link, false);
    mmi_handshake_stepped(link->handshake);
    mmi_share_stepped(&link->engine->share, link->engine->now_ns - from_ns);
    return lives;
}

/* A step of a mechanism: what follows these octets, or an answer.  Likewise without the lock. */
static int
hello_step(mmi_link *link, uint8_t *buf, size_t size, size_t *used)
{
    mmi_engine *e = link->engine;
    uint64_t from_ns = e->now_ns;
    size_t part = 0;
    link->reading = true;
    mmi_engine_unlock(e);
    int rc =
        mmi_handshake_step(link->handshake, size > *used ? buf + *used : buf, size - *used, &part);
    *used += part;
    return hello_stepped(link, from_ns) ? rc : MM_ECLOSED;
}

static int
hello_answer(mmi_link *link, const mmi_answer *answer)
{
    mmi_engine *e = link->engine;
    uint64_t from_ns = e->now_ns;
    link->reading = true;
    mmi_engine_unlock(e);
    int rc = mmi_handshake_answer(link->handshake, answer);
    return hello_stepped(link, from_ns) ? rc : MM_ECLOSED;
}

/* The peer is gone before it was one. */
static void
hello_ended(mmi_link *link, int reason)
{
    mmi_handshake_ended(link->handshake, reason == MM_REASON_RESET
                                             ? "connection reset in the handshake"
                                             : "closed by the peer in the handshake");
    mmi_link_close(link, reason, link->handshake->detail);
}

/* What there is to say.  Who polls drops the lock for it: the link may then be a closed one. */
static void
hello_write(mmi_link *link, bool polled)
{
    mmi_engine *e = link->engine;
    const uint8_t *out;
    size_t size;
    while ((size = mmi_handshake_output(link->handshake, &out)) > 0) {
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
        mmi_handshake_sent(link->handshake, (size_t)n);
    }
    mmi_link_watch(link);
}

void
mmi_link_hello_start(mmi_link *link, bool polled)
{
    mmi_socket *s = link->socket;
    const mmi_dialer *d = link->dialer;
    const mmi_wire_limits limits = mmi_link_limits(&s->opts);
    bool commands = limits.command_size_max > limits.message_size_max;
    const char *ours = s->features[0] != '\0' ? s->features : s->engine->features;
    mmi_handshake_config config = {
        .role = s->ops->is.number,
        .roles = &mmi_roles_known,
        .identity = s->opts.identity,
        .identity_size = s->opts.identity_size,
        .features = ours[0] != '\0' ? ours : NULL,
        .takes_size = limits.message_size_max,
        .takes_frames = s->engine->mute_limits ? 0 : limits.frames_max,
        .group = s->member_of[0] != '\0' && ours[0] != '\0' ? s->member_of : NULL,
        .refusal = link->surplus ? mm_reason_text(MM_REASON_CONNECTIONS) : NULL,
        .wire = d != NULL ? d->url.wire : NULL,
        .as = d != NULL ? d->as : 0,
        .marks = link->marks,
        .mechanism = s->mechanism,
        .mechanism_config = s->mechanism_config,
        .outer = s->outer,
        .outer_config = s->outer_config,
        .host = d != NULL ? d->url.host : NULL,
        .who = d != NULL && d->expects ? &d->who : NULL,
        .frame_max = commands ? limits.command_size_max : limits.message_size_max,
        .allow = s->allow,
        .allow_config = s->allow_config,
    };
    mmi_life_to(link, MMI_LINK_HELLO);
    link->handshake = mmi_alloc(sizeof *link->handshake);
    if (link->handshake == NULL || mmi_handshake_init(link->handshake, &config) != MM_OK) {
        mmi_free(link->handshake);
        link->handshake = NULL;
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    if (d != NULL) {
        s->stats.connects++;
    }
    hello_write(link, polled);
}

/* Moves what the handshake still has to say (an ERROR, or a hello that tells why) to where
 * FINISHING flushes from. */
static void
hello_refused(mmi_link *link)
{
    const uint8_t *out;
    size_t size = mmi_handshake_output(link->handshake, &out);
    if (link->dialer != NULL && link->handshake->instead != 0) {
        link->dialer->as = link->handshake->instead;
    }
    if (size == 0 || mmi_link_control(link, out, size) != MM_OK) {
        mmi_link_close(link, link->handshake->reason, link->handshake->detail);
        return;
    }
    mmi_link_refuse(link, link->handshake->reason, link->handshake->detail);
}

/* What came behind the peer's handshake. */
static void
hello_feed_rest(mmi_link *link, uint8_t *buf, size_t size)
{
    if (link->shield != NULL) {
        mmi_link_shield_feed(link, buf, size);
    } else if (size > 0) {
        mmi_link_feed(link, buf, size, NULL);
    }
}

/* Who is asked whether it may come in knows soon; until then it waits. */
static void
hello_ask(mmi_link *link, const uint8_t *rest, size_t size)
{
    int rc = mmi_ask_begin(link, rest, size);
    if (rc != MM_OK) {
        bool memory = rc == MM_ENOMEM;
        mmi_link_close(link, memory ? MM_REASON_MEMORY : MM_REASON_METADATA,
                       memory ? NULL : "more of who it is than a question has room for");
        return;
    }
    mmi_link_watch(link);
}

/* What follows a step, or what was fed; the rest is behind what it used. */
static void
hello_go_on(mmi_link *link, int rc, uint8_t *rest, size_t size)
{
    if (rc == MM_ECLOSED) {
        return;
    }
    if (rc < 0) {
        hello_refused(link);
        return;
    }
    hello_write(link, true); /* our answer, once theirs was accepted */
    if (link->state != MMI_LINK_HELLO || rc == MMI_STEP_MORE) {
        return;
    }
    if (rc == MMI_STEP_ASK) {
        hello_ask(link, rest, size);
        return;
    }
    mmi_link_become_peer(link);
    if (link->state == MMI_LINK_ACTIVE) {
        hello_feed_rest(link, rest, size);
    }
    mmi_link_watch(link);
}

void
mmi_link_hello_writable(mmi_link *link)
{
    size_t used = 0;
    if (!mmi_handshake_due(link->handshake)) {
        hello_write(link, true);
    } else if (mmi_share_may(&link->engine->share)) {   /* else poll tells again */
        uint8_t none[1];
        hello_go_on(link, hello_step(link, none, 0, &used), none, 0);
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
    int rc = mmi_handshake_feed(link->handshake, buf, (size_t)n, &used);
    if (rc == MMI_STEP_DUE) {
        rc = hello_step(link, buf, (size_t)n, &used);
    }
    hello_go_on(link, rc, buf + used, (size_t)n - used);
    mmi_wipe(buf, (size_t)n);   /* there may have been a password in it */
}

void
mmi_link_hello_ahead(mmi_link *link, uint32_t events)
{
    struct mmi_link_ask *ask = link->ask;
    mmi_iov iov = { .data = ask->ahead + ask->ahead_size,
                    .size = MMI_ASK_AHEAD_MAX - ask->ahead_size };
    int64_t n = MM_EAGAIN;
    if (!link->halted) {
        n = hello_io(link, &iov, false);
    } else if ((events & MMI_WATCH_HANGUP) != 0) {
        n = MM_ECONNRESET;
    }
    if (n == MM_EAGAIN || n == MM_ECLOSED) {
        return;
    }
    if (n <= 0) {
        mmi_link_close(link, n == 0 ? MM_REASON_HANDSHAKE_EOF : MM_REASON_RESET,
                       "the peer left while somebody was asked whether it may come in");
        return;
    }
    ask->ahead_size += (size_t)n;
    link->handshake->heard += (uint64_t)n;
    link->halted = ask->ahead_size == MMI_ASK_AHEAD_MAX;
    mmi_link_watch(link);
}

/* Its timer is set, and is due: it was in the heap all the time, or there is room. */
static void
hello_wait(mmi_link *link, uint64_t until_ns)
{
    if (mmi_timer_set(&link->engine->timers, &link->timer, until_ns) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
    }
}

void
mmi_link_hello_answered(mmi_link *link)
{
    struct mmi_link_ask *ask = link->ask;
    mmi_engine *e = link->engine;
    if (!ask->answered && e->now_ns >= ask->until_ns) {
        mmi_ask_late(link);
    }
    if (!ask->answered || !mmi_share_may(&e->share)) {
        hello_wait(link, ask->answered ? e->now_ns + MMI_SHARE_SLICE_NS : ask->until_ns);
        return;
    }
    int rc = hello_answer(link, &ask->answer);
    if (rc == MM_ECLOSED) {
        return;   /* and it goes with its link */
    }
    size_t used = 0;
    link->ask = NULL;
    link->halted = false;
    hello_wait(link, mmi_deadline(e->now_ns, link->socket->opts.handshake_timeout_ms));
    if (rc == MMI_STEP_MORE && ask->ahead_size > 0 && link->state == MMI_LINK_HELLO) {
        rc = hello_step(link, ask->ahead, ask->ahead_size, &used);
    }
    if (link->state == MMI_LINK_HELLO) {
        hello_go_on(link, rc, ask->ahead + used, ask->ahead_size - used);
    }
    mmi_free(ask);
}
