/*
 * tags.c: what a poll event means.  A tag is {kind:8, generation:24, index:32}, so an event that
 * was already fetched when its object was closed leads nowhere.
 *
 * Not here: the objects.  Law: tag 0 is never given out.
 */
#include "engine/engine.h"

enum { TAGS_FIRST = 64, TAG_GENERATION_MASK = 0xffffff };

int
mmi_tag_new(mmi_engine *e, mmi_tag_kind kind, void *object, uint64_t *tag)
{
    uint32_t index;
    if (e->tag_first_free != 0) {
        index = e->tag_first_free - 1;
        e->tag_first_free = e->tags[index].next_free;
    } else {
        if (e->tag_count == e->tag_cap) {
            uint32_t cap = e->tag_cap == 0 ? TAGS_FIRST : e->tag_cap * 2;
            mmi_tag_entry *tags = mmi_realloc(e->tags, cap * sizeof *tags);
            if (tags == NULL) {
                return MM_ENOMEM;
            }
            e->tags = tags;
            e->tag_cap = cap;
        }
        index = e->tag_count++;
        e->tags[index].generation = 0;
    }
    mmi_tag_entry *entry = &e->tags[index];
    entry->generation = (entry->generation + 1) & TAG_GENERATION_MASK;
    entry->object = object;
    entry->kind = (uint32_t)kind;
    *tag = (uint64_t)kind << 56 | (uint64_t)entry->generation << 32 | index;
    return MM_OK;
}

static mmi_tag_entry *
tag_entry(const mmi_engine *e, uint64_t tag)
{
    uint32_t index = (uint32_t)tag;
    if (tag == 0 || index >= e->tag_count) {
        return NULL;
    }
    mmi_tag_entry *entry = &e->tags[index];
    bool same = entry->object != NULL && entry->kind == (uint32_t)(tag >> 56) &&
                entry->generation == ((uint32_t)(tag >> 32) & TAG_GENERATION_MASK);
    return same ? entry : NULL;
}

void
mmi_tag_free(mmi_engine *e, uint64_t tag)
{
    mmi_tag_entry *entry = tag_entry(e, tag);
    if (entry == NULL) {
        return;
    }
    entry->object = NULL;
    entry->next_free = e->tag_first_free;
    e->tag_first_free = (uint32_t)tag + 1;
}

void *
mmi_tag_find(const mmi_engine *e, uint64_t tag, mmi_tag_kind *kind)
{
    mmi_tag_entry *entry = tag_entry(e, tag);
    if (entry == NULL) {
        return NULL;
    }
    *kind = (mmi_tag_kind)entry->kind;
    return entry->object;
}
