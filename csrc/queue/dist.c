/*
 * dist.c: fan-out in one walk of the topic tree; when the policy blocks it only looks, and what it
 * saw is gone through once more to queue.
 * Not here: where subscriptions come from.
 * Law: each walk has its own stamp; a pipe with that stamp has been seen.
 */
#include "queue/dist.h"

#include "queue/replays.h"

typedef struct dist_walk {
    mmi_dist *dist;
    mmi_msg *msg;
    size_t cost;
    uint32_t count;            /* pipes seen */
    mmi_dist_node *first, **end;   /* and which, in order */
    bool share;                /* it is to be encoded once, for all of the same wire */
    mmi_pipe_part part;        /* where it was, behind the last octet; no segment: not yet */
    uint32_t shared, room_count;   /* who hold it there; the room that is left at all of them */
    size_t room_bytes;
    int rc;
    void (*visit)(struct dist_walk *walk, mmi_dist_node *node);
} dist_walk;

void
mmi_dist_init(mmi_dist *dist, mmi_proto_host *host)
{
    dist->host = host;
    dist->stamp = 0;
    dist->quiet = false;
    dist->dropped = NULL;
    dist->replays = NULL;
    dist->shared = NULL;
    dist->deferred = (mmi_dist_deferred){ .room_count = 0 };
    mmi_radix_init(&dist->topics);
    mmi_list_init(&dist->nodes);
    dist->node_count = 0;
    dist->refused_count = 0;
}

static void
dist_refuse(mmi_dist *dist, mmi_dist_node *node, bool refused)
{
    dist->refused_count += (uint32_t)refused - (uint32_t)node->refused;
    node->refused = refused;
}

/* The shared segment is for the next message that goes to many; nothing may be deferred behind it.
 * */
static void
dist_let_go(mmi_dist *dist)
{
    mmi_msg_unref(dist->shared != NULL ? &dist->shared->msg : NULL);
    dist->shared = NULL;
    dist->deferred.room_count = 0;
}

void
mmi_dist_fini(mmi_dist *dist)
{
    mmi_radix_fini(&dist->topics);
    dist_let_go(dist);
}

void
mmi_dist_add(mmi_dist *dist, mmi_dist_node *node, mmi_pipe *pipe)
{
    node->pipe = pipe;
    node->stamp = 0;
    node->refused = false;
    mmi_list_push_back(&dist->nodes, &node->node);
    dist->node_count++;
    mmi_dist_changed(dist);
}

void
mmi_dist_rm(mmi_dist *dist, mmi_dist_node *node)
{
    mmi_dist_materialize(dist);
    mmi_list_rm(&node->node);
    dist_refuse(dist, node, false);
    dist->node_count--;
    if (dist->node_count == 0) {
        dist_let_go(dist);
    }
    mmi_dist_changed(dist);
}

void
mmi_dist_out(mmi_dist *dist, mmi_dist_node *node)
{
    const mmi_segment_out *shared = dist->shared;
    if (shared != NULL && dist->deferred.part.count == 0 && !mmi_msg_shared(&shared->msg)) {
        dist_let_go(dist);   /* all was written: a publisher that rests need not keep it */
    }
    if (node->refused && mmi_ring_low(&node->pipe->outbox)) {
        dist_refuse(dist, node, false);
        mmi_dist_changed(dist);
    }
}

void
mmi_dist_changed(mmi_dist *dist)
{
    if (dist->quiet && dist->replays != NULL) {
        mmi_replays_wake(dist->replays);
    }
    dist->quiet = false;
}

static bool
dist_match(void *arg, void *subscriber)
{
    dist_walk *walk = arg;
    mmi_dist_node *node = subscriber;
    if (node->behind && walk->msg != NULL) {
        return true;
    }
    if (node->stamp != walk->dist->stamp) {
        node->stamp = walk->dist->stamp;
        walk->count++;
        *walk->end = node;
        walk->end = &node->seen_next;
        walk->visit(walk, node);
    }
    return true;
}

static void
dist_walk_topic(dist_walk *walk, const uint8_t *topic, size_t size)
{
    walk->dist->stamp++;
    walk->end = &walk->first;
    mmi_radix_match(&walk->dist->topics, topic, size, dist_match, walk);
}

static void
dist_walk_run(dist_walk *walk, bool all)
{
    if (!all) {
        dist_walk_topic(walk, walk->msg->frames[0].data, walk->msg->frames[0].size);
        return;
    }
    walk->dist->stamp++;
    walk->end = &walk->first;
    MMI_LIST_EACH (&walk->dist->nodes, node, after) {
        dist_match(walk, MMI_CONTAINER_OF(node, mmi_dist_node, node));
    }
}

