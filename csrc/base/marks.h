/*
 * base/marks.h: which of a run of numbers were marked, out of order: a floor, up to which all are,
 * and a bitmap of those above it.
 *
 * Law: number floor + 1 is never marked: then it is the floor.  Numbers over floor + MMI_UNACKED_MAX
 * are not asked about.  count is how many were marked, those up to the floor included.
 */
#ifndef MMI_MARKS_H
#define MMI_MARKS_H

#include "base/base.h"
#include "base/limits.h"

typedef struct mmi_marks {
    uint64_t floor, count;
    uint64_t top;                /* the highest that is marked */
    uint64_t words[MMI_UNACKED_MAX / 64];   /* number n: bit n % MMI_UNACKED_MAX */
} mmi_marks;

bool mmi_marks_has(const mmi_marks *m, uint64_t number);
/* false: it is marked already. */
bool mmi_marks_add(mmi_marks *m, uint64_t number);
/* All up to that number; how many were not marked before. */
uint64_t mmi_marks_add_to(mmi_marks *m, uint64_t number);
/* Octets that a bitmap of those above the floor takes, and the bitmap (wire/delivery.h). */
size_t mmi_marks_bitmap_size(const mmi_marks *m);
void mmi_marks_bitmap(const mmi_marks *m, uint8_t *out);
void mmi_marks_invariants(const mmi_marks *m);

#endif
