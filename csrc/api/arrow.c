/*
 * api/arrow.c: Arrow arrays in and out, as Python's PyCapsules hold them.
 *
 * The capsules are made in Python; only their destructors are here, as they must run without it.
 * Law: a capsule that nobody took releases what it holds.
 */
#include "api/api.h"

#include <string.h>

#include "batch/arrow.h"

enum { ARROW_RUN = 512 };   /* elements that are handed to mm_send_many at once */

static void *(*arrow_capsule_pointer)(void *capsule, const char *name);

static void
arrow_drop_schema(mmi_arrow_schema *schema)
{
    if (schema != NULL && schema->release != NULL) {
        schema->release(schema);
    }
    mmi_free(schema);
}

static void
arrow_drop_array(mmi_arrow_array *array)
{
    if (array != NULL && array->release != NULL) {
        array->release(array);
    }
    mmi_free(array);
}

static void
arrow_schema_dropped(void *capsule)
{
    arrow_drop_schema(arrow_capsule_pointer(capsule, "arrow_schema"));
}

static void
arrow_array_dropped(void *capsule)
{
    arrow_drop_array(arrow_capsule_pointer(capsule, "arrow_array"));
}

void
mm_arrow_setup(void *capsule_pointer, void **schema_destructor, void **array_destructor)
{
    /* Through their addresses: ISO C has no cast between pointers to objects and to functions. */
    void (*schema)(void *) = arrow_schema_dropped, (*array)(void *) = arrow_array_dropped;
    memcpy(&arrow_capsule_pointer, &capsule_pointer, sizeof capsule_pointer);
    memcpy(schema_destructor, &schema, sizeof schema);
    memcpy(array_destructor, &array, sizeof array);
}

void *
mm_arrow_schema(void)
{
    mmi_arrow_schema *schema = mmi_alloc(sizeof *schema);
    if (schema != NULL) {
        mmi_arrow_binary(schema);
    }
    return schema;
}

void *
mm_arrow_array(mm_batch *batch, uint32_t first, uint32_t count)
{
    mmi_arrow_array *array = mmi_alloc(sizeof *array);
    if (array != NULL && mmi_arrow_export((mmi_batch *)batch, first, count, array) != MM_OK) {
        mmi_free(array);
        array = NULL;
    }
    return array;
}

uint64_t
mm_arrow_size(const void *schema, const void *array, uint64_t index)
{
    mmi_arrow_view view;
    size_t size = 0;
    if (mmi_arrow_open(schema, array, &view) == MM_OK && index < (uint64_t)view.array->length &&
        !mmi_arrow_null(&view, index)) {
        (void)mmi_arrow_at(&view, index, &size);
    }
    return size;
}

int
mm_arrow_body(const void *schema, const void *array, uint64_t index, mm_body *out)
{
    mmi_arrow_view view;
    if (mmi_arrow_open(schema, array, &view) != MM_OK || index >= (uint64_t)view.array->length ||
        mmi_arrow_null(&view, index)) {
        return MM_EINVAL;
    }
    out->data = mmi_arrow_at(&view, index, &out->size);
    return MM_OK;
}

/* A run of elements from i on, up to a null: how many. */
static size_t
arrow_run(const mmi_arrow_view *v, uint64_t i, mm_body *run)
{
    size_t count = 0;
    for (; count < ARROW_RUN && i + count < (uint64_t)v->array->length; count++) {
        if (mmi_arrow_null(v, i + count)) {
            break;
        }
        run[count].data = mmi_arrow_at(v, i + count, &run[count].size);
    }
    return count;
}

/* What is left of the time for all runs. */
static int64_t
arrow_left(mm_handle socket, int64_t start_ms, int64_t timeout_ms)
{
    int64_t took_ms = timeout_ms > 0 ? mm_now_ms(socket) - start_ms : 0;
    return timeout_ms > 0 && took_ms >= timeout_ms ? 0 : timeout_ms - took_ms;
}

int
mm_send_arrow_run(mm_handle socket, const void *schema, const void *array, mm_note *note,
                  uint64_t receipt, uint64_t *done, int64_t timeout_ms, int64_t slice_ms)
{
    mmi_arrow_view view;
    int64_t start_ms = timeout_ms > 0 ? mm_now_ms(socket) : 0, left_ms = timeout_ms;
    bool plain = note == NULL && receipt == 0;
    int rc = mmi_arrow_open(schema, array, &view);
    while (rc == MM_OK && *done < (uint64_t)view.array->length) {
        mm_body run[ARROW_RUN];
        size_t sent = 0, count = arrow_run(&view, *done, run);
        if (count == 0) {
            return MM_EINVAL;
        }
        rc = plain ? mm_send_many(socket, run, count, left_ms, slice_ms, &sent)
                   : mm_send_run(socket, run, count, note, receipt != 0 ? receipt + *done : 0,
                                 left_ms, slice_ms, &sent);
        *done += sent;
        left_ms = arrow_left(socket, start_ms, timeout_ms);
    }
    return rc == MM_EAGAIN && timeout_ms > 0 && left_ms == 0 ? MM_ETIMEDOUT : rc;
}

int
mm_arrow_next(void *stream, void **schema, void **array)
{
    mmi_arrow_stream *from = stream;
    mmi_arrow_schema *type = mmi_alloc(sizeof *type);
    mmi_arrow_array *next = mmi_alloc(sizeof *next);
    bool good = type != NULL && next != NULL && from->get_next(from, next) == 0;
    bool more = good && next->release != NULL;   /* released: the stream is at its end */
    good = good && (!more || from->get_schema(from, type) == 0);
    if (!good || !more) {
        mm_arrow_drop(type, next);
        return good ? 0 : MM_EIO;
    }
    *schema = type;
    *array = next;
    return 1;
}

void
mm_arrow_drop(void *schema, void *array)
{
    arrow_drop_schema(schema);
    arrow_drop_array(array);
}
