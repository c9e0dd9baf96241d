/*
 * arrow.h: the structs of Arrow's C data interface (arrow.apache.org/docs/format/CDataInterface),
 * and a batch as one of its arrays.
 *
 * Not here: capsules (api/arrow.c).  Law: who moves a struct sets release of the old one to NULL;
 * an exported array holds a reference to its batch until it is released.
 */
#ifndef MMI_ARROW_H
#define MMI_ARROW_H

#include "batch/batch.h"

typedef struct mmi_arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct mmi_arrow_schema **children, *dictionary;
    void (*release)(struct mmi_arrow_schema *schema);
    void *private_data;
} mmi_arrow_schema;

typedef struct mmi_arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct mmi_arrow_array **children, *dictionary;
    void (*release)(struct mmi_arrow_array *array);
    void *private_data;
} mmi_arrow_array;

typedef struct mmi_arrow_stream {
    int (*get_schema)(struct mmi_arrow_stream *stream, mmi_arrow_schema *out);
    int (*get_next)(struct mmi_arrow_stream *stream, mmi_arrow_array *out);
    const char *(*get_last_error)(struct mmi_arrow_stream *stream);
    void (*release)(struct mmi_arrow_stream *stream);
    void *private_data;
} mmi_arrow_stream;

void mmi_arrow_binary(mmi_arrow_schema *out);
/* Bodies [first, first + count) of a batch. MM_ENOMEM */
int mmi_arrow_export(mmi_batch *b, uint32_t first, uint32_t count,
                     mmi_arrow_array *out) MMI_WARN_UNUSED;

/* Reading an array of binary or strings of any layout. */
typedef struct mmi_arrow_view {
    const mmi_arrow_array *array;
    char kind;      /* 'i': offsets of 32 bits, 'l': of 64, 'v': views, 'w': all of one width */
    size_t width;   /* bytes; of 'w' */
} mmi_arrow_view;

int mmi_arrow_open(const mmi_arrow_schema *schema, const mmi_arrow_array *array,
                   mmi_arrow_view *out) MMI_WARN_UNUSED;   /* MM_EINVAL: no such layout */
bool mmi_arrow_null(const mmi_arrow_view *v, uint64_t i);
const uint8_t *mmi_arrow_at(const mmi_arrow_view *v, uint64_t i, size_t *size);

#endif