static void
dist_visit_check(dist_walk *walk, mmi_dist_node *node)
{
    if (mmi_pipe_check(node->pipe, walk->msg) != MM_OK) {
        return;   /* it waits for nothing */
    }
    if (node->replay == NULL && !mmi_ring_fits(&node->pipe->outbox, walk->cost)) {
        dist_refuse(walk->dist, node, true);
        walk->rc = walk->rc == MM_OK ? MM_EAGAIN : walk->rc;
    } else if (mmi_ring_reserve(&node->pipe->outbox) != MM_OK) {
        walk->rc = MM_ENOMEM;
    }
}

/* m is freed; NULL: it is only counted. */
static void
dist_drop(mmi_dist *dist, mmi_drop_why why, mmi_pipe *p, uint64_t key, mmi_msg *m)
{
    mmi_drop_of(dist->host, why, p, m);
    if (dist->dropped != NULL) {
        dist->dropped(dist, p, key);
    }
}

/* Encodes the message behind the last octet of the shared segment, for pipes of this framing. 
 * false: it cannot, each gets a copy. */
static bool
dist_encode(dist_walk *walk, const mmi_framing *framing)
{
    mmi_dist *dist = walk->dist;
    mmi_segment_out *segment = dist->shared;
    size_t cost, size = framing->size(framing, walk->msg, &cost);
    bool room = segment != NULL && segment->cap - segment->used >= size;
    if (room && segment->framing != framing) {
        return false;   /* it is for the peers of another wire until it is full */
    }
    if (!room) {
        segment = mmi_segment_out_new(framing, MMI_SEGMENT_CAP);
        if (segment == NULL) {
            return false;
        }
        mmi_msg_unref(dist->shared != NULL ? &dist->shared->msg : NULL);
        dist->shared = segment;
    }
    framing->put(framing, walk->msg, segment->data + segment->used);
    walk->part = (mmi_pipe_part){ segment, segment->used, size, 1, cost };
    return true;
}

/* Queues what is encoded, and notes how much more that pipe may get without being told. */
static int
dist_share(dist_walk *walk, mmi_pipe *p)
{
    if (!mmi_ring_fits(&p->outbox, walk->part.cost)) {
        return MM_EAGAIN;
    }
    int rc = mmi_pipe_share(p, &walk->part);
    size_t bytes = 0;
    uint32_t count = rc == MM_OK && p->ops->slack != NULL ? p->ops->slack(p, &bytes) : 0;
    walk->shared +=
        count > 0 && !p->apart; /* else what follows is looked at for it, each by itself */
    walk->room_count = count < walk->room_count ? count : walk->room_count;
    walk->room_bytes = bytes < walk->room_bytes ? bytes : walk->room_bytes;
    return rc;
}

static int
dist_queue(dist_walk *walk, mmi_pipe *p)
{
    if (walk->share && p->segments) {
        mmi_segment_out *segment = walk->part.segment;
        if (segment != NULL ? segment->framing == p->framing : dist_encode(walk, p->framing)) {
            return dist_share(walk, p);
        }
    }
    int rc = mmi_pipe_send(p, mmi_msg_ref(walk->msg));
    if (rc != MM_OK) {
        mmi_msg_unref(walk->msg);
    }
    return rc;
}

/* It cannot have it.  Who was promised all that is stored is told so. */
static void
dist_leave_out(dist_walk *walk, mmi_dist_node *node, int rc)
{
    mmi_pipe *p = node->pipe;
    dist_drop(walk->dist, mmi_drop_unsendable(rc), p, walk->msg->key, NULL);
    if (node->replay != NULL && p->ops->left_out != NULL) {
        p->ops->left_out(p);
    }
}

