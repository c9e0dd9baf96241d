/*
 * quarantine.h: octets of a segment file that are no batch, kept beside it.
 *
 * Not here: which those are (spool/recover.h).  Called by who mends a spool (spool/repair.c); no lock is held.
 */
#ifndef MMI_SPOOL_QUARANTINE_H
#define MMI_SPOOL_QUARANTINE_H

#include "spool/file.h"

/* Octets at to end of the file are on the disk, in the folder that is open as `quarantine`; again is no second copy.
 * For those that cannot be read stands MMI_SPOOL_UNREADABLE.  MM_ENOSPC, MM_EIO, MM_ENOMEM: they may not be there; of
 * MM_ENOSPC they are not, and take no room. */
int mmi_spool_quarantine(const mmi_spool_place *place, int quarantine, const mmi_spool_file *f, uint64_t at,
                         uint64_t end) MMI_WARN_UNUSED;

#endif
