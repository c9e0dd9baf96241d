/*
 * spool/rows_arrow.c: rows of a spool by Arrow's C data interface.
 *
 * Law: whoever takes an array may move its columns out of it, and release each when it likes: each
 * one holds the rows by itself.
 */
#include <string.h>

#include "spool/rows.h"

enum { ARROW_CHILDREN = 9, ARROW_NULLABLE = 2 };

/* The fields, each in front of those that it consists of. */
enum {
    F_TABLE,
    F_SEQ,
    F_TIME,
    F_EPOCH,
    F_TOPIC,
    F_KEY,
    F_HEADERS,
    F_HEADER,
    F_NAME,
    F_VALUE,
    F_DATA,
    F_MADE,
    F_EXPIRES
};
static const struct {
    const char *name, *format;
    uint8_t buffers, children;
} arrow_fields[] = {
    [F_TABLE] = { "", "+s", 1, 9 },
    [F_SEQ] = { "seq", "l", 2, 0 },
    [F_TIME] = { "time", "tsu:UTC", 2, 0 },
    [F_EPOCH] = { "epoch", "l", 2, 0 },
    [F_TOPIC] = { "topic", "z", 3, 0 },
    [F_KEY] = { "key", "z", 3, 0 },
    [F_HEADERS] = { "headers", "+l", 2, 1 },
    [F_HEADER] = { "element", "+s", 1, 2 },
    [F_NAME] = { "key", "u", 3, 0 },
    [F_VALUE] = { "value", "z", 3, 0 },
    [F_DATA] = { "data", "z", 3, 0 },
    [F_MADE] = { "timestamp", "tsu:UTC", 2, 0 },
    [F_EXPIRES] = { "expires", "tsu:UTC", 2, 0 },
};
_Static_assert(MMI_COUNT_OF(arrow_fields) == MMI_SPOOL_ROWS_FIELDS, "fields");

typedef struct arrow_type {
    mmi_arrow_schema child[ARROW_CHILDREN], *children[ARROW_CHILDREN];
} arrow_type;

static void
arrow_release_type(mmi_arrow_schema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        mmi_arrow_schema *child = schema->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    mmi_free(schema->private_data);
    schema->release = NULL;
}

/* Field *f and those that it consists of; *f is then the one behind them. */
static int
arrow_type_of(size_t *f, mmi_arrow_schema *out)
{
    size_t own = (*f)++;
    *out = (mmi_arrow_schema){ .format = arrow_fields[own].format,
                               .name = arrow_fields[own].name,
                               .flags = own == F_TABLE ? 0 : ARROW_NULLABLE,
                               .release = arrow_release_type };
    if (arrow_fields[own].children == 0) {
        return MM_OK;
    }
    arrow_type *type = mmi_alloc(sizeof *type);
    int rc = type != NULL ? MM_OK : MM_ENOMEM;
    out->private_data = type;
    out->children = type != NULL ? type->children : NULL;
    for (uint8_t i = 0; rc == MM_OK && i < arrow_fields[own].children; i++) {
        type->children[i] = &type->child[i];
        out->n_children = i + 1;
        rc = arrow_type_of(f, &type->child[i]);
    }
    return rc;
}

int
mmi_spool_rows_schema(mmi_arrow_schema *out)
{
    size_t f = F_TABLE;
    int rc = arrow_type_of(&f, out);
    if (rc != MM_OK) {
        out->release(out);
    }
    return rc;
}

/* An array that was made of rows. */
typedef struct arrow_part {
    mmi_spool_rows *rows;
    mmi_arrow_array child[ARROW_CHILDREN], *children[ARROW_CHILDREN];
} arrow_part;

static void
arrow_release_part(mmi_arrow_array *array)
{
    arrow_part *part = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        mmi_arrow_array *child = array->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    if (part != NULL) {
        mmi_spool_rows_unref(part->rows);
        mmi_free(part);
    }
    array->release = NULL;
}

/* How many rows of a field are null. */
static int64_t
arrow_nulls(const mmi_spool_rows *rows, size_t field)
{
    return field == F_KEY       ? rows->keyless
           : field == F_TOPIC   ? rows->topicless
           : field == F_MADE    ? rows->made.without
           : field == F_EXPIRES ? rows->expires.without
                                : 0;
}

/* As arrow_type_of. */
static int
arrow_part_of(mmi_spool_rows *rows, size_t *f, mmi_arrow_array *out)
{
    size_t own = (*f)++;
    bool header = own == F_HEADER || own == F_NAME || own == F_VALUE;
    arrow_part *part = mmi_alloc(sizeof *part);
    int rc = part != NULL ? MM_OK : MM_ENOMEM;
    *out = (mmi_arrow_array){ .length = header ? rows->names.count : rows->count,
                              .null_count = arrow_nulls(rows, own),
                              .n_buffers = arrow_fields[own].buffers,
                              .buffers = rows->buffers[own],
                              .children = part != NULL ? part->children : NULL,
                              .private_data = part,
                              .release = arrow_release_part };
    if (part != NULL) {
        part->rows = rows;
        atomic_fetch_add_explicit(&rows->refs, 1, memory_order_relaxed);
    }
    for (uint8_t i = 0; rc == MM_OK && i < arrow_fields[own].children; i++) {
        part->children[i] = &part->child[i];
        out->n_children = i + 1;
        rc = arrow_part_of(rows, f, &part->child[i]);
    }
    return rc;
}

/* Where the columns lie: the same however often it is asked. */
static void
arrow_buffers(mmi_spool_rows *rows)
{
    static const int32_t none[1];
    const mmi_spool_texts *const texts[MMI_SPOOL_ROWS_FIELDS] = { [F_TOPIC] = &rows->topic,
                                                                  [F_KEY] = &rows->key,
                                                                  [F_NAME] = &rows->names,
                                                                  [F_VALUE] = &rows->values,
                                                                  [F_DATA] = &rows->data };
    for (size_t f = 0; f < MMI_SPOOL_ROWS_FIELDS; f++) {
        if (texts[f] != NULL) {
            rows->buffers[f][1] = texts[f]->offset != NULL ? texts[f]->offset : none;
            rows->buffers[f][2] = texts[f]->data != NULL ? (const void *)texts[f]->data : none;
        }
    }
    rows->buffers[F_SEQ][1] = rows->seq;
    rows->buffers[F_TIME][1] = rows->time_us;
    rows->buffers[F_EPOCH][1] = rows->epoch;
    rows->buffers[F_KEY][0] = rows->keyless > 0 ? rows->key_valid : NULL;
    rows->buffers[F_TOPIC][0] = rows->topicless > 0 ? rows->topic_valid : NULL;
    rows->buffers[F_MADE][0] = rows->made.without > 0 ? rows->made.valid : NULL;
    rows->buffers[F_MADE][1] = rows->made.us;
    rows->buffers[F_EXPIRES][0] = rows->expires.without > 0 ? rows->expires.valid : NULL;
    rows->buffers[F_EXPIRES][1] = rows->expires.us;
    rows->buffers[F_HEADERS][1] = rows->headers != NULL ? rows->headers : none;
}

int
mmi_spool_rows_export(mmi_spool_rows *rows, mmi_arrow_array *out)
{
    size_t f = F_TABLE;
    arrow_buffers(rows);
    int rc = arrow_part_of(rows, &f, out);
    if (rc != MM_OK) {
        out->release(out);
    }
    return rc;
}
