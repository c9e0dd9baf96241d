/*
 * queue/retained_owed.c: subscribers that are owed values: which, and when they get them.
 *
 * Not here: what is retained (queue/retained.c).
 * Law: a subscriber is in `owing` while a bit of it is set; a bit is set only of a place that has a
 * value.
 */
#include "queue/retained_owed.h"

#include <string.h>

enum { OWED_BITS = 64 };
static const char OWED_NO_MEMORY[] = "no memory for what is retained";

/* Which values a subscriber is owed by its new topics. */
typedef struct owed_look {
    mmi_retained *r;
    mmi_retained_node *node;
    bool failed;                 /* no memory */
} owed_look;

void
mmi_retained_add(mmi_retained_node *node, mmi_dist_node *dist)
{
    *node = (mmi_retained_node){ .dist = dist };
    mmi_list_init(&node->fresh);
    mmi_list_init(&node->owing);
}

/* It is owed nothing more. */
static void
owed_end(mmi_retained_node *node)
{
    mmi_list_rm(&node->owing);
    mmi_free(node->owed);
    node->owed = NULL;
    node->words = node->owed_count = node->at = 0;
}

void
mmi_retained_rm(mmi_retained_node *node)
{
    mmi_list_rm(&node->fresh);
    owed_end(node);
}

void
mmi_retained_subscribed(mmi_retained *r, mmi_retained_node *node, const uint8_t *topic, size_t size)
{
    mmi_proto_host *host = r->dist->host;
    mmi_radix *topics = &r->dist->topics;
    if (node->dist->replay != NULL) {
        return;
    }
    if (mmi_radix_count_tags(topics, topic, size, node->dist).other > 0) {
        *mmi_radix_tag(mmi_radix_find(topics, topic, size), node->dist) = 1; /* that brought it */
    } else if (!mmi_list_linked(&node->fresh)) {
        mmi_list_push_back(&r->fresh, &node->fresh);
        host->due(host, host->now_ns(host));
    }
}

static bool
owed_is(const mmi_retained_node *node, uint32_t place)
{
    uint32_t word = place / OWED_BITS;
    return word < node->words && (node->owed[word] >> place % OWED_BITS & 1) != 0;
}

static void
owed_settle(mmi_retained_node *node, uint32_t place)
{
    node->owed[place / OWED_BITS] &= ~((uint64_t)1 << place % OWED_BITS);
    node->owed_count--;
    if (node->owed_count == 0) {
        owed_end(node);
    }
}

void
mmi_retained_settle_all(mmi_retained *r, uint32_t place)
{
    MMI_LIST_EACH (&r->owing, item, after) {
        mmi_retained_node *node = MMI_CONTAINER_OF(item, mmi_retained_node, owing);
        if (owed_is(node, place)) {
            owed_settle(node, place);
        }
    }
}

/* Room for a bit for each place there is.  MM_ENOMEM. */
static int
owed_reserve(const mmi_retained *r, mmi_retained_node *node)
{
    uint32_t words = (r->place_count + OWED_BITS - 1) / OWED_BITS;
    if (words <= node->words) {
        return MM_OK;
    }
    uint64_t *owed = mmi_realloc(node->owed, words * sizeof *owed);
    if (owed == NULL) {
        return MM_ENOMEM;
    }
    memset(owed + node->words, 0, (words - node->words) * sizeof *owed);
    node->owed = owed;
    node->words = words;
    return MM_OK;
}

/* Unless an older topic brought it, or is to. */
static void
owed_note(owed_look *look, uint32_t place)
{
    mmi_retained_node *node = look->node;
    const mmi_retained *r = look->r;
    const mmi_frame *first = &r->values[place].msg->frames[0];
    const mmi_radix *topics = &r->dist->topics;
    bool old =
        node->known && mmi_radix_count_tags(topics, first->data, first->size, node->dist).other > 0;
    if (!old && !owed_is(node, place)) {
        node->owed[place / OWED_BITS] |= (uint64_t)1 << place % OWED_BITS;
        node->owed_count++;
    }
}

