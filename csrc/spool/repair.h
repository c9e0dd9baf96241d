/*
 * repair.h: the last segment file is made fit to go on with, when a spool is opened.
 *
 * Not here: what is believed of it (spool/recover.h).
 * Law: what was not proved to be durable is copied into a new file before anybody sees it; what is torn is kept in the
 * folder "quarantine" before its file goes.  A crash at any moment leaves all of it to be done again.
 */
#ifndef MMI_SPOOL_REPAIR_H
#define MMI_SPOOL_REPAIR_H

#include "spool/log.h"

/* Of a spool whose files are known: makes the first, or looks at the last and mends it.  Then it can be put into.
 * known: its uuid is that of its state, and so of all its files.  MMI_SPOOL_HARMED: see the report. */
int mmi_spool_mend(mmi_spool *s, bool known, mmi_spool_report *report);
#endif
