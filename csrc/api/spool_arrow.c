/*
 * api/spool_arrow.c: messages of a spool out of, and into, Arrow's C data interface.
 *
 * Not here: capsules, and arrays of a socket (api/arrow.c).  Law: as there; rows are at least one
 * message, and what is amiss behind them is told by the next call.
 */
#include <string.h>

#include "api/api.h"
#include "api/spool.h"
#include "base/meta.h"
#include "base/varint.h"
#include "batch/arrow.h"
#include "spool/rows.h"

enum { SPOOL_ITEM_HEAD = 3 /* octets in front of an item (base/meta.h) */ };

_Static_assert((int)MM_SPOOL_ROWS_MAX == (int)MMI_SPOOL_ROWS_MAX, "limits");
_Static_assert((int)MM_SPOOL_ROWS_BYTES_MAX == (int)MMI_SPOOL_ROWS_BYTES_MAX, "limits");

struct mm_spool_rows {
    mmi_spool_rows rows;
};

mm_spool_rows *
mm_spool_rows_none(void)
{
    return (mm_spool_rows *)mmi_spool_rows_new();
}

int
mm_spool_rows_read(mm_spool_reader *r, uint64_t below, uint32_t max_messages, uint64_t max_bytes,
                   int64_t timeout_ms, int64_t slice_ms, uint64_t *goes_on, mm_spool_rows **out)
{
    int rc = mm_spool_reader_load(r, timeout_ms, slice_ms, goes_on);
    if (rc == 1 && r->reader.next_seq >= below) {
        rc = MM_EINTR; /* compaction removed what there was before it */
    }
    if (rc != 1) {
        return rc;
    }
    mmi_spool_rows *rows = mmi_spool_rows_new();
    if (rows == NULL) {
        return MM_ENOMEM;
    }
    while (rc == 1) {
        rc = mmi_spool_rows_take(rows, &r->reader, below, max_messages, max_bytes);
        rc = rc == 1 ? mm_spool_reader_load(r, 0, 0, goes_on) : rc;
    }
    if (rows->count == 0) {
        mmi_spool_rows_unref(rows);
        return rc;
    }
    *out = (mm_spool_rows *)rows;
    return 1;
}

void
mm_spool_rows_facts(const mm_spool_rows *r, uint64_t *count, uint64_t *bytes)
{
    *count = r->rows.count;
    *bytes = r->rows.bytes;
}

void
mm_spool_rows_at(const mm_spool_rows *r, uint32_t i, mm_spool_message *out)
{
    const mmi_spool_rows *rows = &r->rows;
    const int32_t *data = rows->data.offset + i, *meta = rows->meta.offset + i;
    const int32_t *topic = rows->topic.offset + i, *sizes = rows->sizes.offset + i;
    *out = (mm_spool_message){ .seq = (uint64_t)rows->seq[i],
                               .time_us = (uint64_t)rows->time_us[i],
                               .epoch = (uint32_t)rows->epoch[i],
                               .frames = 1,
                               .meta_size = (uint32_t)(meta[1] - meta[0]),
                               .sizes_size = (uint32_t)(sizes[1] - sizes[0]),
                               .meta = rows->meta.data + meta[0],
                               .sizes = rows->sizes.data + sizes[0],
                               .first = rows->topic.data + topic[0],
                               .data = rows->data.data + data[0],
                               .first_size = (uint64_t)(topic[1] - topic[0]),
                               .size = (uint64_t)(data[1] - data[0]) };
    for (int32_t at = sizes[0]; at < sizes[1]; at++) {
        out->frames += (rows->sizes.data[at] & MMI_VARINT_MORE) == 0; /* the last octet of one */
    }
}

void
mm_spool_rows_free(mm_spool_rows *r)
{
    mmi_spool_rows_unref(&r->rows);
}

void *
mm_spool_rows_schema(void)
{
    mmi_arrow_schema *schema = mmi_alloc(sizeof *schema);
    if (schema != NULL && mmi_spool_rows_schema(schema) != MM_OK) {
        mmi_free(schema);
        schema = NULL;
    }
    return schema;
}

void *
mm_spool_rows_array(mm_spool_rows *r)
{
    mmi_arrow_array *array = mmi_alloc(sizeof *array);
    if (array != NULL && mmi_spool_rows_export(&r->rows, array) != MM_OK) {
        mmi_free(array);
        array = NULL;
    }
    return array;
}

/* The columns that are put: bodies, and perhaps keys. */
typedef struct spool_columns {
    mmi_arrow_view data, key;
    bool keyed;
    uint64_t first, count; /* of rows that a table begins with; how many there are */
} spool_columns;

/* A table is an array of rows: its columns have its offset besides their own.  MM_EINVAL: it cannot
 * be put. */
