/*
 * req.c: REQ: requests to peers in turn, many in flight, each with an id its reply brings back.
 * On the wire: the id (4 octets, big-endian), an empty frame, the user's frames.
 * Not here: timeouts and retries (the caller's).
 * Law: a request in the table is waiting (on the list of the pipe it went to, or on none while it
 * is kept), or done (on done): its reply is here or its peer is gone.
 */
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/octets.h"
#include "queue/backlog.h"
#include "role/refusal.h"
#include "role/role.h"

enum { REQ_ID_SIZE = 4, REQ_ENVELOPE_FRAMES = 2 };
static const uint32_t REQ_ID_MARK = 0x80000000;   /* SP wants it: the last word of a stack */

typedef struct req_request {
    mmi_list node;
    uint64_t id;
    uint64_t pipe_id;          /* 0: it is kept, no peer has it          */
    bool done;
    mmi_msg *reply;            /* as received                            */
    int lost;                  /* done without a reply: why, an mm_err   */
    size_t reply_cost;
} req_request;

typedef struct req_sock {
    mmi_proto_host *host;
    mmi_back back;
    mmi_map requests;          /* id -> req_request                      */
    mmi_list done;             /* oldest first                           */
    uint64_t reply_bytes;      /* held in done, as a queue would charge  */
    uint32_t reply_count;
    uint32_t last_id;
} req_sock;

typedef struct req_pipe {
    mmi_lb_node lb;
    mmi_list waiting;
} req_pipe;

static req_request *
req_of(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, req_request, node);
}

static void
req_done(req_sock *s, req_request *r, mmi_msg *reply)
{
    r->done = true;
    r->reply = reply;
    if (reply != NULL) {
        r->reply_cost = mmi_msg_cost(reply);
        s->reply_count++;
        s->reply_bytes += r->reply_cost;
    }
    mmi_list_rm(&r->node);
    mmi_list_push_back(&s->done, &r->node);
}

/* Forgets a request and gives back its reply, if there is one. */
static mmi_msg *
req_take(req_sock *s, req_request *r)
{
    mmi_msg *reply = r->reply;
    if (reply != NULL) {
        s->reply_count--;
        s->reply_bytes -= r->reply_cost;
    }
    mmi_list_rm(&r->node);
    (void)mmi_map_rm(&s->requests, r->id);
    mmi_free(r);
    return reply;
}

static void
req_note(mmi_back *back, uint64_t key, mmi_back_where where, mmi_pipe *p)
{
    req_sock *s = MMI_CONTAINER_OF(back, req_sock, back);
    req_request *r = mmi_map_find(&s->requests, key);
    if (r == NULL || r->done) {
        return;   /* forgotten, or answered before it was written: a peer may guess ids */
    }
    mmi_list_rm(&r->node);
    r->pipe_id = 0;
    if (where == MMI_BACK_QUEUED) {
        req_pipe *rp = p->state;
        r->pipe_id = p->id;
        mmi_list_push_back(&rp->waiting, &r->node);
    } else if (where == MMI_BACK_DROPPED || where == MMI_BACK_EXPIRED) {
        r->lost = where == MMI_BACK_EXPIRED ? MM_ETIMEDOUT : r->lost;
        req_done(s, r, NULL);
    }
}

static int
req_init(void *ps, mmi_proto_host *host)
{
    req_sock *s = ps;
    s->host = host;
    s->last_id = host->random(host);
    mmi_back_init(&s->back, host);
    s->back.note = req_note;
    mmi_list_init(&s->done);
    return MM_OK;
}

static void
req_fini(void *ps)
{
    req_sock *s = ps;
    for (uint32_t i = 0; i < s->requests.cap; i++) {
        req_request *r = s->requests.slots[i].value;
        if (r != NULL && r->reply != NULL) {
            mmi_drop(s->host, MMI_DROP_CLOSED, r->pipe_id, r->reply);
        }
        mmi_free(r);
    }
    mmi_map_fini(&s->requests);
    s->back.note = NULL;
    mmi_back_fini(&s->back);
}

