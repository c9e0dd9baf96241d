/*
 * router.c: ROUTER: receives from all peers, fairly, with the sender's identity in front; sends to
 * the peer that frame 0 (or the message's pipe_id) names.
 * Not here: envelopes; what follows the identity goes as it is.
 * Law: at most one peer has a name at a time; a peer without one (its name was taken over) can only
 * still be heard.  A peer that names itself cannot look like one that was numbered here (00 ...).
 */
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/octets.h"
#include "queue/fq.h"
#include "role/role.h"

enum { ROUTER_NUMBER_SIZE = 5 };   /* bytes: 00 and a big-endian counter */

typedef struct router_peer {
    mmi_fq_node fq;
    mmi_pipe *pipe;
    struct router_peer *next;      /* of the same hash */
    uint32_t hash;
    const uint8_t *identity;
    size_t identity_size;
    uint8_t number[ROUTER_NUMBER_SIZE];
    bool named;
    bool refused;                  /* a send found no room here */
} router_peer;

typedef struct router_sock {
    mmi_proto_host *host;
    mmi_fq fq;
    mmi_map names;                 /* hash of identity -> first router_peer */
    mmi_map pipes;                 /* pipe id -> router_peer                */
    uint64_t hash_seed;            /* peers cannot choose names that collide */
    uint32_t last_number;
    bool quiet; /* a send was refused, and no refused peer has had room since */
} router_sock;

static uint64_t
router_random(mmi_proto_host *host)
{
    uint64_t high = host->random(host);
    return high << 32 | host->random(host);
}

static int
router_init(void *ps, mmi_proto_host *host)
{
    router_sock *s = ps;
    s->host = host;
    s->hash_seed = router_random(host);
    s->last_number = host->random(host);
    mmi_fq_init(&s->fq, host->opts);
    return MM_OK;
}

static void
router_fini(void *ps)
{
    router_sock *s = ps;
    mmi_fq_fini(&s->fq, s->host);
    mmi_map_fini(&s->names);
    mmi_map_fini(&s->pipes);
}

/* ---- names ---- */

