/*
 * keep.h: what may go from the beginning of a spool, and what holds it: age, leases, and a clock that is not believed.
 *
 * Not here: removing files (spool/trim.c), when it is looked at (spool/sweep.c), cursors (spool/cursor.h).
 * Law: pure; time is an argument.  One call at a time.  What goes is whole files, from the first on.
 */
#ifndef MMI_SPOOL_KEEP_H
#define MMI_SPOOL_KEEP_H

#include "spool/cursor.h"

enum {
    MMI_SPOOL_SWEEP_FILES = 8,           /* that go at once, at most: others go on in between */
    MMI_SPOOL_LEASES_MAX = 1024,
    MMI_SPOOL_ACKED_BY_MAX = 64          /* cursors that files wait for */
};
#define MMI_SPOOL_AGE_MAX (UINT64_C(1) << 52)         /* microseconds: 142 years */
#define MMI_SPOOL_JUMP_US UINT64_C(3600000000)        /* so much of the clock, beside the monotonic one, is a jump */

typedef struct mmi_spool_lease {
    char name[MMI_CURSOR_NAME_MAX + 1];
    uint64_t from_seq;                   /* what is there from that number on is not removed */
    uint64_t end_ns;                     /* monotonic */
} mmi_spool_lease;

typedef struct mmi_spool_keep {
    uint64_t max_age_us;                 /* 0: no limit */
    mmi_spool_lease *leases;
    uint32_t lease_count, lease_cap;
    bool clocked;
    uint64_t wall_us, mono_ns;           /* of the last look at the clocks */
    uint64_t held_seq, held_until_ns;    /* after a jump: until then this number and all above it are not too old */
    _Atomic uint64_t jumps;              /* read by any thread */
} mmi_spool_keep;

void mmi_spool_keep_free(mmi_spool_keep *k);

/* Until then nothing from that number on is removed; of a name that has a lease, in its place.  MM_EINVAL: the name, as
 * of a cursor; MM_EAGAIN: MMI_SPOOL_LEASES_MAX; MM_ENOMEM. */
int mmi_spool_keep_lease(mmi_spool_keep *k, const char *name, uint64_t from_seq, uint64_t end_ns) MMI_WARN_UNUSED;
int mmi_spool_keep_release(mmi_spool_keep *k, const char *name);      /* MM_ENOENT: it has none */
bool mmi_spool_keep_end(mmi_spool_keep *k, uint64_t now_ns);   /* forgets leases that are over: were there any? */
uint64_t mmi_spool_keep_leased(const mmi_spool_keep *k);              /* the lowest number of all; UINT64_MAX: none */
uint64_t mmi_spool_keep_lease_end(const mmi_spool_keep *k);           /* when the next one is over, likewise */

/* Looks at the clocks.  If one jumped, of what is there then half may go by its age; the rest, from middle_seq on, only
 * when max_age_us has passed by the monotonic one. */
void mmi_spool_keep_clock(mmi_spool_keep *k, uint64_t wall_us, uint64_t now_ns, uint64_t middle_seq);
/* Files that begin with these numbers, when they were begun; 0: nobody knows.  What is in the one before each is as old
 * as that, or older.  The last number that is too old; 0: none. */
uint64_t mmi_spool_keep_old(const mmi_spool_keep *k, const uint64_t *bases, const uint64_t *made_us, uint32_t count);

#endif
