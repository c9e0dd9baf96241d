/*
 * large.h: blocks for large bodies, of any size; some that nobody uses are kept for the next.
 *
 * The heap gives what is free at its end back to the system, and faults it in again: more than half
 * of what a message of 1 MiB cost its sender, whenever bodies came and went there.
 * Not here: blocks of one size, which are kept by their kind (spare.h).
 * Law: as there, thread-safe, and never waits.  What is kept is bounded, and so is what is lent to
 * bodies of which a peer has only told the size.
 */
#ifndef MMI_LARGE_H
#define MMI_LARGE_H

#include "base/base.h"

enum {
    MMI_LARGE_MIN = 128 * 1024,               /* bytes: what is smaller is left to the heap  */
    MMI_LARGE_KEPT_MAX = 4 * 1024 * 1024      /* bytes kept, and bytes lent, by a process    */
};

/* A kept block of that size at least, and a quarter more at most.  NULL: there is none. */
void *mmi_large_take(size_t size) MMI_WARN_UNUSED;
/* The same for a body that is only announced, until mmi_large_settle.  NULL: or enough are lent. */
void *mmi_large_lend(size_t size) MMI_WARN_UNUSED;
void mmi_large_settle(size_t size);   /* what was lent has arrived, or is given back */
/* Frees a block from there or from mmi_realloc, or keeps it, and frees older ones. */
void mmi_large_free(void *block);

#endif
