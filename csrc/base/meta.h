/*
 * meta.h: what goes with a message beside its frames: when it was sent, until when it is of use, a
 * key, headers.  Octets, as its sender made them and its receiver gets them.
 *
 *   item     id (1), size (2, big-endian), size octets
 *   1        timestamp: nanoseconds since 1970 (8)
 *   2        expires: likewise
 *   3        key: any octets
 *   4, 5     a header: size of its name (1), the name, the value: text in UTF-8, octets
 * An item of another id is for those who know it, and is handed on.
 * Not here: how it stands on a wire, who takes it (link/meta.c).
 * Law: refcounted, and never changed; what is kept was checked.
 */
#ifndef MMI_META_H
#define MMI_META_H

#include <stdatomic.h>

#include "base/base.h"

enum { MMI_META_TIMESTAMP = 1, MMI_META_EXPIRES, MMI_META_KEY, MMI_META_TEXT, MMI_META_OCTETS };

typedef struct mmi_meta {
    atomic_uint refs;
    uint32_t size;
    uint64_t expires_ns;         /* wall clock; 0: never */
    uint32_t key, key_size;      /* where the key stands; of 0 octets: there is none, or it is empty */
    uint8_t data[];
} mmi_meta;

/* Is it well-formed?  Each of timestamp, expires and key once at most; a header has a name. */
bool mmi_meta_check(const uint8_t *data, size_t size);
/* A copy of what was checked.  NULL: no memory. */
mmi_meta *mmi_meta_new(const uint8_t *data, size_t size) MMI_WARN_UNUSED;
mmi_meta *mmi_meta_ref(mmi_meta *meta);     /* NULL is fine */
void mmi_meta_unref(mmi_meta *meta);        /* likewise */

#endif
