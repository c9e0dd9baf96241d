/*
 * queue/route.c: rendezvous hashing over the lanes of peers, and what waits in a lane.
 * Not here: whether a message may wait, and what is dropped (queue/backlog.c).
 * Law: as in queue/route.h; no message is lost here for want of memory.
 */
#include "queue/route.h"

#include <string.h>

#include "base/octets.h"

enum { ROUTE_HASH_STEP = sizeof(uint64_t), ROUTE_UUID = 16 /* octets */ };

/* Each bit of the result hangs on each bit of x (Steele, Lea and Flood, splitmix64, 2014). */
static uint64_t
route_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t
mmi_route_hash(const uint8_t *data, size_t size)
{
    uint64_t hash = route_mix(size);
    for (; size >= (size_t)ROUTE_HASH_STEP; size -= ROUTE_HASH_STEP, data += ROUTE_HASH_STEP) {
        hash = route_mix(hash ^ mmi_be64_get(data));
    }
    uint8_t rest[ROUTE_HASH_STEP] = { 0 };
    memcpy(rest, data, size);
    return route_mix(hash ^ mmi_be64_get(rest));
}

uint64_t
mmi_route_life(const uint8_t uuid[16], uint32_t epoch)
{
    uint8_t name[ROUTE_UUID + sizeof epoch];
    memcpy(name, uuid, ROUTE_UUID);
    mmi_be32_put(name + ROUTE_UUID, epoch);
    return mmi_route_hash(name, sizeof name);
}

uint64_t
mmi_route_weight(uint64_t key, uint64_t name)
{
    return route_mix(key ^ route_mix(name));
}

/* A peer that says no identity is known by its connection: by a number that no other one of its
 * socket has, and that is the same when all is done again (simulation). */
static uint64_t
route_name(const mmi_route *route, const mmi_pipe *p)
{
    return p->identity_size > 0 ? mmi_route_hash(p->identity, p->identity_size) : route->added;
}

static uint64_t
route_key(const mmi_msg *m)
{
    bool own = m->meta != NULL && m->meta->key_size > 0;
    return own ? mmi_route_hash(m->meta->data + m->meta->key, m->meta->key_size)
               : mmi_route_hash(m->frames[0].data, m->frames[0].size);
}

static mmi_lane *
route_lane(mmi_list *node)
{
    return MMI_CONTAINER_OF(node, mmi_lane, node);
}

/* Has a the key rather than b?  Of two peers of one identity the one that came first has it. */
static bool
route_beats(const mmi_lane *a, const mmi_lane *b, uint64_t key)
{
    uint64_t of_a = mmi_route_weight(key, a->name), of_b = mmi_route_weight(key, b->name);
    return of_a > of_b || (of_a == of_b && a->lb.pipe->id < b->lb.pipe->id);
}

void
mmi_route_init(mmi_route *route)
{
    mmi_list_init(&route->lanes);
    route->lane_count = 0;
    route->added = 0;
    route->by_topic = false;
}

mmi_lane *
mmi_route_of(const mmi_route *route, const mmi_pipe *p)
{
    MMI_LIST_EACH (&route->lanes, node, after) {
        if (route_lane(node)->lb.pipe == p) {
            return route_lane(node);
        }
    }
    return NULL;
}

mmi_lane *
mmi_route_owner(const mmi_route *route, const mmi_msg *m)
{
    uint64_t key = route_key(m);
    mmi_lane *owner = NULL;
    MMI_LIST_EACH (&route->lanes, node, after) {
        mmi_lane *lane = route_lane(node);
        if ((owner == NULL || route_beats(lane, owner, key)) &&
            mmi_pipe_check(lane->lb.pipe, m) == MM_OK) {
            owner = lane;
        }
    }
    return owner;
}

static void
lane_note(mmi_lane *lane)
{
    lane->lb.held = lane->again.slot_count + lane->waits.slot_count > 0;
}

/* Takes a message to where it belongs.  false: it stays. */
typedef bool route_place(mmi_route *route, mmi_lane *lane, mmi_ring *to, mmi_msg *m);

/* Each message of a queue is placed or stays, in order; what stays needs no memory. */
static void
route_pass(mmi_route *route, mmi_ring *from, route_place *place, mmi_lane *lane, mmi_ring *to)
{
    bool keeps = from->keeps;
    from->keeps = true;
    for (uint32_t left = from->slot_count; left > 0; left--) {
        mmi_msg *m = mmi_ring_pop(from);
        if (!place(route, lane, to, m)) {
            int rc = mmi_ring_push(from, m);
            MMI_ASSERT(rc == MM_OK);   /* its slot is kept, and it was within the limits */
        }
    }
    from->keeps = keeps;
    if (from->slot_count == 0 && !keeps) {
        mmi_ring_fini(from);   /* gives the slots back */
    }
}

/* What has a key of the new lane goes there. */
static bool
route_place_new(mmi_route *route, mmi_lane *old, mmi_ring *to, mmi_msg *m)
{
    mmi_lane *lane = route_lane(route->lanes.prev);   /* the new one is the last */
    return route_beats(lane, old, route_key(m)) && mmi_pipe_check(lane->lb.pipe, m) == MM_OK &&
           mmi_ring_push(to, m) == MM_OK;
}

