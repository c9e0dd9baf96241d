/*
 * queue/retained.c: see queue/retained.h.  What is retained, and for how long.
 *
 * Not here: who is owed which value, and gets it (queue/retained_owed.c).
 */
#include "queue/retained.h"

#include <string.h>

#include "queue/retained_owed.h"

enum { RETAINED_PLACES_FIRST = 16 };

static const char RETAINED_TOPICS[] = "no room for one topic more (retain_topics_max)";
static const char RETAINED_BYTES[] = "no room for it (retain_bytes_max)";

/* What a message is to change. */
typedef struct retained_change {
    mmi_msg *kept;               /* NULL: its topic has no value then */
    const char *refused;         /* there is no room for it; NULL: there is, or it is empty */
    uint32_t place; /* of its topic; RETAINED_NOWHERE: it has no value, and gets none */
    bool made; /* it is new */
} retained_change;

void
mmi_retained_init(mmi_retained *r, mmi_dist *dist)
{
    *r = (mmi_retained){ .dist = dist, .ticks = 1 };
    mmi_radix_init(&r->topics);
    mmi_list_init(&r->fresh);
    mmi_list_init(&r->owing);
}

/* What says nothing of its topic has the topic "". */
static size_t
retained_topic_size(const mmi_msg *m)
{
    return m->frame_count > 1 ? m->frames[0].size : 0;
}

/* What a value is charged: the tree has its topic once more. */
static size_t
retained_cost(const mmi_msg *m)
{
    return mmi_msg_cost(m) + retained_topic_size(m);
}

static void
retained_uncount(mmi_retained *r, mmi_retained_value *value)
{
    r->bytes -= retained_cost(value->msg);
    r->expiring -= mmi_expires(value->msg);
    r->count--;
    mmi_msg_unref(value->msg);
    value->msg = NULL;
}

static void
retained_place_free(mmi_retained *r, uint32_t place)
{
    mmi_retained_value *value = &r->values[place];
    *mmi_radix_mark(value->topic) = NULL;
    mmi_radix_release(value->topic);
    *value = (mmi_retained_value){ .next = r->free };
    r->free = place + 1;
}

static void
retained_forget(mmi_retained *r, uint32_t place)
{
    mmi_retained_settle_all(r, place);
    retained_uncount(r, &r->values[place]);
    retained_place_free(r, place);
}

void
mmi_retained_fini(mmi_retained *r)
{
    for (uint32_t i = 0; i < r->place_count; i++) {
        mmi_msg_unref(r->values[i].msg);
    }
    mmi_free(r->values);
    mmi_radix_fini(&r->topics);
}

/* There is a free place.  false: no memory for one. */
static bool
retained_reserve(mmi_retained *r)
{
    if (r->free > 0 || r->place_count < r->place_cap) {
        return true;
    }
    uint32_t cap = r->place_cap > 0 ? r->place_cap * 2 : (uint32_t)RETAINED_PLACES_FIRST;
    mmi_retained_value *values = mmi_realloc(r->values, cap * sizeof *values);
    if (values != NULL) {
        r->values = values;
        r->place_cap = cap;
    }
    return values != NULL;
}

/* A place for a topic that has none.  RETAINED_NOWHERE: no memory. */
static uint32_t
retained_place_new(mmi_retained *r, const uint8_t *topic, size_t size)
{
    mmi_radix_node *node = retained_reserve(r) ? mmi_radix_hold(&r->topics, topic, size) : NULL;
    if (node == NULL) {
        return RETAINED_NOWHERE;
    }
    uint32_t place = r->free > 0 ? r->free - 1 : r->place_count++;
    r->free = r->free > 0 ? r->values[place].next : 0;
    r->values[place] = (mmi_retained_value){ .topic = node };
    *mmi_radix_mark(node) = (void *)((uintptr_t)place + 1);
    return place;
}

static uint32_t
retained_find(const mmi_retained *r, const uint8_t *topic, size_t size)
{
    mmi_radix_node *node = mmi_radix_find(&r->topics, topic, size);
    return node != NULL ? mmi_retained_place(node) : RETAINED_NOWHERE;
}

/* The same; a value whose time is over is forgotten. */
static uint32_t
retained_live(mmi_retained *r, const uint8_t *topic, size_t size)
{
    uint32_t place = retained_find(r, topic, size);
    if (place != RETAINED_NOWHERE && mmi_retained_over(r, place)) {
        retained_forget(r, place);
        place = RETAINED_NOWHERE;
    }
    return place;
}

