/*
 * spool/producers.c: the table of spool/producers.h: entries that are chained by their slots, and
 * by the order in which they put last.
 */
#include "spool/producers.h"

#include <string.h>

enum { PRODUCERS_FIRST = 64 /* slots that there are at first; a power of two */ };
static const uint32_t PRODUCERS_NONE = UINT32_MAX;

static uint32_t
producers_most(const mmi_producers *p)
{
    return p->most > 0 ? p->most : (uint32_t)MMI_PRODUCERS_MAX;
}

/* Entries that there is room for. */
static uint32_t
producers_room(const mmi_producers *p)
{
    uint32_t most = producers_most(p);
    return p->cap < most ? p->cap : most;
}

static uint32_t *
producers_slot(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID])
{
    uint64_t hash[2];
    mmi_spool_key_hash(p->secret, name, MMI_SPOOL_UUID, hash);
    return &p->slots[hash[0] & (p->cap - 1)];
}

static mmi_producer *
producers_get(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID])
{
    if (p->count == 0) {
        return NULL;
    }
    if (memcmp(p->all[p->newest].name, name, MMI_SPOOL_UUID) == 0) {
        return &p->all[p->newest]; /* as in a list of its messages */
    }
    for (uint32_t i = *producers_slot(p, name); i != PRODUCERS_NONE; i = p->all[i].next) {
        if (memcmp(p->all[i].name, name, MMI_SPOOL_UUID) == 0) {
            return &p->all[i];
        }
    }
    return NULL;
}

void
mmi_producers_fini(mmi_producers *p)
{
    mmi_free(p->all);
    mmi_free(p->slots);
    p->all = NULL;
    p->slots = NULL;
    p->cap = p->count = 0;
    p->first_seq = p->forgotten = 0;
}

const mmi_producer *
mmi_producers_find(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID])
{
    return producers_get(p, name);
}

bool
mmi_producers_repeats(const mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID], uint64_t number,
                      uint64_t *seq)
{
    const mmi_producer *one = producers_get(p, name);
    if (one == NULL || number > one->number) {
        return false;
    }
    uint64_t back = one->number - number;
    *seq = back < one->run ? one->seq - back : 0;
    return true;
}

static void
producers_enter(mmi_producers *p, uint32_t i)
{
    uint32_t *slot = producers_slot(p, p->all[i].name);
    p->all[i].next = *slot;
    *slot = i;
}

int
mmi_producers_reserve(mmi_producers *p)
{
    if (p->count < producers_room(p) || p->count == producers_most(p)) {
        return MM_OK;
    }
    uint32_t cap = p->cap > 0 ? 2 * p->cap : (uint32_t)PRODUCERS_FIRST;
    uint32_t most = producers_most(p), room = cap < most ? cap : most;
    mmi_producer *all = mmi_realloc(p->all, room * sizeof *all);
    if (all == NULL) {
        return MM_ENOMEM;
    }
    p->all = all; /* if there is no memory for slots, it has more room than it needs */
    uint32_t *slots = mmi_alloc(cap * sizeof *slots);
    if (slots == NULL) {
        return MM_ENOMEM;
    }
    mmi_free(p->slots);
    p->slots = slots;
    p->cap = cap;
    memset(slots, 0xff, cap * sizeof *slots); /* PRODUCERS_NONE */
    for (uint32_t i = 0; i < p->count; i++) {
        producers_enter(p, i);
    }
    return MM_OK;
}

/* Out of the order in which they put. */
static void
producers_unlink(mmi_producers *p, uint32_t i)
{
    const mmi_producer *one = &p->all[i];
    if (i == p->oldest) {
        p->oldest = one->newer;
    } else {
        p->all[one->older].newer = one->newer;
    }
    if (i == p->newest) {
        p->newest = one->older;
    } else {
        p->all[one->newer].older = one->older;
    }
}

/* The one that put longest ago goes; its place. */
static uint32_t
producers_forget(mmi_producers *p)
{
    uint32_t i = p->oldest, *at = producers_slot(p, p->all[i].name);
    while (*at != i) {
        at = &p->all[*at].next;
    }
    *at = p->all[i].next;
    producers_unlink(p, i);
    p->count--;
    p->forgotten++;
    return i;
}

void
mmi_producers_note(mmi_producers *p, const uint8_t name[MMI_SPOOL_UUID], uint64_t number,
                   uint64_t seq)
{
    mmi_producer *one = producers_get(p, name);
    uint32_t i;
    if (one == NULL) {
        i = p->count == producers_most(p) ? producers_forget(p) : p->count;
        MMI_ASSERT(i < producers_room(p));
        one = &p->all[i];
        *one = (mmi_producer){ .run = 1 };
        memcpy(one->name, name, MMI_SPOOL_UUID);
        producers_enter(p, i);
    } else {
        i = (uint32_t)(one - p->all);
        bool row = number == one->number + 1 && seq == one->seq + 1 && one->run < UINT32_MAX;
        one->run = row ? one->run + 1 : 1;
        producers_unlink(p, i);
        p->count--;
    }
    one->number = number;
    one->seq = seq;
    one->older = p->newest;
    if (p->count > 0) {
        p->all[p->newest].newer = i;
    } else {
        p->oldest = i;
    }
    p->newest = i;
    p->count++;
    p->first_seq = p->first_seq == 0 ? seq : p->first_seq;
}
