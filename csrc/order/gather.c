/*
 * order/gather.c: see order/gather.h.
 */
#include "order/gather.h"

#include <string.h>

enum { GATHER_BUFFERS = 3 };

/* What an array that is made has. */
typedef struct gathered {
    void *own[GATHER_BUFFERS];
    const void *buffers[GATHER_BUFFERS];
    mmi_arrow_array child[MMI_ORDER_FIELDS_MAX], *children[MMI_ORDER_FIELDS_MAX];
} gathered;

static int gather_into(const mmi_arrow_schema *schema, const mmi_order_place *places,
                       uint64_t count, mmi_arrow_array *out);

static void
gather_release(mmi_arrow_array *array)
{
    gathered *g = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        mmi_arrow_array *child = array->children[i];
        if (child->release != NULL) {
            child->release(child);
        }
    }
    for (int i = 0; i < GATHER_BUFFERS; i++) {
        mmi_free(g->own[i]);
    }
    mmi_free(g);
    array->release = NULL;
}

/* A buffer of so many bytes, and of some if it is of none. */
static void *
gather_buffer(gathered *g, int which, uint64_t bytes)
{
    g->own[which] = mmi_realloc(NULL, bytes > 0 ? (size_t)bytes : 1);
    g->buffers[which] = g->own[which];
    return g->own[which];
}

/* Bits that say which are not null, if some are. */
static int
gather_valid(gathered *g, const mmi_order_place *places, uint64_t count, mmi_arrow_array *out)
{
    for (uint64_t i = 0; i < count; i++) {
        out->null_count += mmi_order_null(places[i].array, places[i].at);
    }
    if (out->null_count == 0) {
        return MM_OK;
    }
    uint8_t *valid = gather_buffer(g, 0, (count + 7) / 8);
    if (valid == NULL) {
        return MM_ENOMEM;
    }
    memset(valid, 0, (size_t)((count + 7) / 8));
    for (uint64_t i = 0; i < count; i++) {
        if (!mmi_order_null(places[i].array, places[i].at)) {
            valid[i / 8] |= (uint8_t)(1U << (i % 8));
        }
    }
    return MM_OK;
}

static void
gather_offset(void *offsets, bool large, uint64_t i, uint64_t to)
{
    if (large) {
        ((int64_t *)offsets)[i] = (int64_t)to;
    } else {
        ((int32_t *)offsets)[i] = (int32_t)to;
    }
}

static int
gather_octets(gathered *g, mmi_order_kind kind, const mmi_order_place *places, uint64_t count)
{
    bool large = kind == MMI_ORDER_LARGE_OCTETS;
    void *offsets = gather_buffer(g, 1, (count + 1) * (large ? sizeof(int64_t) : sizeof(int32_t)));
    if (offsets == NULL) {
        return MM_ENOMEM;
    }
    size_t size;
    uint64_t all = 0;
    gather_offset(offsets, large, 0, 0);
    for (uint64_t i = 0; i < count; i++) {
        if (!mmi_order_null(places[i].array, places[i].at)) {
            (void)mmi_order_octets(kind, places[i].array, places[i].at, &size);
            all += size;
        }
        if (!large && all > INT32_MAX) {
            return MM_EINVAL;
        }
        gather_offset(offsets, large, i + 1, all);
    }
    uint8_t *to = gather_buffer(g, 2, all);
    if (to == NULL) {
        return MM_ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!mmi_order_null(places[i].array, places[i].at)) {
            const uint8_t *data = mmi_order_octets(kind, places[i].array, places[i].at, &size);
            if (size > 0) {
                memcpy(to, data, size);
            }
            to += size;
        }
    }
    return MM_OK;
}

/* The elements of lists, end to end, as a child. */
static int
gather_lists(gathered *g, const mmi_arrow_schema *schema, const mmi_order_place *places,
             uint64_t count, mmi_arrow_array *out)
{
    uint64_t all = 0, first, at = 0;
    int32_t *offsets = gather_buffer(g, 1, (count + 1) * sizeof *offsets);
    if (offsets == NULL) {
        return MM_ENOMEM;
    }
    offsets[0] = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!mmi_order_null(places[i].array, places[i].at)) {
            all += mmi_order_list(places[i].array, places[i].at, &first);
        }
        if (all > INT32_MAX) {
            return MM_EINVAL;
        }
        offsets[i + 1] = (int32_t)all;
    }
    mmi_order_place *inner = mmi_realloc(NULL, (size_t)(all + 1) * sizeof *inner);
    if (inner == NULL) {
        return MM_ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!mmi_order_null(places[i].array, places[i].at)) {
            uint64_t some = mmi_order_list(places[i].array, places[i].at, &first);
            for (uint64_t each = first; each < first + some; each++) {
                inner[at++] = (mmi_order_place){ places[i].array->children[0], each };
            }
        }
    }
    out->n_children = 1;
    int rc = gather_into(schema->children[0], inner, all, &g->child[0]);
    mmi_free(inner);
    return rc;
}

/* The fields of structs, each as a child. */
static int
gather_structs(gathered *g, const mmi_arrow_schema *schema, const mmi_order_place *places,
               uint64_t count, mmi_arrow_array *out)
{
    mmi_order_place *inner = mmi_realloc(NULL, (size_t)(count + 1) * sizeof *inner);
    int rc = inner != NULL ? MM_OK : MM_ENOMEM;
    for (int64_t field = 0; rc == MM_OK && field < schema->n_children; field++) {
        for (uint64_t i = 0; i < count; i++) {
            const mmi_arrow_array *array = places[i].array;
            inner[i] =
                (mmi_order_place){ array->children[field], places[i].at + (uint64_t)array->offset };
        }
        out->n_children = field + 1;
        rc = gather_into(schema->children[field], inner, count, &g->child[field]);
    }
    mmi_free(inner);
    return rc;
}

/* Whatever it returns, there is something to release, or release is NULL. */
static int
gather_into(const mmi_arrow_schema *schema, const mmi_order_place *places, uint64_t count,
            mmi_arrow_array *out)
{
    static const uint8_t buffers[] = { [MMI_ORDER_OCTETS] = 3,
                                       [MMI_ORDER_LARGE_OCTETS] = 3,
                                       [MMI_ORDER_LIST] = 2,
                                       [MMI_ORDER_STRUCT] = 1 };
    mmi_order_kind kind = mmi_order_kind_of(schema);
    gathered *g = mmi_alloc(sizeof *g);
    if (g == NULL) {
        *out = (mmi_arrow_array){ .release = NULL };
        return MM_ENOMEM;
    }
    for (int i = 0; i < MMI_ORDER_FIELDS_MAX; i++) {
        g->children[i] = &g->child[i];
    }
    *out = (mmi_arrow_array){ .length = (int64_t)count,
                              .n_buffers = buffers[kind],
                              .buffers = g->buffers,
                              .children = g->children,
                              .private_data = g,
                              .release = gather_release };
    int rc = gather_valid(g, places, count, out);
    if (rc != MM_OK) {
        return rc;
    }
    return kind == MMI_ORDER_LIST     ? gather_lists(g, schema, places, count, out)
           : kind == MMI_ORDER_STRUCT ? gather_structs(g, schema, places, count, out)
                                      : gather_octets(g, kind, places, count);
}

int
mmi_order_gather(const mmi_arrow_schema *schema, const mmi_order_place *places, uint64_t count,
                 mmi_arrow_array *out)
{
    int rc = gather_into(schema, places, count, out);
    if (rc != MM_OK && out->release != NULL) {
        out->release(out);
    }
    return rc;
}