void
mmi_route_add(mmi_route *route, mmi_lane *lane)
{
    if (lane->name == 0) { /* else it was here before, and has the keys that it had */
        route->added++;
        lane->name = route_name(route, lane->lb.pipe);
    }
    lane->swept_again = lane->swept_waits = 0;
    lane->owes = false;
    mmi_ring_init(&lane->again, UINT32_MAX, SIZE_MAX);
    mmi_ring_init(&lane->waits, UINT32_MAX, SIZE_MAX);
    mmi_list_init(&lane->node);
    mmi_list_push_back(&route->lanes, &lane->node);
    route->lane_count++;
    MMI_LIST_EACH (&route->lanes, node, after) {
        mmi_lane *old = route_lane(node);
        if (old != lane) {
            route_pass(route, &old->again, route_place_new, old, &lane->again);
            route_pass(route, &old->waits, route_place_new, old, &lane->waits);
            (void)mmi_lane_flush(old);   /* another message may be its next */
        }
    }
    (void)mmi_lane_flush(lane);
}

void
mmi_route_rm(mmi_route *route, mmi_lane *lane)
{
    if (mmi_list_linked(&lane->node)) {
        mmi_list_rm(&lane->node);
        route->lane_count--;
    }
}

static bool
route_place_keyed(mmi_route *route, mmi_lane *lane, mmi_ring *to, mmi_msg *m)
{
    (void)to;
    lane = mmi_route_keyed(route, m) ? mmi_route_owner(route, m) : NULL;
    return lane != NULL && mmi_lane_wait(lane, m) == MM_OK;
}

void
mmi_route_sort(mmi_route *route, mmi_ring *from)
{
    route_pass(route, from, route_place_keyed, NULL, NULL);
    MMI_LIST_EACH (&route->lanes, node, after) {
        (void)mmi_lane_flush(route_lane(node));
    }
}

uint32_t
mmi_route_count(const mmi_route *route, uint64_t *bytes)
{
    uint32_t count = 0;
    *bytes = 0;
    MMI_LIST_EACH (&route->lanes, node, after) {
        const mmi_lane *lane = route_lane(node);
        count += lane->again.count + lane->waits.count;
        *bytes += lane->again.bytes + lane->waits.bytes;
    }
    return count;
}

void
mmi_route_sweep(mmi_route *route, mmi_expiry *x)
{
    for (uint32_t left = route->lane_count; left > 0 && x->budget > 0; left--) {
        mmi_list *node = mmi_list_pop_front(&route->lanes);
        mmi_list_push_back(&route->lanes, node);   /* the next sweep begins where this one ends */
        mmi_lane *lane = route_lane(node);
        mmi_expiry_sweep(x, &lane->again, 0, NULL, &lane->swept_again);
        mmi_expiry_sweep(x, &lane->waits, 0, NULL, &lane->swept_waits);
        (void)mmi_lane_flush(lane);
    }
    uint64_t bytes;
    x->more |= x->budget == 0 && mmi_route_count(route, &bytes) > 0;
}

/* MM_OK: nothing is left of that queue; MM_EAGAIN; MM_ENOMEM. */
static int
lane_flush_ring(mmi_lane *lane, mmi_ring *from)
{
    while (from->slot_count > 0) {
        mmi_msg *m = mmi_msg_ref(mmi_ring_at(from, 0));
        int rc = mmi_pipe_send(lane->lb.pipe, m);
        if (rc == MM_OK) {
            (void)mmi_ring_pop(from);
            lane->owes = true;
        }
        mmi_msg_unref(m);
        if (rc != MM_OK) {
            return rc;
        }
    }
    return MM_OK;
}

int
mmi_lane_flush(mmi_lane *lane)
{
    int rc = lane_flush_ring(lane, &lane->again);
    rc = rc == MM_OK ? lane_flush_ring(lane, &lane->waits) : rc;
    lane_note(lane);
    return rc;
}

int
mmi_route_flush(mmi_route *route)
{
    int rc = MM_OK;
    MMI_LIST_EACH (&route->lanes, node, after) {
        rc = mmi_lane_flush(route_lane(node)) == MM_ENOMEM ? MM_ENOMEM : rc;
    }
    return rc;
}

int
mmi_lane_send(mmi_lane *lane, mmi_msg *m)
{
    (void)mmi_lane_flush(lane);
    return lane->lb.held ? MM_EAGAIN : mmi_pipe_send(lane->lb.pipe, m);
}

int
mmi_lane_wait(mmi_lane *lane, mmi_msg *m)
{
    int rc = mmi_ring_push(&lane->waits, m);
    lane_note(lane);
    return rc;
}

int
mmi_lane_again(mmi_lane *lane, mmi_msg *m)
{
    int rc = mmi_ring_push(&lane->again, m);
    (void)mmi_lane_flush(lane);
    return rc;
}

mmi_msg *
mmi_lane_take(mmi_lane *lane)
{
    mmi_msg *m = mmi_ring_pop(&lane->again);
    m = m != NULL ? m : mmi_ring_pop(&lane->waits);
    lane_note(lane);
    return m;
}

void
mmi_lane_fini(mmi_lane *lane)
{
    mmi_ring_fini(&lane->again);
    mmi_ring_fini(&lane->waits);
}
