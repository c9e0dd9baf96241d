/*
 * half_open.h: the connections of a listener whose handshake is not done, oldest first, and how many
 * of them are of one address: so that it is known who goes when there are too many.
 *
 * Not here: how many there may be (half_open_max), ending who goes (ends/listener.c).
 * Law: while one address has more than MMI_HALF_OPEN_ADDRESS_MAX its oldest goes, so it takes no more
 * places than that from others; else the oldest of all.
 */
#ifndef MMI_HALF_OPEN_H
#define MMI_HALF_OPEN_H

#include "base/limits.h"
#include "base/list.h"
#include "base/map.h"
#include "plat/plat.h"

/* An address that has some: it is freed with the last of them. */
typedef struct mmi_half_open_from {
    uint64_t key;
    uint32_t count;
} mmi_half_open_from;

/* All 0 but the list: there is none. */
typedef struct mmi_half_open {
    mmi_list oldest;                 /* mmi_half_open_place.node */
    uint32_t count;
    mmi_map addresses;               /* of mmi_half_open_from */
} mmi_half_open;

/* Of one connection.  from NULL: it is not there. */
typedef struct mmi_half_open_place {
    mmi_list node;
    mmi_half_open_from *from;
} mmi_half_open_place;

void mmi_half_open_init(mmi_half_open *all);
/* Who is still there knows it no more. */
void mmi_half_open_fini(mmi_half_open *all);
/* peer: without an address where the transport has none: those are one.  MM_ENOMEM: it is not there. */
int mmi_half_open_enter(mmi_half_open *all, mmi_half_open_place *place, const mmi_addr *peer) MMI_WARN_UNUSED;
/* Also of a place that is not there. */
void mmi_half_open_leave(mmi_half_open *all, mmi_half_open_place *place);
/* Who goes, of one or more; NULL: there is none. */
mmi_half_open_place *mmi_half_open_surplus(const mmi_half_open *all);

#endif
