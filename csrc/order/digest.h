/*
 * digest.h: a digest of 128 bits of each row of a table: SipHash-1-3 of its value, its key and its headers, in that
 * order, whatever columns there are and in which order.  Who chooses rows, and does not know the secret, cannot choose
 * two of one digest, and by chance it does not happen.
 *
 * What is hashed are words of 64 bits, least significant octet first: of octets their size, and then they, with zeros
 * up to a whole word; of a list how many it has, and then those; of a struct 1, and then its fields; of what is null,
 * or of a column that is not there, 2^64 - 1.  So what differs is hashed of what differs, and text is as its octets.
 *
 * Not here: what is done with them (order/order.h).  Law: the same row has the same digest on every machine, in
 * whatever array it stands.
 */
#ifndef MMI_ORDER_DIGEST_H
#define MMI_ORDER_DIGEST_H

#include "order/type.h"

typedef struct mmi_digest {
    uint64_t high, low;
} mmi_digest;

enum { MMI_DIGEST_SECRET = 16 /* octets */ };

/* Of each row.  MM_EINVAL: it is no table of such columns, or a row is null itself. */
int mmi_digests(const uint8_t secret[MMI_DIGEST_SECRET], const mmi_arrow_schema *schema,
                const mmi_arrow_array *array, mmi_digest *out) MMI_WARN_UNUSED;

#endif
