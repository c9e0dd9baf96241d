/*
 * gather.h: elements of several arrays as a new array.
 *
 * Not here: which ones (order/order.h).  Law: the arrays are of one schema, which is valid (order/type.h).  The new one
 * holds all that it has by itself; whoever takes it may move its columns out, and release each when it likes.
 */
#ifndef MMI_ORDER_GATHER_H
#define MMI_ORDER_GATHER_H

#include "order/type.h"

typedef struct mmi_order_place {
    const mmi_arrow_array *array;
    uint64_t at;
} mmi_order_place;

/* MM_EINVAL: offsets of 32 bits are too small for it; MM_ENOMEM */
int mmi_order_gather(const mmi_arrow_schema *schema, const mmi_order_place *places, uint64_t count,
                     mmi_arrow_array *out) MMI_WARN_UNUSED;

#endif
