/*
 * link_hello.c: the handshake of a link, from the stream being there to the pipe being added.
 *
 * Not here: its bytes (codec/hello.c).  Law: nobody is a peer before both READYs; a refusal is
 * heard by the peer (ERROR) where the protocol allows, and always by our own events.
 */
#include <string.h>

#include "engine/link.h"

static const char LINK_FEATURES[] = "1";   /* X-Meshmsg: version 1, no extensions yet */

enum { HELLO_READ_SIZE = 4096 };           /* octets a read takes during the handshake */

void
mmi_link_hello_start(mmi_link *link)
{
    mmi_socket *s = link->socket;
    mmi_hello_config config = {
        .role = s->ops->role,
        .identity = s->opts.identity,
        .identity_size = s->opts.identity_size,
        .features = LINK_FEATURES,
    };
    link->state = MMI_LINK_HELLO;
    link->hello = mmi_alloc(sizeof *link->hello);
    if (link->hello == NULL || mmi_hello_init(link->hello, &config) != MM_OK) {
        mmi_free(link->hello);
        link->hello = NULL;
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    if (link->dialer != NULL) {
        s->stats.connects++;
    }
    mmi_link_hello_writable(link);
}

void
mmi_link_hello_writable(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    const uint8_t *out;
    size_t size;
    while ((size = mmi_hello_output(link->hello, &out)) > 0) {
        mmi_iov iov = { .data = (void *)out, .size = size };
        int64_t n = e->plat.writev(e->plat.self, link->stream, &iov, 1);
        if (n == MM_EAGAIN) {
            break;
        }
        if (n < 0) {
            mmi_link_close(link, MM_REASON_RESET, NULL);
            return;
        }
        mmi_hello_sent(link->hello, (size_t)n);
    }
    mmi_link_watch(link);
}

/* Moves what the handshake still has to say (an ERROR) to where FINISHING flushes from. */
static void
hello_refused(mmi_link *link)
{
    const uint8_t *out;
    size_t size = mmi_hello_output(link->hello, &out);
    if (size == 0 || mmi_link_control(link, out, size) != MM_OK) {
        mmi_link_close(link, link->hello->reason, link->hello->detail);
        return;
    }
    mmi_link_refuse(link, link->hello->reason, link->hello->detail);
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
    size_t size = mmi_command_put_error(frame, detail);
    if (mmi_link_control(link, frame, size) != MM_OK) {
        mmi_link_close(link, reason, detail);
        return;
    }
    mmi_link_refuse(link, reason, detail);
}

/* Both READYs are there: the link becomes a peer. */
static void
hello_done(mmi_link *link)
{
    mmi_socket *s = link->socket;
    const mmi_hello_peer *peer = &link->hello->peer;
    const uint8_t *out;
    size_t left = mmi_hello_output(link->hello, &out);
    if (left > 0 && mmi_link_control(link, out, left) != MM_OK) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
        return;
    }
    link->minor = peer->minor;
    link->pipe.peer_role = peer->role;
    memcpy(link->features, peer->features, sizeof link->features);
    if (peer->identity_size > 0) {
        link->identity = mmi_alloc(peer->identity_size);
        if (link->identity == NULL) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            return;
        }
        memcpy(link->identity, peer->identity, peer->identity_size);
        link->pipe.identity = link->identity;
        link->pipe.identity_size = peer->identity_size;
    }
    mmi_hello_fini(link->hello);
    mmi_free(link->hello);
    link->hello = NULL;
    link->pipe.framing = s->packs ? &mmi_framing_zmtp : NULL;
    int rc = s->ops->add(s->state, &link->pipe);
    if (rc != MM_OK) {
        hello_refuse_peer(link, rc);
        return;
    }
    mmi_link_activated(link);
    mmi_socket_touch(s);
    mmi_link_dirty(link);
}

void
mmi_link_hello_readable(mmi_link *link)
{
    mmi_engine *e = link->socket->engine;
    uint8_t buf[HELLO_READ_SIZE];
    mmi_iov iov = { .data = buf, .size = sizeof buf };
    int64_t n = e->plat.readv(e->plat.self, link->stream, &iov, 1);
    if (n == MM_EAGAIN) {
        return;
    }
    if (n <= 0) {
        mmi_link_close(link, n == 0 ? MM_REASON_EOF_MID_MESSAGE : MM_REASON_RESET, NULL);
        return;
    }
    size_t used = 0;
    int rc = mmi_hello_feed(link->hello, buf, (size_t)n, &used);
    if (rc < 0) {
        hello_refused(link);
        return;
    }
    mmi_link_hello_writable(link);   /* our READY, once the greeting was accepted */
    if (link->state != MMI_LINK_HELLO || rc == 0) {
        return;
    }
    hello_done(link);
    if (link->state == MMI_LINK_ACTIVE && used < (size_t)n) {
        mmi_link_feed(link, buf + used, (size_t)n - used);
    }
    mmi_link_watch(link);
}
