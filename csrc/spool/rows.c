/*
 * spool/rows.c: see spool/rows.h.
 */
#include "spool/rows.h"

#include <string.h>

#include "base/large.h"
#include "base/meta.h"
#include "base/octets.h"

enum {
    ROWS_FIRST = 256,        /* rows that there is room for at first */
    ROWS_TEXT_FIRST = 4096,  /* octets of a column, likewise */
    ROWS_ITEM_HEAD = 3       /* octets in front of an item (base/meta.h) */
};
static const uint64_t ROWS_TEXT_MAX = INT32_MAX, ROWS_NS_PER_US = 1000;

mmi_spool_rows *
mmi_spool_rows_new(void)
{
    mmi_spool_rows *rows = mmi_alloc(sizeof *rows);
    if (rows != NULL) {
        *rows = (mmi_spool_rows){ .count = 0 };
        atomic_init(&rows->refs, 1);
    }
    return rows;
}

void
mmi_spool_rows_unref(mmi_spool_rows *rows)
{
    if (atomic_fetch_sub_explicit(&rows->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    mmi_spool_texts *const texts[] = { &rows->data,  &rows->topic,  &rows->key,  &rows->meta,
                                       &rows->names, &rows->values, &rows->sizes };
    for (size_t i = 0; i < MMI_COUNT_OF(texts); i++) {
        mmi_large_free(texts[i]->data);
        mmi_free(texts[i]->offset);
    }
    void *const columns[] = { rows->seq,          rows->time_us,     rows->epoch,
                              rows->key_valid,    rows->topic_valid, rows->headers,
                              rows->made.us,      rows->made.valid,  rows->expires.us,
                              rows->expires.valid };
    for (size_t i = 0; i < MMI_COUNT_OF(columns); i++) {
        mmi_free(columns[i]);
    }
    mmi_free(rows);
}

/* Room for so many elements of that size, for a pointer to some; false: no memory. */
static bool
rows_grow(void *pointer, size_t count, size_t size)
{
    void *old;
    memcpy(&old, pointer, sizeof old);
    void *grown = mmi_realloc(old, count * size);
    if (grown != NULL) {
        memcpy(pointer, &grown, sizeof grown);
    }
    return grown != NULL;
}

/* Room for so many octets; what is large is kept for the next rows. */
static bool
rows_text_grow(mmi_spool_texts *t, uint64_t cap)
{
    uint8_t *kept = cap >= (uint64_t)MMI_LARGE_MIN ? mmi_large_take((size_t)cap) : NULL;
    if (kept == NULL) {
        return rows_grow(&t->data, (size_t)cap, 1);
    }
    if (t->size > 0) {
        memcpy(kept, t->data, (size_t)t->size);
    }
    mmi_large_free(t->data);
    t->data = kept;
    return true;
}

/* One element more of a column of octets; room is made, and it is written by the next. */
static bool
rows_text_room(mmi_spool_texts *t, uint64_t size)
{
    if (t->count + 1 >= t->offset_cap) {
        uint32_t cap = (uint32_t)mmi_spool_cap(t->offset_cap, ROWS_FIRST, t->count + UINT64_C(2));
        if (!rows_grow(&t->offset, cap, sizeof *t->offset)) {
            return false;
        }
        t->offset_cap = cap;
        t->offset[0] = 0;
    }
    uint64_t need = t->size + size;
    if (need > ROWS_TEXT_MAX) {
        return false;
    }
    uint64_t cap =
        need > t->cap || t->data == NULL ? mmi_spool_cap(t->cap, ROWS_TEXT_FIRST, need) : t->cap;
    if (cap != t->cap && !rows_text_grow(t, cap)) {
        return false;
    }
    t->cap = cap;
    return true;
}

static void
rows_text_put(mmi_spool_texts *t, const uint8_t *data, uint64_t size)
{
    if (size > 0) {
        memcpy(t->data + t->size, data, size);
    }
    t->size += size;
    t->offset[++t->count] = (int32_t)t->size;
}

static bool
rows_times_grow(mmi_spool_times *t, uint32_t cap)
{
    return rows_grow(&t->us, cap, sizeof *t->us) && rows_grow(&t->valid, cap / 8, 1);
}

/* Room for one row more, of that size; nothing is changed but room. */
static bool
rows_room(mmi_spool_rows *rows, const mmi_spool_record *r)
{
    if (rows->count + 1 >= rows->cap) {
        uint32_t cap = (uint32_t)mmi_spool_cap(rows->cap, ROWS_FIRST, rows->count + UINT64_C(2));
        bool all = rows_grow(&rows->seq, cap, sizeof *rows->seq) &&
                   rows_grow(&rows->time_us, cap, sizeof *rows->time_us) &&
                   rows_grow(&rows->epoch, cap, sizeof *rows->epoch) &&
                   rows_grow(&rows->headers, cap, sizeof *rows->headers) &&
                   rows_grow(&rows->key_valid, cap / 8, 1) &&
                   rows_grow(&rows->topic_valid, cap / 8, 1) && rows_times_grow(&rows->made, cap) &&
                   rows_times_grow(&rows->expires, cap) &&
                   rows_grow(&rows->topic.offset, cap, sizeof *rows->topic.offset) &&
                   rows_grow(&rows->sizes.offset, cap, sizeof *rows->sizes.offset);
        if (!all) {
            return false;
        }
        rows->cap = rows->topic.offset_cap = rows->sizes.offset_cap = cap;
        rows->headers[0] = rows->topic.offset[0] = rows->sizes.offset[0] = 0;
    }
    return rows_text_room(&rows->data, r->size) && rows_text_room(&rows->meta, r->meta_size) &&
           rows_text_room(&rows->key, r->meta_size) &&
           (r->frames == 1 || (rows_text_room(&rows->topic, mmi_spool_record_first(r)) &&
                               rows_text_room(&rows->sizes, mmi_spool_record_sizes_size(r))));
}

/* A header: the size of its name, the name, the value (base/meta.h). */
static bool
rows_header(mmi_spool_rows *rows, const uint8_t *item, uint32_t size)
{
    uint32_t name = item[0], value = size - 1 - name;
    if (!rows_text_room(&rows->names, name) || !rows_text_room(&rows->values, value)) {
        return false;
    }
    rows_text_put(&rows->names, item + 1, name);
    rows_text_put(&rows->values, item + 1 + name, value);
    return true;
}

/* Whether that row has one. */
static void
rows_valid(uint8_t *valid, uint32_t row, bool there)
{
    uint8_t *at = &valid[row / 8], bit = (uint8_t)(1 << row % 8);
    *at = (uint8_t)(row % 8 == 0 ? 0 : *at);
    *at = (uint8_t)(there ? *at | bit : *at);
}

/* Its frames: the first of several is its topic. */
static void
rows_frames(mmi_spool_rows *rows, const mmi_spool_record *r)
{
    const bool several = r->frames > 1;
    uint64_t first = several ? mmi_spool_record_first(r) : 0;
    rows_valid(rows->topic_valid, rows->count, several);
    rows->topicless += !several;
    rows_text_put(&rows->topic, r->data, first);
    rows_text_put(&rows->data, r->data + first, r->size - first);
    rows_text_put(&rows->sizes, r->sizes_at, several ? mmi_spool_record_sizes_size(r) : 0);
}

/* Of nanoseconds, as they stand there; NULL: there is none.  The nearest: a time that was said as a
 * binary fraction is a little off. */
static void
rows_time(mmi_spool_times *t, uint32_t row, const uint8_t *at)
{
    const uint64_t ns = at != NULL ? mmi_be64_get(at) : 0;
    rows_valid(t->valid, row, at != NULL);
    t->us[row] = (int64_t)(ns / ROWS_NS_PER_US + (ns % ROWS_NS_PER_US >= ROWS_NS_PER_US / 2));
    t->without += at == NULL;
}

/* Its key, times and headers, of a meta that was checked. */
static bool
rows_meta(mmi_spool_rows *rows, const mmi_spool_record *r)
{
    const uint8_t *key = NULL, *made = NULL, *expires = NULL;
    uint32_t key_size = 0;
    for (uint32_t at = 0; at + ROWS_ITEM_HEAD <= r->meta_size;) {
        const uint8_t *item = r->meta + at + ROWS_ITEM_HEAD;
        uint32_t id = r->meta[at], size = (uint32_t)r->meta[at + 1] << 8 | r->meta[at + 2];
        if (id == MMI_META_KEY) {
            key = item;
            key_size = size;
        } else if (id == MMI_META_TIMESTAMP) {
            made = item;
        } else if (id == MMI_META_EXPIRES) {
            expires = item;
        } else if ((id == MMI_META_TEXT || id == MMI_META_OCTETS) &&
                   !rows_header(rows, item, size)) {
            return false;
        }
        at += ROWS_ITEM_HEAD + size;
    }
    rows_valid(rows->key_valid, rows->count, key != NULL);
    rows->keyless += key == NULL;
    rows_text_put(&rows->key, key, key_size);
    rows_time(&rows->made, rows->count, made);
    rows_time(&rows->expires, rows->count, expires);
    return true;
}

/* What is counted of it: its frames and their sizes, and what goes with it. */
static uint64_t
rows_size(const mmi_spool_record *r)
{
    return r->size + r->meta_size + (r->frames > 1 ? mmi_spool_record_sizes_size(r) : 0);
}

static int
rows_put(mmi_spool_rows *rows, const mmi_spool_reader *reader, const mmi_spool_record *r,
         uint64_t seq)
{
    const uint32_t names = rows->names.count, i = rows->count;
    const uint64_t names_size = rows->names.size, values_size = rows->values.size;
    if (!rows_room(rows, r) || !rows_meta(rows, r)) {
        rows->names.count = rows->values.count = names;
        rows->names.size = names_size;
        rows->values.size = values_size;
        return MM_ENOMEM;
    }
    rows->seq[i] = (int64_t)seq;
    rows->time_us[i] = (int64_t)reader->scan.batch.time_us;
    rows->epoch[i] = reader->scan.batch.epoch;
    rows_text_put(&rows->meta, r->meta, r->meta_size);
    rows_frames(rows, r);
    rows->headers[i + 1] = (int32_t)rows->names.count;
    rows->bytes += rows_size(r);
    rows->count++;
    return MM_OK;
}

int
mmi_spool_rows_room(mmi_spool_rows *rows, uint64_t octets)
{
    octets = octets < ROWS_TEXT_MAX ? octets : ROWS_TEXT_MAX;
    if (octets > rows->data.cap) { /* 0: as ever, with the first row */
        if (!rows_text_grow(&rows->data, octets)) {
            return MM_ENOMEM;
        }
        rows->data.cap = octets;
    }
    return MM_OK;
}

int
mmi_spool_rows_take(mmi_spool_rows *rows, mmi_spool_reader *reader, uint64_t below, uint32_t most,
                    uint64_t max_bytes)
{
    max_bytes = max_bytes < MMI_SPOOL_ROWS_BYTES_MAX ? max_bytes : MMI_SPOOL_ROWS_BYTES_MAX;
    for (;;) {
        if (rows->count >= most || reader->next_seq >= below) {
            return 0;
        }
        mmi_spool_record record;
        uint64_t seq;
        const mmi_spool_walk walk = reader->walk;
        const uint64_t next_seq = reader->next_seq;
        int rc = mmi_spool_reader_next(reader, &record, &seq);
        if (rc != 1) {
            return rc == 0 ? 1 : rc;
        }
        bool over = rows->count > 0 && rows->bytes + rows_size(&record) > max_bytes;
        rc = over ? 0 : rows_put(rows, reader, &record, seq);
        if (over || rc != MM_OK) {
            reader->walk = walk;
            reader->next_seq = next_seq;
            return over ? 0 : rc;
        }
    }
}
