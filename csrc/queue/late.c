/*
 * queue/late.c: see queue/late.h.
 * Law: what is looked through is bounded, however much waits: what was taken back stands in front.
 */
#include "queue/late.h"

#include <string.h>

#include "queue/backlog.h"

enum {
    LATE_LOOKS = 16384,   /* entries of a queue that are looked at */
    LATE_PART = 256,      /* of those, at once */
    LATE_OCTET_BITS = 8
};

typedef struct late_done {
    mmi_late_one at[MMI_LATE_MAX];
    uint32_t count;
} late_done;

static void
late_rm(mmi_late *late, uint32_t i)
{
    late->count--;
    memmove(&late->at[i], &late->at[i + 1], (late->count - i) * sizeof late->at[0]);
}

void
mmi_late_add(mmi_late *late, uint64_t number, const mmi_origin *origin)
{
    if (late->count == (uint32_t)MMI_LATE_MAX) {
        late_rm(late, 0);
    }
    late->at[late->count++] =
        (mmi_late_one){ .number = number, .epoch = origin->epoch, .first = origin->number };
}

void
mmi_late_forget(mmi_late *late, uint64_t number)
{
    for (uint32_t i = 0; i < late->count; i++) {
        if (late->at[i].number == number) {
            late_rm(late, i);
            return;
        }
    }
}

static bool
late_acks(const mmi_ack *ack, uint64_t number)
{
    if (number <= ack->floor) {
        return true;
    }
    uint64_t bit = number - ack->floor - 1;
    return bit / LATE_OCTET_BITS < ack->bits_size &&
           (ack->bits[bit / LATE_OCTET_BITS] >> bit % LATE_OCTET_BITS & 1) != 0;
}

/* Is it one of those that are done? */
static bool
late_is(const void *arg, const mmi_msg *m)
{
    const late_done *done = arg;
    if (m->origin.attempt == 0 || m->kind != MMI_MSG_ONE) {
        return false;   /* nobody had it, or others are behind it in its segment */
    }
    for (uint32_t i = 0; i < done->count; i++) {
        if (done->at[i].first == m->origin.number && done->at[i].epoch == m->origin.epoch) {
            return true;
        }
    }
    return false;
}

/* Takes those that are done out of a queue; how many. */
static uint32_t
late_settle(mmi_back *back, mmi_ring *r, const late_done *done)
{
    mmi_msg *out[LATE_PART];
    uint32_t found = 0, end = (uint32_t)LATE_LOOKS;
    for (uint32_t i = 0; i < r->slot_count && i < end;) {
        uint32_t left = r->slot_count - i, count = LATE_PART;
        count = count < left ? count : left;
        uint32_t taken = mmi_ring_sift(r, i, count, late_is, done, out);
        for (uint32_t k = 0; k < taken; k++) {
            mmi_receipts_settle(&back->receipts, out[k], MM_RECEIPT_ACKED);
            mmi_msg_unref(out[k]);
        }
        i += count - taken;
        found += taken;
    }
    return found;
}

/* Of all that waits here for somebody; what waits for its time is not looked at. */
static uint32_t
late_settle_all(mmi_back *back, const late_done *done)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < back->kept.used; i++) {
        found += late_settle(back, &back->kept.at[i], done);
    }
    if (back->route != NULL) {
        MMI_LIST_EACH (&back->route->lanes, node, after) {
            mmi_lane *lane = MMI_CONTAINER_OF(node, mmi_lane, node);
            found += late_settle(back, &lane->again, done);
            (void)mmi_lane_flush(lane); /* another message may be its next */
        }
    }
    return found;
}

uint32_t
mmi_late_ack(mmi_late *late, mmi_back *back, const mmi_ack *ack, uint32_t *stale)
{
    late_done done;
    done.count = 0;
    for (uint32_t i = late->count; i > 0; i--) {
        if (late_acks(ack, late->at[i - 1].number)) {
            done.at[done.count++] = late->at[i - 1];
            late_rm(late, i - 1);
        }
    }
    uint32_t found = done.count > 0 ? late_settle_all(back, &done) : 0;
    *stale = done.count - found;
    return found;
}
