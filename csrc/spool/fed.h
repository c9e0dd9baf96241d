/*
 * fed.h: which cursors of a spool are of a socket that sends its messages: an empty file feeds/NAME for each, so that
 * what such a one is not done with is held also while nobody has it open (spool/shared_compact.h).
 *
 * Not here: cursors (spool/cursor.h).  Law: a mark is durable before the first message is sent by it; one that stays
 * without its cursor says nothing.
 */
#ifndef MMI_SPOOL_FED_H
#define MMI_SPOOL_FED_H

#include "spool/cursor.h"

int mmi_fed_mark(const mmi_files *files, int dir, const char *name) MMI_WARN_UNUSED;   /* MM_ENOSPC, MM_EIO, ... */
void mmi_fed_unmark(const mmi_files *files, int dir, const char *name);
/* How many are marked, or an error; each: as mmi_files.list. */
int mmi_fed_list(const mmi_files *files, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg);

#endif