static int
req_add(void *ps, mmi_pipe *p)
{
    req_sock *s = ps;
    req_pipe *rp = p->state;
    mmi_list_init(&rp->waiting);
    mmi_back_add(&s->back, &rp->lb, p);
    return MM_OK;
}

static void
req_received(req_sock *s, mmi_pipe *p, mmi_msg *m)
{
    if (m->frame_count <= REQ_ENVELOPE_FRAMES || m->frames[0].size != REQ_ID_SIZE ||
        (m->frames[1].size != 0 && !mmi_refusal_is(m))) {
        mmi_drop_of(s->host, MMI_DROP_NO_ID, p, m);
        return;
    }
    req_request *r = mmi_map_find(&s->requests, mmi_be32_get(m->frames[0].data));
    if (r == NULL || r->done) {
        mmi_drop_of(s->host, MMI_DROP_LATE, p, m);
    } else if (r->pipe_id != p->id) {
        mmi_drop_of(s->host, MMI_DROP_MALFORMED, p, m);
    } else {
        p->answered++;
        req_done(s, r, m);
    }
}

static void
req_in(void *ps, mmi_pipe *p)
{
    req_sock *s = ps;
    mmi_msg *m;
    while ((m = mmi_pipe_recv(p)) != NULL) {
        req_received(s, p, m);
    }
}

static void
req_stop(void *ps, mmi_pipe *p)
{
    req_sock *s = ps;
    req_pipe *rp = p->state;
    mmi_back_stop(&s->back, &rp->lb);
}

static void
req_rm(void *ps, mmi_pipe *p)
{
    req_sock *s = ps;
    req_pipe *rp = p->state;
    req_in(s, p);
    mmi_back_rm(&s->back, &rp->lb);
    /* What is still here was begun on the wire, or there was no memory to keep it.  Which of them
     * had the answer that we do not take is unknown: it would end the next connection, too. */
    bool refused = p->ended == MM_REASON_MESSAGE_SIZE || p->ended == MM_REASON_FRAME_COUNT;
    MMI_LIST_EACH (&rp->waiting, node, after) {
        req_of(node)->lost = refused ? MM_EMSGSIZE : MM_ECONNRESET;
        req_done(s, req_of(node), NULL);
    }
}

static void
req_out(void *ps, mmi_pipe *p)
{
    req_sock *s = ps;
    req_pipe *rp = p->state;
    mmi_back_out(&s->back, &rp->lb);
}

/* The next id nobody has. */
static uint32_t
req_next_id(req_sock *s)
{
    do {
        s->last_id = (s->last_id + 1) | REQ_ID_MARK;
    } while (mmi_map_find(&s->requests, s->last_id) != NULL);
    return s->last_id;
}

