/*
 * order.h: rows of tables in the order of their digests, and sorted rows of several as one.
 *
 * A part is a table with the digests of its rows.  An order has the rows of some parts, sorted, and how many of them
 * were taken.
 *
 * Not here: arrays of what is taken (order/gather.h).  Law: a part keeps nothing alive: its schema and array outlive
 * it, as a part does the orders that have it.  An order is one thread's at a time.
 */
#ifndef MMI_ORDER_H
#define MMI_ORDER_H

#include "order/digest.h"

enum {
    MMI_ORDER_HEADS_MAX = 64,       /* orders that are merged at once */
    MMI_ORDER_TAKEN_MAX = 16384,    /* rows that are taken at once */
    MMI_ORDER_BYTES_MAX = 1 << 30   /* and bytes of them, if it is not one row */
};

typedef struct mmi_order_part {
    const mmi_arrow_schema *schema;
    const mmi_arrow_array *array;
    uint32_t count;
    mmi_digest digests[];
} mmi_order_part;

typedef struct mmi_order_row {
    mmi_digest digest;
    uint32_t part, row;
} mmi_order_row;

typedef struct mmi_order {
    const mmi_order_part **parts;
    uint64_t count, at;             /* rows, and how many of them were taken */
    mmi_order_row rows[];
} mmi_order;

/* MM_EINVAL: as mmi_digests, or too many rows; MM_ENOMEM */
int mmi_order_part_new(const uint8_t secret[MMI_DIGEST_SECRET], const mmi_arrow_schema *schema,
                       const mmi_arrow_array *array, mmi_order_part **out) MMI_WARN_UNUSED;
/* Adds the digests of its rows to a sum of 128 bits, its high word first: that of all is the same, however they are
 * ordered and cut into parts. */
void mmi_order_part_add(const mmi_order_part *part, uint64_t sum[2]);
/* Of at least one part.  MM_EINVAL: they are not of one type; MM_ENOMEM */
int mmi_order_new(mmi_order_part *const *parts, uint32_t count, mmi_order **out) MMI_WARN_UNUSED;
void mmi_order_free(mmi_order *order);              /* NULL: nothing */

/*
 * The next rows of all orders, as a table: until one of the orders is at its end, or up to so many bytes, and at least
 * a row.  1; 0: none is taken, as an order is at its end; MM_EINVAL: they are not of one type, or a column would be too
 * large; MM_ENOMEM.  Behind an error nothing can be taken any more.
 */
int mmi_order_take(mmi_order *const *orders, uint32_t count, uint64_t max_bytes,
                   mmi_arrow_array *out) MMI_WARN_UNUSED;

#endif