/* Why it is not retained; NULL: it is. */
static const char *
retained_refuses(const mmi_retained *r, const mmi_msg *m, uint32_t place)
{
    const mm_socket_opts *o = r->dist->host->opts;
    size_t before = place != RETAINED_NOWHERE ? retained_cost(r->values[place].msg) : 0;
    size_t others = r->bytes - before, cost = retained_cost(m);
    if (place == RETAINED_NOWHERE && r->count >= o->retain_topics_max) {
        return RETAINED_TOPICS;
    }
    bool fits = others <= o->retain_bytes_max && cost <= o->retain_bytes_max - others;
    return fits ? NULL : RETAINED_BYTES;
}

/* All that needs memory.  MM_ENOMEM: nothing has changed. */
static int
retained_prepare(mmi_retained *r, mmi_msg *m, retained_change *change)
{
    size_t size = retained_topic_size(m);
    *change = (retained_change){ .place = retained_live(r, m->frames[0].data, size) };
    if (m->size == size) {
        return MM_OK; /* an empty body */
    }
    change->refused = retained_refuses(r, m, change->place);
    if (change->refused != NULL) {
        return MM_OK;
    }
    if (change->place == RETAINED_NOWHERE) {
        change->place = retained_place_new(r, m->frames[0].data, size);
        change->made = change->place != RETAINED_NOWHERE;
        if (!change->made) {
            return MM_ENOMEM;
        }
    }
    change->kept = m->borrowed ? mmi_msg_own(m) : mmi_msg_ref(m);
    if (change->kept == NULL && change->made) {
        retained_place_free(r, change->place);
    }
    return change->kept != NULL ? MM_OK : MM_ENOMEM;
}

static void
retained_undo(mmi_retained *r, const retained_change *change)
{
    mmi_msg_unref(change->kept);
    if (change->made) {
        retained_place_free(r, change->place);
    }
}

static void
retained_commit(mmi_retained *r, const retained_change *change)
{
    mmi_proto_host *host = r->dist->host;
    if (change->refused != NULL) {
        host->stats->unretained_messages++;
        host->event(host, MM_EVENT_NOT_RETAINED, MM_REASON_NONE, 0, 1, change->refused);
    }
    if (change->kept == NULL) {
        if (change->place != RETAINED_NOWHERE) {
            retained_forget(r, change->place);
        }
        return;
    }
    mmi_retained_value *value = &r->values[change->place];
    if (!change->made) {
        retained_uncount(r, value);
    }
    value->msg = change->kept;
    r->bytes += retained_cost(value->msg);
    r->expiring += mmi_expires(value->msg);
    r->count++;
}

int
mmi_retained_send(mmi_retained *r, mmi_msg *m)
{
    retained_change change;
    if (m->frame_count == 0) {
        return MM_EINVAL;
    }
    mmi_retained_look(r);
    int rc = retained_prepare(r, m, &change);
    if (rc != MM_OK) {
        return rc;
    }
    bool had = change.place != RETAINED_NOWHERE && !change.made;
    if (had) {
        mmi_retained_ahead(r, change.place, m);
    }
    rc = mmi_dist_send(r->dist, m);
    if (rc != MM_OK) {
        retained_undo(r, &change);
        return rc;
    }
    if (had) {
        mmi_retained_behind(r, change.place);
    }
    retained_commit(r, &change);
    return MM_OK;
}

mmi_msg *
mmi_retained_find(mmi_retained *r, const uint8_t *topic, size_t size)
{
    uint32_t place = retained_live(r, topic, size);
    return place != RETAINED_NOWHERE ? r->values[place].msg : NULL;
}

void
mmi_retained_sweep(mmi_retained *r, mmi_expiry *x)
{
    uint32_t i = r->swept < r->place_count ? r->swept : 0;
    for (; i < r->place_count && r->expiring > 0 && x->budget > 0; i++, x->budget--) {
        if (r->values[i].msg != NULL && mmi_retained_over(r, i)) {
            retained_forget(r, i);
            x->expired++;
        }
    }
    r->swept = i;
    x->more |= r->expiring > 0;
}

int
mmi_retained_fill(mmi_retained *r, mmi_msg *m)
{
    retained_change change;
    int rc = m->frame_count > 0 ? retained_prepare(r, m, &change) : MM_EINVAL;
    if (rc == MM_OK) {
        retained_commit(r, &change);
    }
    if (rc != MM_ENOMEM) {
        mmi_msg_unref(m);
    }
    return rc == MM_ENOMEM ? rc : MM_OK;
}

void
mmi_retained_filled(mmi_retained *r)
{
    r->filling = false;
    mmi_retained_look(r);
}