static void
dist_visit_send(dist_walk *walk, mmi_dist_node *node)
{
    mmi_pipe *p = node->pipe;
    mmi_proto_host *host = walk->dist->host;
    int rc = mmi_pipe_check(p, walk->msg);
    if (rc != MM_OK) {
        dist_leave_out(walk, node, rc);
        return;
    }
    if (node->replay != NULL && !mmi_ring_fits(&p->outbox, walk->cost)) {
        mmi_replays_fell_behind(walk->dist->replays, node->replay, walk->msg);
        return;
    }
    if (!mmi_ring_fits(&p->outbox, walk->cost) && host->opts->overflow == MM_OVERFLOW_DROP_OLDEST &&
        mmi_pipe_droppable(p, walk->cost)) {
        while (!mmi_ring_fits(&p->outbox, walk->cost)) {
            mmi_msg *oldest = mmi_pipe_drop_oldest(p);
            dist_drop(walk->dist, MMI_DROP_OVERFLOW, p, oldest->key, oldest);
        }
    }
    rc = dist_queue(walk, p);
    if (rc != MM_OK && node->replay != NULL) {
        mmi_replays_fell_behind(walk->dist->replays, node->replay, walk->msg);
    } else if (rc != MM_OK) {
        dist_drop(walk->dist, MMI_DROP_OVERFLOW, p, walk->msg->key, NULL);
    } else if (!mmi_drop_overflows(host) && !mmi_pipe_has_room(p)) {
        dist_refuse(walk->dist, node, true);   /* what comes next */
    }
}

/* Is it worth encoding where all refer to it?  For an only peer in a burst, as its queue may then
 * defer; else that one's is better encoded where it is queued. */
static bool
dist_shares(const mmi_dist *dist, size_t cost)
{
    if (cost > (size_t)MMI_SEGMENT_BODY_MAX || dist->node_count == 0) {
        return false;
    }
    const mmi_pipe *p = MMI_CONTAINER_OF(dist->nodes.next, mmi_dist_node, node)->pipe;
    size_t bytes;
    return dist->node_count > 1 || (p->ops->slack != NULL && p->ops->slack(p, &bytes) > 0);
}

/* All got it, in the same octets, and have room for more: the next may be only counted. */
static void
dist_may_defer(const dist_walk *walk)
{
    mmi_dist *dist = walk->dist;
    const mmi_frame *topic = &walk->msg->frames[0];
    if (walk->shared == walk->count && walk->room_count > 0 && dist->host->deferred != NULL) {
        const mmi_dist_deferred deferred = { .place = mmi_radix_place(&dist->topics, topic->data,
                                                                      topic->size),
                                             .first = walk->first,
                                             .node_count = walk->count,
                                             .room_count = walk->room_count,
                                             .room_bytes = walk->room_bytes };
        mmi_dist_deferred_open(dist, &deferred);
    }
}

static int
dist_send(mmi_dist *dist, mmi_msg *m, bool all)
{
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    mmi_dist_materialize(dist);
    dist_walk walk = { .dist = dist,
                       .msg = m,
                       .cost = mmi_msg_cost(m),
                       .room_count = UINT32_MAX,
                       .room_bytes = SIZE_MAX,
                       .rc = MM_OK };
    bool looks = !mmi_drop_overflows(dist->host);
    walk.share = !m->alone && dist_shares(dist, walk.cost);
    walk.visit = looks ? dist_visit_check : dist_visit_send;
    dist_walk_run(&walk, all);
    if (walk.rc != MM_OK) {
        dist->quiet = walk.rc == MM_EAGAIN;
        return walk.rc;
    }
    mmi_dist_node *node = walk.first;
    for (uint32_t i = 0; looks && i < walk.count; i++, node = node->seen_next) {
        dist_visit_send(&walk, node);
    }
    if (walk.part.segment != NULL) {
        walk.part.segment->used += walk.part.size;
        if (!all) {
            dist_may_defer(&walk);
        }
    }
    if (walk.count == 0) {
        if (all) {
            mmi_drop(dist->host, MMI_DROP_NO_PEER, 0, NULL);
        } else {
            dist->host->stats->unwanted_messages++;
        }
    }
    mmi_msg_unref(m);
    return MM_OK;
}

int
mmi_dist_send(mmi_dist *dist, mmi_msg *m)
{
    return mmi_dist_deferred_send(dist, m) ? MM_OK : dist_send(dist, m, false);
}

int
mmi_dist_send_all(mmi_dist *dist, mmi_msg *m)
{
    return dist_send(dist, m, true);
}

bool
mmi_dist_ready(const mmi_dist *dist)
{
    return !dist->quiet || mmi_drop_overflows(dist->host);
}

bool
mmi_dist_ready_all(const mmi_dist *dist)
{
    return dist->refused_count == 0 || mmi_drop_overflows(dist->host);
}

static void
dist_visit_count(dist_walk *walk, mmi_dist_node *node)
{
    (void)walk;
    (void)node;
}

uint32_t
mmi_dist_reach(mmi_dist *dist, const uint8_t *topic, size_t size)
{
    mmi_dist_materialize(dist);   /* a walk makes seen_next anew */
    dist_walk walk = { .dist = dist, .visit = dist_visit_count };
    dist_walk_topic(&walk, topic, size);
    return walk.count;
}