/* FNV-1a from a secret start, mixed after each octet. */
static uint32_t
router_hash(const router_sock *s, const uint8_t *identity, size_t size)
{
    uint64_t hash = s->hash_seed ^ size;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ identity[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static router_peer *
router_named(const router_sock *s, const uint8_t *identity, size_t size)
{
    router_peer *peer = mmi_map_find(&s->names, router_hash(s, identity, size));
    while (peer != NULL &&
           (peer->identity_size != size || memcmp(peer->identity, identity, size) != 0)) {
        peer = peer->next;
    }
    return peer;
}

/* MM_ENOMEM only when no other peer has this hash. */
static int
router_name(router_sock *s, router_peer *peer)
{
    peer->next = mmi_map_find(&s->names, peer->hash);
    int rc = mmi_map_put(&s->names, peer->hash, peer);
    peer->named = rc == MM_OK;
    return rc;
}

static void
router_unname(router_sock *s, router_peer *peer)
{
    if (!peer->named) {
        return;
    }
    peer->named = false;
    router_peer *first = mmi_map_find(&s->names, peer->hash);
    if (first != peer) {
        while (first->next != peer) {
            first = first->next;
        }
        first->next = peer->next;
    } else if (peer->next == NULL) {
        (void)mmi_map_rm(&s->names, peer->hash);
    } else {
        int rc = mmi_map_put(&s->names, peer->hash, peer->next);
        MMI_ASSERT(rc == MM_OK); /* replaces */
    }
}

/* A number of ours for a peer that did not say its name. */
static void
router_number(router_sock *s, router_peer *peer)
{
    do {
        uint32_t number = ++s->last_number;
        peer->number[0] = 0;
        _Static_assert(sizeof peer->number == 1 + sizeof number, "00 and the number");
        mmi_be32_put(peer->number + 1, number);
    } while (router_named(s, peer->number, ROUTER_NUMBER_SIZE) != NULL);
    peer->identity = peer->number;
    peer->identity_size = ROUTER_NUMBER_SIZE;
}

/* ---- peers ---- */

/* Of peers that nobody asked for a user: who proves no key is no other one than who proves none. */
static bool
router_same_key(const mmi_known *old, const mmi_known *now)
{
    return old->key_size == now->key_size &&
           (old->key_size == 0 || memcmp(old->key, now->key, old->key_size) == 0);
}

/* Whom a mechanism knows keeps its name from everybody else. */
static bool
router_hands_over(const router_sock *s, const mmi_pipe *from, const mmi_pipe *to)
{
    const mmi_known *old = from->known, *now = to->known;
    bool same = old == NULL || (now != NULL && strcmp(old->user_id, now->user_id) == 0 &&
                                (old->user_id[0] != '\0' || router_same_key(old, now)));
    return same && (s->host->opts->flags & MM_OPT_HANDOVER) != 0;
}

static int
router_add(void *ps, mmi_pipe *p)
{
    router_sock *s = ps;
    router_peer *peer = p->state;
    peer->pipe = p;
    peer->identity = p->identity;
    peer->identity_size = p->identity_size;
    if (p->identity_size == 0) {
        router_number(s, peer);
    }
    router_peer *old = router_named(s, peer->identity, peer->identity_size);
    if (old != NULL && !router_hands_over(s, old->pipe, p)) {
        return MM_EADDRINUSE;
    }
    if (mmi_map_put(&s->pipes, p->id, peer) != MM_OK) {
        return MM_ENOMEM;
    }
    peer->hash = router_hash(s, peer->identity, peer->identity_size);
    if (router_name(s, peer) != MM_OK) {
        (void)mmi_map_rm(&s->pipes, p->id);
        return MM_ENOMEM;
    }
    if (old != NULL) {
        router_unname(s, old);
        old->pipe->ops->close(old->pipe, MM_REASON_IDENTITY, "its identity was taken over");
    }
    p->identity = peer->identity; /* so that who looks at the peers sees the name to send to */
    p->identity_size = peer->identity_size;
    mmi_fq_add(&s->fq, &peer->fq, p);
    return MM_OK;
}

static mmi_msg *
router_keep(mmi_pipe *p, mmi_msg *m)
{
    const router_peer *peer = p->state;
    return mmi_msg_prepend(m, peer->identity, peer->identity_size);
}

static void
router_stop(void *ps, mmi_pipe *p)
{
    router_sock *s = ps;
    router_peer *peer = p->state;
    router_unname(s, peer);
    (void)mmi_map_rm(&s->pipes, p->id);
    if (peer->refused) {
        s->quiet = false;
    }
}

static void
router_rm(void *ps, mmi_pipe *p)
{
    router_sock *s = ps;
    router_peer *peer = p->state;
    mmi_fq_rm(&s->fq, &peer->fq, router_keep);
    if (!p->stopped) {
        router_stop(s, p);
    }
}

static void
router_in(void *ps, mmi_pipe *p)
{
    router_sock *s = ps;
    router_peer *peer = p->state;
    mmi_fq_in(&s->fq, &peer->fq);
}

static void
router_out(void *ps, mmi_pipe *p)
{
    router_sock *s = ps;
    router_peer *peer = p->state;
    if (peer->refused && mmi_ring_low(&p->outbox)) {
        peer->refused = false;
        s->quiet = false;
    }
}

/* ---- sending and receiving ---- */

static int
router_unroutable(router_sock *s, mmi_msg *m)
{
    if ((s->host->opts->flags & MM_OPT_DROP_UNROUTABLE) == 0) {
        return MM_EHOSTUNREACH;
    }
    mmi_drop(s->host, MMI_DROP_NO_PEER, m->pipe_id, m);
    return MM_OK;
}

static int
router_refuse(router_sock *s, router_peer *peer, mmi_msg *m)
{
    if (mmi_drop_overflows(s->host)) {
        mmi_drop_of(s->host, MMI_DROP_OVERFLOW, peer->pipe, m);
        return MM_OK;
    }
    peer->refused = true;
    s->quiet = true;
    return MM_EAGAIN;
}

/* Queues m without its first strip frames.  MM_EMSGSIZE: it is more than that peer takes. */
static int
router_queue(router_sock *s, router_peer *peer, mmi_msg *m, uint32_t strip)
{
    mmi_pipe *p = peer->pipe;
    size_t cost = mmi_msg_cost(m), size = m->size;
    for (uint32_t i = 0; i < strip; i++) {
        cost -= m->frames[i].size + MMI_FRAME_OVERHEAD;
        size -= m->frames[i].size;
    }
    if (!mmi_pipe_takes(p, size, m->frame_count - strip)) {
        return MM_EMSGSIZE;
    }
    bool room = mmi_ring_fits(&p->outbox, cost);
    if (!room &&
        (s->host->opts->overflow != MM_OVERFLOW_DROP_OLDEST || !mmi_pipe_droppable(p, cost))) {
        return router_refuse(s, peer, m);
    }
    if (mmi_ring_reserve(&p->outbox) != MM_OK) {
        return MM_ENOMEM;
    }
    mmi_msg *body = strip == 0 ? m : mmi_msg_strip(m, strip);
    if (body == NULL) {
        return MM_ENOMEM;
    }
    while (!mmi_ring_fits(&p->outbox, cost)) {
        mmi_drop_of(s->host, MMI_DROP_OVERFLOW, p, mmi_pipe_drop_oldest(p));
    }
    int rc = mmi_pipe_send(p, body);
    MMI_ASSERT(rc == MM_OK);
    return MM_OK;
}

static int
router_send(void *ps, mmi_msg *m)
{
    router_sock *s = ps;
    bool by_id = m->pipe_id != 0;
    if (m->frame_count < (by_id ? 1 : 2)) {
        return MM_EINVAL;
    }
    router_peer *peer = by_id ? mmi_map_find(&s->pipes, m->pipe_id)
                              : router_named(s, m->frames[0].data, m->frames[0].size);
    if (peer == NULL) {
        return router_unroutable(s, m);
    }
    return router_queue(s, peer, m, by_id ? 0 : 1);
}

static int
router_recv(void *ps, mmi_msg **m)
{
    router_sock *s = ps;
    mmi_pipe *from;
    mmi_msg *next = mmi_fq_peek(&s->fq, &from);
    *m = NULL;
    if (next == NULL) {
        return MM_EAGAIN;
    }
    if (from == NULL) {
        *m = mmi_fq_pop(&s->fq); /* router_keep put the identity in front */
        return MM_OK;
    }
    mmi_msg *wrapped = router_keep(from, next);
    if (wrapped == NULL) {
        return MM_ENOMEM;
    }
    (void)mmi_fq_pop(&s->fq);
    *m = wrapped;
    return MM_OK;
}

static uint32_t
router_ready(const void *ps)
{
    const router_sock *s = ps;
    bool writable = s->pipes.count > 0 && (!s->quiet || mmi_drop_overflows(s->host));
    return (writable ? MM_WRITABLE : 0) | (mmi_fq_ready(&s->fq) ? MM_READABLE : 0);
}

static int
router_find(void *ps, const uint8_t *identity, size_t size, uint64_t *pipe_id)
{
    const router_sock *s = ps;
    const router_peer *peer = router_named(s, identity, size);
    if (peer == NULL) {
        return MM_EHOSTUNREACH;
    }
    *pipe_id = peer->pipe->id;
    return MM_OK;
}

static uint32_t
router_unclaimed(const void *ps, uint64_t *bytes)
{
    const router_sock *s = ps;
    return mmi_fq_unclaimed(&s->fq, bytes);
}

const mmi_proto_ops mmi_router_ops = {
    .is = { .number = MM_ROUTER,
            .name = "ROUTER",
            .peers = MMI_ROLE_BIT(MM_REQ) | MMI_ROLE_BIT(MM_DEALER) | MMI_ROLE_BIT(MM_ROUTER),
            .says_identity = true },
    .overflow = MM_OVERFLOW_ERROR,
    .named = true,
    .converses = true,
    .sock_size = sizeof(router_sock),
    .pipe_size = sizeof(router_peer),
    .init = router_init,
    .fini = router_fini,
    .add = router_add,
    .rm = router_rm,
    .stop = router_stop,
    .in = router_in,
    .out = router_out,
    .send = router_send,
    .recv = router_recv,
    .ready = router_ready,
    .find = router_find,
    .unclaimed = router_unclaimed,
    .keyed_send = true,
};