static void
owed_note_topic(void *look, mmi_radix_node *topic)
{
    ((owed_look *)look)->node->walked++;
    owed_note(look, mmi_retained_place(topic));
}

/* The value without a topic begins with what is subscribed to, or not. */
static void
owed_note_bare(owed_look *look, const uint8_t *prefix, size_t size)
{
    mmi_radix_node *node = mmi_radix_find(&look->r->topics, NULL, 0);
    const mmi_msg *m = node != NULL ? look->r->values[mmi_retained_place(node)].msg : NULL;
    if (m != NULL && size > 0 && m->frame_count == 1 && m->frames[0].size >= size &&
        memcmp(m->frames[0].data, prefix, size) == 0) {
        owed_note_topic(look, node);
    }
}

/* One topic of the subscriber. */
static void
owed_look_at(void *arg, mmi_radix_node *topic)
{
    owed_look *look = arg;
    mmi_radix *topics = &look->r->dist->topics;
    const mmi_dist_node *whose = look->node->dist;
    if (*mmi_radix_tag(topic, whose) != 0) {
        return;
    }
    size_t size;
    const uint8_t *prefix = mmi_radix_topic(topics, topic, &size);
    mmi_radix_tags tags = mmi_radix_count_tags(topics, prefix, size, whose);
    if (tags.zero + tags.other == 1) { /* else one that is shorter has all of it */
        mmi_radix_each_under(&look->r->topics, prefix, size, owed_note_topic, look);
        owed_note_bare(look, prefix, size);
    }
}

static void
owed_looked(void *look, mmi_radix_node *topic)
{
    *mmi_radix_tag(topic, ((owed_look *)look)->node->dist) = 1;
}

/* Does it want such a message? */
static bool
owed_wants(const mmi_retained *r, const mmi_retained_node *node, const mmi_msg *m)
{
    mmi_radix_tags tags =
        mmi_radix_count_tags(&r->dist->topics, m->frames[0].data, m->frames[0].size, node->dist);
    return tags.zero + tags.other > 0;
}

/* The value in that place, for which there is room.  false: there is no memory, so it is to come
 * again. */
static bool
owed_give(mmi_retained *r, mmi_retained_node *node, uint32_t place)
{
    mmi_pipe *p = node->dist->pipe;
    mmi_proto_host *host = r->dist->host;
    mmi_msg *m = r->values[place].msg;
    int rc = mmi_pipe_check(p, m);
    if (rc != MM_OK) {
        host->stats->retained_sent++;
        mmi_drop_of(host, mmi_drop_unsendable(rc), p, NULL);
    } else if (mmi_pipe_send(p, mmi_msg_ref(m)) == MM_OK) {
        host->stats->retained_sent++;
    } else {
        mmi_msg_unref(m);
        owed_end(node);
        p->ops->close(p, MM_REASON_MEMORY, OWED_NO_MEMORY);
        return false;
    }
    owed_settle(node, place);
    return true;
}

/* The next place whose value it is owed: there is one. */
static uint32_t
owed_next(mmi_retained_node *node)
{
    uint32_t end = node->words * OWED_BITS;
    uint32_t place = node->at < end ? node->at : 0;
    while (!owed_is(node, place)) {
        bool skips = place % OWED_BITS == 0 && node->owed[place / OWED_BITS] == 0;
        place += skips ? (uint32_t)OWED_BITS : 1;
        place = place < end ? place : 0;
    }
    node->at = place;
    return place;
}

