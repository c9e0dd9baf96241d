/*
 * queue/replays.c: see queue/replays.h.
 */
#include "queue/replays.h"

void
mmi_replays_init(mmi_replays *r, mmi_dist *dist)
{
    r->dist = dist;
    r->source = (mmi_replay_source){ .arg = NULL };
    r->next = 0;
    mmi_list_init(&r->behind);
    dist->replays = r;
}

void
mmi_replays_fini(mmi_replays *r)
{
    if (r->source.arg != NULL) {
        r->source.gone(r->source.arg);
    }
}

void
mmi_replays_add(mmi_replay_node *node, mmi_dist_node *dist)
{
    mmi_list_init(&node->node);
    node->dist = dist;
    dist->replay = NULL;
    dist->behind = false;
}

void
mmi_replays_rm(mmi_replay_node *node)
{
    mmi_list_rm(&node->node);
    node->dist->replay = NULL;
    node->dist->behind = false;
}

void
mmi_replays_out(mmi_replays *r, mmi_replay_node *node)
{
    if (node->dist->behind && mmi_ring_low(&node->dist->pipe->outbox)) {
        node->full = false;
        mmi_replays_wake(r);
    }
}

/* Nothing is read for who wants nothing yet. */
static bool
replays_begins(const mmi_replay_node *node)
{
    return node->begun && (node->placed || node->dist->pipe->subscriptions > 0);
}

void
mmi_replays_subscribed(mmi_replays *r, const mmi_replay_node *node)
{
    if (node->dist->behind && !node->taken && replays_begins(node)) {
        mmi_replays_wake(r);
    }
}

int
mmi_replays_ask(mmi_replays *r, mmi_replay_node *node, const mmi_replay *from)
{
    if (from->kind == MMI_REPLAY_BEGIN) {
        bool first = node->asked && !node->begun;
        node->begun = true;
        mmi_replays_subscribed(r, node);
        return first ? MM_OK : MM_EPROTO;
    }
    if (node->asked || node->dist->pipe->subscriptions > 0 || node->dist->pipe->accepted > 0) {
        return MM_EPROTO;
    }
    node->asked = true;
    node->from = *from;
    node->end = r->source.end(r->source.arg);
    node->dist->replay = node;
    node->dist->behind = true;
    mmi_list_push_back(&r->behind, &node->node);
    return MM_OK;
}

static mmi_replay_node *
replays_of(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_replay_node, node);
}

mmi_replay_node *
mmi_replays_find(const mmi_replays *r, uint64_t pipe_id)
{
    MMI_LIST_EACH (&r->behind, node, after) {
        if (replays_of(node)->dist->pipe->id == pipe_id) {
            return replays_of(node);
        }
    }
    return NULL;
}

/* Of an empty queue nothing goes out, so nothing would say that it has room. */
static bool
replays_full(const mmi_replay_node *node)
{
    return node->full && node->dist->pipe->outbox.count > 0;
}

mmi_replay_node *
mmi_replays_waiting(const mmi_replays *r)
{
    MMI_LIST_EACH (&r->behind, node, after) {
        const mmi_replay_node *one = replays_of(node);
        if (!one->taken && !replays_full(one) && replays_begins(one)) {
            return replays_of(node);
        }
    }
    return NULL;
}

uint64_t
mmi_replays_left(const mmi_replays *r)
{
    uint64_t most = 0;
    MMI_LIST_EACH (&r->behind, node, after) {
        const mmi_replay_node *one = replays_of(node);
        uint64_t left = one->next < r->next ? r->next - one->next : 0;
        most = left > most ? left : most;
    }
    return most + r->source.left(r->source.arg);
}

int
mmi_replays_failed(const mmi_replays *r)
{
    return mmi_replays_on(r) ? r->source.failed(r->source.arg) : MM_OK;
}

typedef struct replays_look {
    const mmi_dist_node *whose;
    bool found;
} replays_look;

static bool
replays_match(void *arg, void *subscriber)
{
    replays_look *look = arg;
    look->found = subscriber == look->whose;
    return !look->found;
}

bool
mmi_replays_wants(const mmi_replays *r, const mmi_replay_node *node, const mmi_msg *m)
{
    replays_look look = { .whose = node->dist };
    mmi_radix_match(&r->dist->topics, m->frames[0].data, m->frames[0].size, replays_match, &look);
    return look.found;
}

void
mmi_replays_yield(mmi_replays *r, mmi_replay_node *node)
{
    node->taken = false;
    node->full = true;
    mmi_list_rm(&node->node);
    mmi_list_push_back(&r->behind, &node->node);
}

void
mmi_replays_live(mmi_replays *r, mmi_replay_node *node)
{
    node->taken = node->full = false;
    node->dist->behind = false;
    mmi_list_rm(&node->node);
    mmi_dist_changed(r->dist);
}
