/*
 * api/order.c: rows of tables in the order of their digests, for Python (csrc/order).
 */
#include "api/api.h"

#include "order/order.h"

_Static_assert((int)MM_ORDER_HEADS_MAX == (int)MMI_ORDER_HEADS_MAX, "limits");
_Static_assert((int)MM_ORDER_SECRET == (int)MMI_DIGEST_SECRET, "octets");
_Static_assert((int)MM_ORDER_BYTES_MAX == (int)MMI_ORDER_BYTES_MAX, "limits");

int
mm_order_part_new(const uint8_t *secret, const void *schema, const void *array, mm_order_part **out)
{
    mmi_order_part *part = NULL;
    int rc = mmi_order_part_new(secret, schema, array, &part);
    *out = (mm_order_part *)part;
    return rc;
}

void
mm_order_part_free(mm_order_part *part)
{
    mmi_free(part);
}

void
mm_order_part_add(const mm_order_part *part, uint64_t *sum)
{
    mmi_order_part_add((const mmi_order_part *)part, sum);
}

int
mm_order_new(mm_order_part *const *parts, uint32_t count, mm_order **out)
{
    mmi_order *order = NULL;
    int rc = mmi_order_new((mmi_order_part *const *)parts, count, &order);
    *out = (mm_order *)order;
    return rc;
}

void
mm_order_free(mm_order *order)
{
    mmi_order_free((mmi_order *)order);
}

uint64_t
mm_order_left(const mm_order *order)
{
    const mmi_order *o = (const mmi_order *)order;
    return o->count - o->at;
}

int
mm_order_take(mm_order *const *orders, uint32_t count, uint64_t max_bytes, void **out)
{
    mmi_arrow_array *array = mmi_alloc(sizeof *array);
    if (array == NULL) {
        return MM_ENOMEM;
    }
    int rc = mmi_order_take((mmi_order *const *)orders, count, max_bytes, array);
    if (rc != 1) {
        mmi_free(array);
        return rc;
    }
    *out = array;
    return 1;
}