/* As many as there is room for. */
static void
owed_give_some(mmi_retained *r, mmi_retained_node *node)
{
    const mmi_ring *outbox = &node->dist->pipe->outbox;
    if (node->owed_count > 0) {
        mmi_dist_materialize(r->dist);
    }
    while (node->owed_count > 0 && mmi_ring_low(outbox)) {
        uint32_t place = owed_next(node);
        const mmi_msg *m = r->values[place].msg;
        if (mmi_retained_over(r, place) || !owed_wants(r, node, m)) {
            owed_settle(node, place);
        } else if (!mmi_ring_fits(outbox, mmi_msg_cost(m)) || !owed_give(r, node, place)) {
            return;
        }
    }
}

static void
owed_look_for(mmi_retained *r, mmi_retained_node *node)
{
    owed_look look = { .r = r, .node = node };
    const mmi_radix *topics = &r->dist->topics;
    mmi_list_rm(&node->fresh);
    if (owed_reserve(r, node) != MM_OK) {
        node->dist->pipe->ops->close(node->dist->pipe, MM_REASON_MEMORY, OWED_NO_MEMORY);
        return;
    }
    mmi_radix_each_of(topics, node->dist, owed_look_at, &look);
    mmi_radix_each_of(topics, node->dist, owed_looked, &look);
    node->known = true;
    if (node->owed_count == 0) {
        owed_end(node);
    } else if (!mmi_list_linked(&node->owing)) {
        mmi_list_push_back(&r->owing, &node->owing);
    }
    owed_give_some(r, node);
}

void
mmi_retained_look(mmi_retained *r)
{
    while (!r->filling && !mmi_list_empty(&r->fresh)) {
        owed_look_for(r, MMI_CONTAINER_OF(r->fresh.next, mmi_retained_node, fresh));
    }
}

void
mmi_retained_tick(mmi_retained *r)
{
    r->ticks++;
    mmi_retained_look(r);
}

void
mmi_retained_cancels(mmi_retained *r, mmi_retained_node *node, const uint8_t *topic, size_t size)
{
    if (node->looked != r->ticks) {
        node->looked = r->ticks;
        node->walked = 0;
    }
    if (r->filling || !mmi_list_linked(&node->fresh) || node->walked > r->count ||
        *mmi_radix_tag(mmi_radix_find(&r->dist->topics, topic, size), node->dist) == 0) {
        return;
    }
    owed_look_for(r, node);
}

void
mmi_retained_out(mmi_retained *r, mmi_retained_node *node)
{
    if (node->owed_count > 0 && !r->dist->host->closing) {
        owed_give_some(r, node);
    }
}

void
mmi_retained_ahead(mmi_retained *r, uint32_t place, const mmi_msg *m)
{
    if (!mmi_list_empty(&r->owing)) {
        mmi_dist_materialize(r->dist);
    }
    const mmi_msg *value = r->values[place].msg;
    size_t cost = mmi_msg_cost(value) + mmi_msg_cost(m);
    MMI_LIST_EACH (&r->owing, item, after) {
        mmi_retained_node *node = MMI_CONTAINER_OF(item, mmi_retained_node, owing);
        mmi_pipe *p = node->dist->pipe;
        node->accepted = p->accepted;
        if (owed_is(node, place) && owed_wants(r, node, value) &&
            mmi_ring_fits_count(&p->outbox, 2, cost)) {
            (void)owed_give(r, node, place);
        }
    }
}

void
mmi_retained_behind(mmi_retained *r, uint32_t place)
{
    MMI_LIST_EACH (&r->owing, item, after) {
        mmi_retained_node *node = MMI_CONTAINER_OF(item, mmi_retained_node, owing);
        if (owed_is(node, place) && node->dist->pipe->accepted != node->accepted) {
            owed_settle(node, place);
        }
    }
}

uint64_t
mmi_retained_owed(const mmi_retained *r)
{
    uint64_t count = 0;
    MMI_LIST_EACH (&r->owing, item, after) {
        count += MMI_CONTAINER_OF(item, const mmi_retained_node, owing)->owed_count;
    }
    MMI_LIST_EACH (&r->fresh, item, after) {
        count++;
    }
    return count;
}
