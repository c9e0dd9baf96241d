/*
 * known.h: whom a peer is known as, where a mechanism protects its connection.
 *
 * Its link has it, each message that came from it, and each batch with one: so of a peer that left it
 * is there as long as a message of it is.
 * Not here: how it proved that (wire/mechanism.h), who lets it in (wire/applicant.h).
 * Law: it does not change; refs is atomic.  Without a mechanism there is none.
 */
#ifndef MMI_KNOWN_H
#define MMI_KNOWN_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct mmi_known {
    atomic_uint refs;
    uint64_t pipe_id;
    const char *mechanism;               /* its name, or both */
    const char *user_id;                 /* "": nobody asked who it is */
    const uint8_t *properties;           /* its own word: as READY of ZMTP has them */
    size_t properties_size;
    const uint8_t *key;                  /* that it proved to have, or a hash of it */
    size_t key_size;                     /* 0: it proved none */
    const uint8_t *metadata;             /* the word of who let it in: octets of theirs */
    size_t metadata_size;
} mmi_known;

/* A copy of all but refs, with one.  NULL: no memory. */
mmi_known *mmi_known_new(const mmi_known *from) MMI_WARN_UNUSED;
void mmi_known_free(mmi_known *known);
static inline void                                      /* takes NULL, as most messages have none */
mmi_known_unref(mmi_known *known)
{
    if (known != NULL && atomic_fetch_sub_explicit(&known->refs, 1, memory_order_acq_rel) == 1) {
        mmi_known_free(known);
    }
}
static inline mmi_known *                               /* likewise */
mmi_known_ref(mmi_known *known)
{
    if (known != NULL) {
        atomic_fetch_add_explicit(&known->refs, 1, memory_order_relaxed);
    }
    return known;
}

#endif
