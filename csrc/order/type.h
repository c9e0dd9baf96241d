/*
 * type.h: what rows consist of, as Arrow has them: octets and text, lists and structs of them.
 *
 * Not here: what is done with them.  Law: an array is looked into only where its schema was found valid.
 */
#ifndef MMI_ORDER_TYPE_H
#define MMI_ORDER_TYPE_H

#include "batch/arrow.h"

enum {
    MMI_ORDER_FIELDS_MAX = 3,    /* columns of a row; no struct within has more either */
    MMI_ORDER_DEPTH_MAX = 4      /* a table, lists in it, structs in those, their fields */
};

/* What a format is; 0: none of these. */
typedef enum mmi_order_kind {
    MMI_ORDER_NONE,
    MMI_ORDER_OCTETS,            /* offsets of 32 bits */
    MMI_ORDER_LARGE_OCTETS,      /* of 64 */
    MMI_ORDER_LIST,              /* offsets of 32 bits */
    MMI_ORDER_STRUCT
} mmi_order_kind;

mmi_order_kind mmi_order_kind_of(const mmi_arrow_schema *schema);
/* An array of it can be read, to its depth. */
bool mmi_order_valid(const mmi_arrow_schema *schema, const mmi_arrow_array *array);
bool mmi_order_same(const mmi_arrow_schema *a,
                    const mmi_arrow_schema *b);   /* of two that are valid */

static inline bool
mmi_order_null(const mmi_arrow_array *array, uint64_t i)
{
    const uint8_t *valid = array->buffers[0];
    uint64_t at = i + (uint64_t)array->offset;
    return valid != NULL && array->null_count != 0 && (valid[at / 8] >> (at % 8) & 1) == 0;
}

/* Octets of an element, which is not null. */
static inline const uint8_t *
mmi_order_octets(mmi_order_kind kind, const mmi_arrow_array *array, uint64_t i, size_t *size)
{
    const mmi_arrow_view view = { .array = array, .kind = kind == MMI_ORDER_OCTETS ? 'i' : 'l' };
    return mmi_arrow_at(&view, i, size);
}

/* Where the elements of a list are, which is not null; how many. */
static inline uint64_t
mmi_order_list(const mmi_arrow_array *array, uint64_t i, uint64_t *first)
{
    const int32_t *offset = (const int32_t *)array->buffers[1] + array->offset + i;
    *first = (uint64_t)offset[0];
    return (uint64_t)(offset[1] - offset[0]);
}

uint64_t mmi_order_bytes(const mmi_arrow_schema *schema, const mmi_arrow_array *array,
                         uint64_t i);   /* of an element */

#endif
