/*
 * shared_compact.h: compaction of a spool that threads share: one pass at a time, in steps, which its own thread does
 * beside its writes and sweeps, and whoever asked for it and waits.
 *
 * What is held is not touched: files with a number that is leased, or that a socket which sends the spool's messages is
 * not done with (spool/fed.h), and all files behind them.
 *
 * Not here: what a pass does (spool/compact.h).
 * Law: with the lock of the spool, which is given up while the disk works; nobody writes while a file gets its place.
 * After an error in that no pass begins before the spool was opened again.
 */
#ifndef MMI_SPOOL_SHARED_COMPACT_H
#define MMI_SPOOL_SHARED_COMPACT_H

#include "spool/shared_cursors.h"

/* Does a pass of all that is sealed by now.  *until: 0, and again what it was, in further calls for the same.  MM_OK:
 * it is done; MM_ETIMEDOUT, MM_EINTR: it goes on; MM_ENOSPC, MM_ENOMEM; MM_EIO: the disk failed, or had. */
int mmi_spool_shared_compact(mmi_spool_shared *h, const mmi_spool_wait *wait, uint64_t *until,
                             mmi_spool_compacted *did);

/* For spool/sweep.c, with the lock: when there is something to do; and does one step.  false: nothing. */
uint64_t mmi_spool_compact_at(const mmi_spool_shared *h, uint64_t now_ns);
bool mmi_spool_compact_on(mmi_spool_shared *h, uint64_t now_ns);
void mmi_spool_compact_end(mmi_spool_shared *h);         /* nobody is in a call */

/* spool/hole.c: a cursor whose next number compaction removed is done with it: one look, of one cursor that has stood
 * there for a while.  When there is one to look at; and looks.  false: there is none. */
uint64_t mmi_spool_hole_at(const mmi_spool_shared *h, uint64_t now_ns);
bool mmi_spool_hole_pass(mmi_spool_shared *h, uint64_t now_ns);

#endif
