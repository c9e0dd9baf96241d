/*
 * pages.h: the pages of the system that secrets are kept in (crypto/secret.h).
 *
 * Not here: what is kept there.  Any thread, no lock; a map is a few system calls.
 */
#ifndef MMI_PAGES_H
#define MMI_PAGES_H

#include "crypto/secret.h"

extern const mmi_pages mmi_pages_posix;

#endif
