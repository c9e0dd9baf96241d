/*
 * arrow.c: batches out of, and binary arrays into, Arrow's C data interface.
 * Not here: sending and capsules (api/arrow.c).
 * Law: what a foreign array says of itself is believed, as the interface demands; its type is not.
 */
#include "batch/arrow.h"

#include <string.h>

enum { ARROW_BUFFERS = 3, ARROW_VIEW_INLINE = 12, ARROW_VIEW_SIZE = 16 };
static const uint8_t arrow_nothing;

typedef struct arrow_export {
    mmi_batch *batch;
    const void *buffers[ARROW_BUFFERS];
} arrow_export;

static void
arrow_release_schema(mmi_arrow_schema *schema)
{
    schema->release = NULL;
}

void
mmi_arrow_binary(mmi_arrow_schema *out)
{
    *out = (mmi_arrow_schema){ .format = "z", .name = "", .release = arrow_release_schema };
}

static void
arrow_release_array(mmi_arrow_array *array)
{
    arrow_export *x = array->private_data;
    mm_batch_free(&x->batch->pub);
    mmi_free(x);
    array->release = NULL;
}

int
mmi_arrow_export(mmi_batch *b, uint32_t first, uint32_t count, mmi_arrow_array *out)
{
    arrow_export *x = mmi_alloc(sizeof *x);
    if (x == NULL) {
        return MM_ENOMEM;
    }
    x->batch = mmi_batch_ref(b);
    x->buffers[1] = b->pub.body_offset;
    x->buffers[2] = b->pub.body;
    *out = (mmi_arrow_array){
        .length = count,
        .offset = first,
        .n_buffers = ARROW_BUFFERS,
        .buffers = x->buffers,
        .release = arrow_release_array,
        .private_data = x,
    };
    return MM_OK;
}

/* The N of "w:N"; -1: that is none.  Arrow keeps it in 32 bits, signed. */
static int64_t
arrow_width(const char *format)
{
    const char *digit = format + 2;
    int64_t width = 0;
    if (strncmp(format, "w:", 2) != 0 || *digit == 0) {
        return -1;
    }
    for (; *digit >= '0' && *digit <= '9' && width <= INT32_MAX; digit++) {
        width = width * 10 + (*digit - '0');
    }
    return *digit == 0 && width <= INT32_MAX ? width : -1;
}

int
mmi_arrow_open(const mmi_arrow_schema *schema, const mmi_arrow_array *array, mmi_arrow_view *out)
{
    const char *f = schema->format;
    int64_t width = arrow_width(f);
    char kind = width >= 0 ? 'w' : 0;
    if (strcmp(f, "z") == 0 || strcmp(f, "u") == 0) {
        kind = 'i';
    } else if (strcmp(f, "Z") == 0 || strcmp(f, "U") == 0) {
        kind = 'l';
    } else if (strcmp(f, "vz") == 0 || strcmp(f, "vu") == 0) {
        kind = 'v';
    }
    int64_t buffers = kind == 'v' || kind == 'w' ? 2 : ARROW_BUFFERS;
    if (kind == 0 || schema->dictionary != NULL || array->n_buffers < buffers) {
        return MM_EINVAL;
    }
    *out = (mmi_arrow_view){ .array = array, .kind = kind };
    out->width = kind == 'w' ? (size_t)width : 0;
    return MM_OK;
}

bool
mmi_arrow_null(const mmi_arrow_view *v, uint64_t i)
{
    const uint8_t *valid = v->array->buffers[0];
    uint64_t at = i + (uint64_t)v->array->offset;
    return valid != NULL && v->array->null_count != 0 && (valid[at / 8] >> (at % 8) & 1) == 0;
}

static const uint8_t *
arrow_view_at(const mmi_arrow_view *v, uint64_t at, size_t *size)
{
    const uint8_t *view = (const uint8_t *)v->array->buffers[1] + at * ARROW_VIEW_SIZE;
    int32_t word[4];
    memcpy(word, view, sizeof word);
    *size = (size_t)word[0];
    if (word[0] <= ARROW_VIEW_INLINE) {
        return view + 4;
    }
    return (const uint8_t *)v->array->buffers[2 + word[2]] + word[3];
}

const uint8_t *
mmi_arrow_at(const mmi_arrow_view *v, uint64_t i, size_t *size)
{
    uint64_t at = i + (uint64_t)v->array->offset;
    if (v->kind == 'v') {
        return arrow_view_at(v, at, size);
    }
    if (v->kind == 'w') {
        *size = v->width;   /* of width 0 there need be no bytes, but a body stands somewhere */
        return v->width == 0 ? &arrow_nothing : (const uint8_t *)v->array->buffers[1] + at * *size;
    }
    const uint8_t *data = v->array->buffers[2];
    if (v->kind == 'i') {
        const int32_t *offset = v->array->buffers[1];
        *size = (size_t)(offset[at + 1] - offset[at]);
        return data + offset[at];
    }
    const int64_t *offset = v->array->buffers[1];
    *size = (size_t)(offset[at + 1] - offset[at]);
    return data + offset[at];
}