/* Enters a request in the table; NULL: no memory. */
static req_request *
req_new(req_sock *s)
{
    req_request *r = mmi_alloc(sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    mmi_list_init(&r->node);
    r->lost = MM_ECONNRESET;
    r->id = req_next_id(s);
    if (mmi_map_put(&s->requests, r->id, r) != MM_OK) {
        mmi_free(r);
        return NULL;
    }
    return r;
}

static int
req_send(void *ps, mmi_msg *m)
{
    req_sock *s = ps;
    const mm_socket_opts *o = s->host->opts;
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    if (m->size + REQ_ID_SIZE > o->message_size_max ||
        m->frame_count + REQ_ENVELOPE_FRAMES > o->frames_max) {
        return MM_EMSGSIZE;   /* the peer would end the connection over it */
    }
    if (s->requests.count >= MMI_REQUESTS_MAX) {
        return MM_EAGAIN;
    }
    req_request *r = req_new(s);
    if (r == NULL) {
        return MM_ENOMEM;
    }
    uint8_t head[REQ_ID_SIZE];
    _Static_assert(sizeof head == sizeof(uint32_t), "what is put there");
    mmi_be32_put(head, (uint32_t)r->id);
    const uint64_t sizes[REQ_ENVELOPE_FRAMES] = { REQ_ID_SIZE, 0 };
    const uint64_t old_key = m->key;
    m->key = r->id;
    mmi_msg *wrapped = mmi_msg_prepend_frames(m, head, sizes, REQ_ENVELOPE_FRAMES);
    int rc = wrapped == NULL ? MM_ENOMEM : mmi_back_send(&s->back, wrapped);
    if (rc != MM_OK) {
        if (wrapped != NULL) {
            (void)mmi_msg_unwrap(wrapped);
        }
        m->key = old_key;
        (void)req_take(s, r);
    }
    return rc;
}

static uint64_t
req_tick(void *ps, uint64_t now_ns)
{
    req_sock *s = ps;
    return mmi_back_due(&s->back, now_ns);
}

static uint32_t
req_ready(const void *ps)
{
    const req_sock *s = ps;
    bool writable = s->requests.count < MMI_REQUESTS_MAX && mmi_back_ready(&s->back);
    return (writable ? MM_WRITABLE : 0) | (mmi_list_empty(&s->done) ? 0 : MM_READABLE);
}

static int
req_reply(void *ps, uint64_t key, mmi_msg **m)
{
    req_sock *s = ps;
    *m = NULL;
    req_request *r = mmi_map_find(&s->requests, key);
    if (r == NULL) {
        return MM_EINVAL;
    }
    if (!r->done) {
        return MM_EAGAIN;
    }
    if (r->reply == NULL) {
        int lost = r->lost;
        (void)req_take(s, r);
        return lost;
    }
    bool refused = r->reply->frames[1].size != 0;
    mmi_msg *stripped = mmi_msg_strip(r->reply, REQ_ENVELOPE_FRAMES);
    if (stripped == NULL) {
        return MM_ENOMEM;
    }
    (void)req_take(s, r);   /* the reply is now stripped, or owned by what is */
    stripped->key = key;
    *m = stripped;
    return refused ? MM_EREFUSED : MM_OK;
}

static bool
req_replied(const void *ps, uint64_t key)
{
    const req_sock *s = ps;
    const req_request *r = mmi_map_find(&s->requests, key);
    return r == NULL || r->done;
}

static bool
req_owes(const void *ps, const mmi_pipe *p)
{
    (void)ps;
    const req_pipe *rp = p->state;
    return !mmi_list_empty(&rp->waiting);
}

static void
req_forget(void *ps, uint64_t key)
{
    req_sock *s = ps;
    req_request *r = mmi_map_find(&s->requests, key);
    if (r == NULL) {
        return;
    }
    uint64_t pipe_id = r->pipe_id;
    mmi_msg *reply = req_take(s, r);
    if (reply != NULL) {
        mmi_drop(s->host, MMI_DROP_LATE, pipe_id, reply);
    }
}

static uint32_t
req_replies(void *ps, uint64_t *keys, uint32_t cap)
{
    req_sock *s = ps;
    uint32_t count = 0;
    MMI_LIST_EACH (&s->done, node, after) {
        if (count == cap) {
            break;
        }
        keys[count++] = req_of(node)->id;
    }
    return count;
}

static uint32_t
req_unclaimed(const void *ps, uint64_t *bytes)
{
    const req_sock *s = ps;
    *bytes = s->reply_bytes;
    return s->reply_count;
}

const mmi_proto_ops mmi_req_ops = {
    .is = { .number = MM_REQ,
            .name = "REQ",
            .peers = MMI_ROLE_BIT(MM_REP) | MMI_ROLE_BIT(MM_ROUTER),
            .says_identity = true },
    .named = true,
    .shares = true,
    .keeps = true,
    .asks = true,
    .sock_size = sizeof(req_sock),
    .pipe_size = sizeof(req_pipe),
    .init = req_init,
    .fini = req_fini,
    .add = req_add,
    .rm = req_rm,
    .stop = req_stop,
    .in = req_in,
    .out = req_out,
    .send = req_send,
    .ready = req_ready,
    .tick = req_tick,
    .reply = req_reply,
    .replied = req_replied,
    .owes = req_owes,
    .forget = req_forget,
    .replies = req_replies,
    .unclaimed = req_unclaimed,
};
