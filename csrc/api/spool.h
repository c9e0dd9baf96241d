/*
 * api/spool.h: what the calls on spools share (api/spool.c, api/spool_cursor.c and others).
 *
 * Not here: what a spool is (spool/shared.h).  Law: as meshmsg_spool.h and meshmsg_cursor.h say of each
 * pointer.
 */
#ifndef MMI_API_SPOOL_H
#define MMI_API_SPOOL_H

#include "api/api.h"
#include "meshmsg_feed.h"
#include "spool/view.h"

enum { MMI_SPOOL_RUN = 256 };            /* messages that are handed on at once */

static const uint64_t MMI_SPOOL_NS_PER_MS = 1000000;

struct mm_spool {
    mmi_spool_shared shared;
};

struct mm_spool_view {
    mmi_spool_view view;
};

struct mm_spool_reader {
    mm_spool *spool;                     /* or */
    mmi_spool_view *view;                /* what is read */
    uint64_t lives;                      /* of the view, as its files were opened */
    mmi_spool_reader reader;
};

/* A reader of what `of` says, from that number on.  MM_ENOMEM. */
MMI_WARN_UNUSED static inline int
mmi_spool_reader_make(const mm_spool_reader *of, const mmi_files *files, int dir, uint64_t seq,
                      mm_spool_reader **reader)
{
    mm_spool_reader *r = mmi_alloc(sizeof *r);
    if (r == NULL) {
        return MM_ENOMEM;
    }
    *r = *of;
    mmi_spool_reader_open(&r->reader, files, dir, seq);
    *reader = r;
    return MM_OK;
}

/* api/spool_view.c: mm_spool_reader_load of a view; *first: the first number that is there. */
int mmi_spool_view_load(mm_spool_reader *r, int64_t timeout_ms, int64_t slice_ms, uint64_t *first);

static inline mmi_spool_wait
mmi_spool_wait_of(int64_t timeout_ms, int64_t slice_ms)
{
    return (mmi_spool_wait){ .deadline_ns = mmi_deadline(mmi_thread_now_ns(), timeout_ms),
                             .slice_ns = slice_ms > 0 ? (uint64_t)slice_ms * MMI_SPOOL_NS_PER_MS : 0 };
}

/* Bodies as records, with the same beside each; their sizes stand in sizes.  origin: of the one that is `at` in
 * front of them, or NULL. */
static inline void
mmi_spool_records(const mm_body *bodies, size_t count, const mm_spool_plan *plan, const mm_spool_origin *origin,
                  uint64_t at, uint64_t *sizes, mmi_spool_record *records)
{
    for (size_t i = 0; i < count; i++) {
        sizes[i] = bodies[i].size;
        records[i] = (mmi_spool_record){ .meta = plan->meta,
                                         .meta_size = plan->meta_size,
                                         .due_us = plan->due_us,
                                         .priority = (uint8_t)plan->priority,
                                         .frames = plan->topic_size > 0 ? 2 : 1,
                                         .sizes = plan->topic_size > 0 ? &plan->topic_size : &sizes[i],
                                         .data = bodies[i].data,
                                         .size = bodies[i].size };
    }
    for (size_t i = 0; origin != NULL && i < count; i++) {
        records[i].producer = origin->producer;
        records[i].number = origin->number + at + i;
    }
}

/* Can so many be put so?  Their numbers go up, and each has its topic in front. */
static inline bool
mmi_spool_plan_valid(const mm_body *bodies, size_t count, const mm_spool_plan *plan, const mm_spool_origin *origin)
{
    bool valid = mmi_api_meta_valid(plan->meta, plan->meta_size) && plan->priority < MM_PRIORITIES_MAX &&
                 (origin == NULL || origin->number <= UINT64_MAX - count);
    for (size_t i = 0; plan->topic_size > 0 && valid && i < count; i++) {
        valid = bodies[i].size >= plan->topic_size;
    }
    return valid;
}

/* A message of frames as a record.  MM_EINVAL, MM_EMSGSIZE: it is none. */
int mmi_spool_planned(const uint8_t *bodies, const uint64_t *sizes, uint32_t frames, const mm_spool_plan *plan,
                      mmi_spool_record *record) MMI_WARN_UNUSED;

/* What one run did belongs to what the call did. */
static inline void
mmi_spool_did_add(const mmi_spool_did *one, mm_spool_did *did)
{
    const mm_spool_did run = { one->done,     one->first, one->last,   one->repeated,
                               one->original, one->until, one->unkept };
    mm_spool_did_add(&run, did);
}

/* api/spool_fed.c.  A spool has one socket at a time: false, it has one. */
bool mmi_spool_claim(mmi_spool_shared *h) MMI_WARN_UNUSED;
void mmi_spool_release(mmi_spool_shared *h);
/* A socket gets nothing more of its spool: who looks is told why; other: unless messages are harmed. */
void mmi_spool_stopped(mm_handle socket, int rc, uint64_t first, uint64_t last, const char *other);
/* A message of a record, as nobody was given it yet: a copy, as the reader's memory is used again.  epoch: where it was
 * first, for who gets it.  NULL: no memory. */
mmi_msg *mmi_spool_message(const mmi_spool_record *r, uint64_t seq, uint64_t epoch) MMI_WARN_UNUSED;

int mmi_spool_rc(int rc, int64_t timeout_ms);   /* a call that never waits says MM_EAGAIN, and not MM_ETIMEDOUT */

#endif
