/*
 * order/type.c: see order/type.h.
 */
#include "order/type.h"

#include <string.h>

enum { TYPE_OFFSET = 8 /* bytes that stand for an offset of either size */ };

mmi_order_kind
mmi_order_kind_of(const mmi_arrow_schema *schema)
{
    const char *f = schema->format;
    switch (f[0]) {
    case 'z':
    case 'u': return f[1] == 0 ? MMI_ORDER_OCTETS : MMI_ORDER_NONE;
    case 'Z':
    case 'U': return f[1] == 0 ? MMI_ORDER_LARGE_OCTETS : MMI_ORDER_NONE;
    case '+':
        return strcmp(f, "+l") == 0   ? MMI_ORDER_LIST
               : strcmp(f, "+s") == 0 ? MMI_ORDER_STRUCT
                                      : MMI_ORDER_NONE;
    default: return MMI_ORDER_NONE;
    }
}

static bool
type_valid(const mmi_arrow_schema *schema, const mmi_arrow_array *array, int depth)
{
    static const struct {
        int64_t buffers, least, most; /* children */
    } wanted[] = {
        [MMI_ORDER_OCTETS] = { 3, 0, 0 },
        [MMI_ORDER_LARGE_OCTETS] = { 3, 0, 0 },
        [MMI_ORDER_LIST] = { 2, 1, 1 },
        [MMI_ORDER_STRUCT] = { 1, 1, MMI_ORDER_FIELDS_MAX },
    };
    mmi_order_kind kind = mmi_order_kind_of(schema);
    if (kind == MMI_ORDER_NONE || depth == 0 || schema->dictionary != NULL ||
        array->n_buffers < wanted[kind].buffers || schema->n_children < wanted[kind].least ||
        schema->n_children > wanted[kind].most || array->n_children != schema->n_children) {
        return false;
    }
    bool valid = true;
    for (int64_t i = 0; valid && i < schema->n_children; i++) {
        valid = type_valid(schema->children[i], array->children[i], depth - 1);
    }
    return valid;
}

bool
mmi_order_valid(const mmi_arrow_schema *schema, const mmi_arrow_array *array)
{
    return type_valid(schema, array, MMI_ORDER_DEPTH_MAX);
}

bool
mmi_order_same(const mmi_arrow_schema *a, const mmi_arrow_schema *b)
{
    bool same = strcmp(a->format, b->format) == 0 && a->n_children == b->n_children;
    for (int64_t i = 0; same && i < a->n_children; i++) {
        const mmi_arrow_schema *own = a->children[i], *other = b->children[i];
        same = mmi_order_same(own, other) &&
               (a->format[1] == 'l' || strcmp(own->name, other->name) == 0);
    }
    return same;
}

uint64_t
mmi_order_bytes(const mmi_arrow_schema *schema, const mmi_arrow_array *array, uint64_t i)
{
    mmi_order_kind kind = mmi_order_kind_of(schema);
    uint64_t bytes = kind == MMI_ORDER_STRUCT ? 0 : TYPE_OFFSET, first = 0;
    if (mmi_order_null(array, i)) {
        return bytes;
    }
    if (kind == MMI_ORDER_STRUCT) {
        for (int64_t field = 0; field < schema->n_children; field++) {
            bytes += mmi_order_bytes(schema->children[field], array->children[field],
                                     i + (uint64_t)array->offset);
        }
        return bytes;
    }
    if (kind == MMI_ORDER_LIST) {
        uint64_t count = mmi_order_list(array, i, &first);
        for (uint64_t each = first; each < first + count; each++) {
            bytes += mmi_order_bytes(schema->children[0], array->children[0], each);
        }
        return bytes;
    }
    size_t size;
    (void)mmi_order_octets(kind, array, i, &size);
    return bytes + size;
}