static int
spool_columns_of(const mmi_arrow_schema *schema, const mmi_arrow_array *array, spool_columns *c)
{
    bool found = false;
    *c = (spool_columns){ .count = (uint64_t)array->length };
    if (strcmp(schema->format, "+s") != 0) {
        return mmi_arrow_open(schema, array, &c->data);
    }
    c->first = (uint64_t)array->offset;
    if (array->null_count != 0 && array->n_buffers > 0 && array->buffers[0] != NULL) {
        return MM_EINVAL; /* rows that are null themselves */
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        const mmi_arrow_schema *child = schema->children[i];
        bool data = strcmp(child->name, "data") == 0, key = strcmp(child->name, "key") == 0;
        mmi_arrow_view *view = data ? &c->data : &c->key;
        if ((!data && !key) || (data ? found : c->keyed) ||
            mmi_arrow_open(child, array->children[i], view) != MM_OK) {
            return MM_EINVAL;
        }
        found = found || data;
        c->keyed = c->keyed || key;
    }
    return found ? MM_OK : MM_EINVAL;
}

/* What goes with each of a run: what goes with all, and its key. */
typedef struct spool_notes {
    const uint8_t *meta;
    uint32_t meta_size;
    uint8_t *room;
    size_t cap;
} spool_notes;

/* Room for the keys of a run.  MM_ENOMEM; MM_EMSGSIZE: so many of *count, perhaps none, are before
 * one that is too large. */
static int
spool_notes_room(spool_notes *n, const spool_columns *c, uint64_t at, size_t *count)
{
    size_t need = 0, fit = 0;
    for (; c->keyed && fit < *count; fit++) {
        size_t size = 0;
        if (!mmi_arrow_null(&c->key, c->first + at + fit)) {
            (void)mmi_arrow_at(&c->key, c->first + at + fit, &size);
        }
        if (n->meta_size + SPOOL_ITEM_HEAD + size > (size_t)MM_META_SIZE_MAX) {
            break;
        }
        need += n->meta_size + SPOOL_ITEM_HEAD + size;
    }
    bool all = !c->keyed || fit == *count;
    *count = all ? *count : fit;
    if (need > n->cap) {
        uint8_t *grown = mmi_realloc(n->room, need);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        n->room = grown;
        n->cap = need;
    }
    return all ? MM_OK : MM_EMSGSIZE;
}

/* The meta of one, at *room, which moves on. */
static void
spool_note(const spool_notes *n, const spool_columns *c, uint64_t row, uint8_t **room,
           mmi_spool_record *r)
{
    r->meta = n->meta;
    r->meta_size = n->meta_size;
    if (!c->keyed || mmi_arrow_null(&c->key, row)) {
        return;
    }
    size_t size;
    const uint8_t *key = mmi_arrow_at(&c->key, row, &size);
    uint8_t *to = *room;
    memcpy(to, n->meta, n->meta_size);
    to += n->meta_size;
    *to++ = MMI_META_KEY;
    *to++ = (uint8_t)(size >> 8);
    *to++ = (uint8_t)size;
    if (size > 0) {
        memcpy(to, key, size);
    }
    r->meta = *room;
    r->meta_size += SPOOL_ITEM_HEAD + (uint32_t)size;
    *room = to + size;
}

/* Rows from at on, up to one without a body, as records: how many. */
static size_t
spool_rows_run(const spool_columns *c, const spool_notes *n, uint64_t at, size_t some,
               uint64_t *sizes, mmi_spool_record *records)
{
    uint8_t *room = n->room;
    size_t count = 0;
    for (; count < some && !mmi_arrow_null(&c->data, c->first + at + count); count++) {
        size_t size;
        const uint8_t *body = mmi_arrow_at(&c->data, c->first + at + count, &size);
        sizes[count] = size;
        records[count] =
            (mmi_spool_record){ .frames = 1, .sizes = &sizes[count], .data = body, .size = size };
        spool_note(n, c, c->first + at + count, &room, &records[count]);
    }
    return count;
}

/* One run from did->done on. */
static int
spool_put_run(mm_spool *s, const spool_columns *c, spool_notes *n, const mmi_spool_wait *wait,
              mm_spool_did *did)
{
    mmi_spool_record records[MMI_SPOOL_RUN];
    uint64_t sizes[MMI_SPOOL_RUN], left = c->count - did->done;
    size_t some = left < MMI_SPOOL_RUN ? (size_t)left : (size_t)MMI_SPOOL_RUN;
    int wrong = spool_notes_room(n, c, did->done, &some);
    if (wrong != MM_OK && (wrong == MM_ENOMEM || some == 0)) {
        return wrong;
    }
    size_t count = spool_rows_run(c, n, did->done, some, sizes, records);
    if (count == 0) {
        return MM_EINVAL;
    }
    mmi_spool_did one;
    int rc = mmi_spool_shared_put(&s->shared, records, count, false, wait, &one);
    mmi_spool_did_add(&one, did);
    return rc;
}

int
mm_spool_append_arrow(mm_spool *s, const void *schema, const void *array, const uint8_t *meta,
                      uint32_t meta_size, int64_t timeout_ms, int64_t slice_ms, mm_spool_did *did)
{
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    spool_notes notes = { .meta = meta, .meta_size = meta_size };
    spool_columns columns;
    did->first = did->last = 0;
    int rc = mmi_api_meta_valid(meta, meta_size) ? MM_OK : MM_EINVAL;
    rc = rc == MM_OK ? spool_columns_of(schema, array, &columns) : rc;
    while (rc == MM_OK && did->done < columns.count) {
        rc = spool_put_run(s, &columns, &notes, &wait, did);
    }
    mmi_free(notes.room);
    return mmi_spool_rc(rc, timeout_ms);
}
