/*
 * cursor_rig.h: a cursor on the simulated disk, beside a plain array that says which numbers are
 * done.
 *
 * Not here: the tests (test_cursor*.c).  Law: what is marked is random and seeded; the array is
 * asked, number by number.
 */
#ifndef CURSOR_RIG_H
#define CURSOR_RIG_H

#include "disk_rig.h"
#include "spool/cursor.h"

enum { NUMBERS = 3000 /* of a model */ };

static const uint8_t cursor_uuid[MMI_SPOOL_UUID] = { 1, 2,  3,  4,  5,  6,  7,  8,
                                                     9, 10, 11, 12, 13, 14, 15, 16 };

/* Which numbers are done; of 0 always. */
typedef struct done_model {
    bool done[NUMBERS + 2];
} done_model;

static inline uint64_t
model_floor(const done_model *m)
{
    uint64_t at = 1;
    while (at <= NUMBERS && m->done[at]) {
        at++;
    }
    return at - 1;
}

static inline void
model_mark(done_model *m, uint64_t first, uint64_t last)
{
    for (uint64_t at = first; at <= last; at++) {
        m->done[at] = true;
    }
}

/* A range, mostly near the floor. */
static inline void
model_range(uint32_t *seed, uint64_t floor, uint64_t *first, uint64_t *last)
{
    uint64_t wide = check_random(seed) % 8 == 0 ? 1000 : 40;
    uint64_t from = floor > 5 ? floor - 5 : 1;
    *first = from + check_random(seed) % wide;
    *last = *first + (check_random(seed) % 3 == 0 ? check_random(seed) % wide : 0);
    *first = *first > NUMBERS ? (uint64_t)NUMBERS : *first;
    *last = *last > NUMBERS ? (uint64_t)NUMBERS : *last;
}

static inline void
check_same(const mmi_cursor *c, const done_model *m)
{
    uint64_t above = 0, next = NUMBERS + 1, floor = model_floor(m);
    mmi_cursor_invariants(c);
    CHECK_INT(c->floor, floor);
    for (uint64_t at = NUMBERS; at > 0; at--) {
        CHECK_INT(mmi_cursor_is_done(c, at), m->done[at]);
        next = m->done[at] ? next : at;
        CHECK_INT(mmi_cursor_next(c, at), next);
        above += m->done[at] && at > floor;
    }
    CHECK_INT(c->above, above);
}

/* In a spool that has 1 to last_seq. */
static inline int
cursor_open_of(disk_rig *r, mmi_cursor *c, const char *name, bool create, uint64_t first_seq,
               uint64_t last_seq)
{
    const mmi_cursor_spool spool = { cursor_uuid, first_seq, last_seq };
    return mmi_cursor_open(c, &r->files, r->dir, name, create, &spool);
}

static inline void
cursor_made(disk_rig *r, mmi_cursor *c)
{
    CHECK_INT(cursor_open_of(r, c, "one", true, 1, NUMBERS), MM_OK);
    CHECK(c->made);
}

static inline void
cursor_again(disk_rig *r, mmi_cursor *c)
{
    mmi_cursor_close(c);
    CHECK_INT(cursor_open_of(r, c, "one", false, 1, NUMBERS), MM_OK);
    CHECK(!c->made);
}

#endif
