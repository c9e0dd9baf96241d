/*
 * meta.c: see base/meta.h.
 * Not here: limits of its size (those who take it).
 */
#include "base/meta.h"

#include <string.h>

#include "base/octets.h"

enum {
    META_HEAD = 3,               /* octets of an item in front of its data */
    META_TIME = 8,
    META_ONCE = 1 << MMI_META_TIMESTAMP | 1 << MMI_META_EXPIRES | 1 << MMI_META_KEY
};

/* The item there, of at most that many octets: its size with its head; 0: malformed. */
static size_t
meta_item(const uint8_t *at, size_t left, size_t *size)
{
    if (left < META_HEAD) {
        return 0;
    }
    *size = (size_t)at[1] << 8 | at[2];
    return *size <= left - META_HEAD ? META_HEAD + *size : 0;
}

/* Octets of the character there, of at most size; 0: it is none (RFC 3629). */
static size_t
meta_character(const uint8_t *at, size_t size)
{
    static const struct {
        uint8_t first, last, least, most; /* of the first octet; of the second */
        size_t size;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(forms); i++) {
        if (at[0] >= forms[i].first && at[0] <= forms[i].last) {
            bool good = forms[i].size <= size &&
                        (forms[i].size == 1 || (at[1] >= forms[i].least && at[1] <= forms[i].most));
            for (size_t k = 2; good && k < forms[i].size; k++) {
                good = (at[k] & 0xc0) == 0x80;
            }
            return good ? forms[i].size : 0;
        }
    }
    return 0;
}

static bool
meta_is_text(const uint8_t *data, size_t size)
{
    size_t one = 1;
    for (size_t at = 0; at < size && one > 0; at += one) {
        one = meta_character(data + at, size - at);
    }
    return one > 0;
}

/* A name in front of a value; both may have to be text. */
static bool
meta_is_header(const uint8_t *data, size_t size, bool text)
{
    size_t name = size > 1 ? data[0] : 0;
    return name > 0 && name <= size - 1 && meta_is_text(data + 1, name) &&
           (!text || meta_is_text(data + 1 + name, size - 1 - name));
}

static bool
meta_item_is(int id, const uint8_t *data, size_t size)
{
    switch (id) {
    case MMI_META_TIMESTAMP:
    case MMI_META_EXPIRES: return size == META_TIME;
    case MMI_META_TEXT: return meta_is_header(data, size, true);
    case MMI_META_OCTETS: return meta_is_header(data, size, false);
    default: return true;
    }
}

bool
mmi_meta_check(const uint8_t *data, size_t size)
{
    unsigned seen = 0;
    for (size_t at = 0, item, length; at < size; at += item) {
        unsigned id = data[at], bit = id <= MMI_META_KEY ? 1U << id : 0;
        item = meta_item(data + at, size - at, &length);
        if (item == 0 || (seen & bit & META_ONCE) != 0 ||
            !meta_item_is((int)id, data + at + META_HEAD, length)) {
            return false;
        }
        seen |= bit;
    }
    return true;
}

mmi_meta *
mmi_meta_new(const uint8_t *data, size_t size)
{
    mmi_meta *m = mmi_alloc(sizeof *m + size);
    if (m == NULL) {
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->size = (uint32_t)size;
    m->expires_ns = 0;
    m->key = m->key_size = 0;
    if (size > 0) {
        memcpy(m->data, data, size);
    }
    for (size_t at = 0, item, length; at < size; at += item) {
        item = meta_item(data + at, size - at, &length);
        MMI_ASSERT(item > 0);   /* it was checked */
        if (data[at] == MMI_META_EXPIRES) {
            m->expires_ns = mmi_be64_get(data + at + META_HEAD);
        } else if (data[at] == MMI_META_KEY) {
            m->key = (uint32_t)(at + META_HEAD);
            m->key_size = (uint32_t)length;
        }
    }
    return m;
}

mmi_meta *
mmi_meta_ref(mmi_meta *meta)
{
    if (meta != NULL) {
        atomic_fetch_add_explicit(&meta->refs, 1, memory_order_relaxed);
    }
    return meta;
}

void
mmi_meta_unref(mmi_meta *meta)
{
    if (meta != NULL && atomic_fetch_sub_explicit(&meta->refs, 1, memory_order_acq_rel) == 1) {
        mmi_free(meta);
    }
}
