/*
 * api/receipt.c: messages of a PUSH of which more is said: when they are to go, how urgent they
 * are, and what became of them: receipts, and dead letters, also of the groups of a PUB.
 *
 * Not here: when that is known (queue/receipts.h, queue/dead.h), sending a run (api/send_run.c).
 * Law: as in api/send.c.
 */
#include "api/api.h"

#include "batch/batch.h"
#include "queue/backlog.h"
#include "socket/group.h"

enum { RECEIPT_LOOK = 4096 }; /* receipts that are looked at before it is asked if one is open */

/* Is that for a socket of this kind? */
static int
receipt_check(const mmi_socket *s, const mm_push_opts *opts)
{
    bool pushes = s->ops->again != NULL;
    if (!pushes || (opts->confirm != 0 && !mmi_api_confirms(s))) {
        return MM_ENOTSUP;
    }
    uint32_t levels = s->opts.priorities > 1 ? s->opts.priorities : 1;
    return opts->priority < levels ? MM_OK : MM_EINVAL;
}

/* Sends m, which gets a number if somebody wants to know.  Leaves the engine locked. */
static int
receipt_send(mmi_socket *s, mmi_msg *m, const mm_push_opts *opts, mmi_api_wait *w,
             uint64_t *receipt)
{
    int rc = receipt_check(s, opts);
    if (rc == MM_OK && opts->confirm != 0) {
        rc = mmi_receipts_open(&s->host.back->receipts, m);
        *receipt = m->key;
    }
    if (rc != MM_OK) {
        return rc;
    }
    if (opts->delay_ms > 0) { /* it finds room now, or not for long */
        m->due_ns = mmi_deadline(s->engine->now_ns, (int64_t)opts->delay_ms);
        w->timeout_ms = 0;
    }
    rc = mmi_api_send_locked(s, m, w);
    if (rc != MM_OK && rc != MM_ECLOSED && opts->confirm != 0) {
        mmi_receipts_forget(&s->host.back->receipts, *receipt);
    }
    return rc;
}

int
mm_push(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
        const mm_push_opts *opts, int64_t timeout_ms, int64_t slice_ms, uint64_t *receipt)
{
    mmi_msg *m;
    if (opts->delay_ms > MM_DELAY_MAX_MS) {
        return MM_EINVAL;
    }
    int rc = mmi_api_packed(bodies, sizes, count, opts->meta, opts->meta_size, &m);
    if (rc != MM_OK) {
        return rc;
    }
    m->alone = true;
    m->priority = (uint8_t)opts->priority;
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
        rc = receipt_send(s, m, opts, &w, receipt);
        mmi_engine_leave(e);
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

/* Until it is known what became of it.  Leaves the engine locked. */
static int
receipt_wait(mmi_socket *s, uint64_t receipt, mmi_api_wait *w)
{
    for (;;) {
        mmi_receipts *r = s->host.back != NULL ? &s->host.back->receipts : NULL;
        int rc = r != NULL ? mmi_receipts_outcome(r, receipt) : MM_EINVAL;
        if (rc == MM_RECEIPT_OPEN) {
            rc = mmi_back_failed(s->host.back);
        }
        if (rc != MM_RECEIPT_OPEN) {
            return rc;
        }
        rc = mmi_api_wait_for(s, w, MM_DRAINED | MMI_RECEIPTS, 0);
        if (rc != MM_OK) {
            return rc;
        }
    }
}

int
mm_receipt_wait(mm_handle socket, uint64_t receipt, int64_t timeout_ms, int64_t slice_ms)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    return mmi_api_end(e, receipt_wait(s, receipt, &w));
}

int
mm_receipt_forget(mm_handle socket, uint64_t receipt)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if (s->host.back != NULL) {
        mmi_receipts_forget(&s->host.back->receipts, receipt);
    }
    return mmi_api_leave(s, MM_OK);
}

int
mm_receipts_reserve(mm_handle socket, uint64_t count, uint64_t *first)
{
    mmi_socket *s;
    int rc = mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    bool acks = mmi_api_confirms(s);
    if (acks) {
        *first = mmi_receipts_reserve(&s->host.back->receipts, count);
    }
    mmi_engine_leave_quick(s->engine);
    return acks ? MM_OK : MM_ENOTSUP;
}

/* Where a call is in the receipts of a run. */
typedef struct receipts_at {
    const mm_receipt_range *ranges;
    size_t count;
    uint64_t done; /* of the first range: none of them is open */
    uint8_t *outcomes;
} receipts_at;

/* From there on up to the first that is open, but no further than RECEIPT_LOOK behind it: a wait
 * that is woken often does not go through all of them each time.  whole: to the end.  *open: of
 * those that were looked at. */
static int
receipts_go_on(mmi_receipts *r, receipts_at *at, bool whole, uint64_t *open)
{
    *open = 0;
    while (at->count > 0 && (whole || *open == 0)) {
        uint64_t first = at->ranges->first + at->done, left = at->ranges->count - at->done;
        uint64_t some = left < RECEIPT_LOOK ? left : RECEIPT_LOOK, more;
        int rc = mmi_receipts_take(r, first, some, at->outcomes, &more);
        if (rc != MM_OK) {
            return rc;
        }
        *open += more;
        if (more > 0 && !whole) {
            break;
        }
        at->outcomes += some;
        at->done += some;
        if (some == left) {
            at->ranges++;
            at->count--;
            at->done = 0;
        }
    }
    return MM_OK;
}

/* Leaves the engine locked. */
static int
receipts_wait(mmi_socket *s, receipts_at *at, mmi_api_wait *w)
{
    for (;;) {
        uint64_t open;
        int rc = s->host.back != NULL ? receipts_go_on(&s->host.back->receipts, at, false, &open)
                                      : MM_EINVAL;
        rc = rc == MM_OK && open > 0 ? mmi_back_failed(s->host.back) : rc;
        if (rc != MM_OK || open == 0) {
            return rc;
        }
        rc = mmi_api_wait_for(s, w, MM_DRAINED | MMI_RECEIPTS, 0);
        if (rc != MM_OK) {
            return rc;
        }
    }
}

int
mm_receipts_wait(mm_handle socket, const mm_receipt_range *ranges, size_t count, uint8_t *outcomes,
                 int64_t timeout_ms, int64_t slice_ms)
{
    receipts_at at = { .ranges = ranges, .count = count, .outcomes = outcomes };
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_engine *e = s->engine;
    mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
    return mmi_api_end(e, receipts_wait(s, &at, &w));
}

int
mm_receipts_look(mm_handle socket, const mm_receipt_range *ranges, size_t count, uint8_t *outcomes)
{
    receipts_at at = { .ranges = ranges, .count = count, .outcomes = outcomes };
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    uint64_t open;
    mmi_back *back = s->host.back;
    rc = back != NULL ? receipts_go_on(&back->receipts, &at, true, &open) : MM_EINVAL;
    return mmi_api_leave(s, rc);
}

int
mm_receipts_forget(mm_handle socket, const mm_receipt_range *ranges, size_t count)
{
    mmi_socket *s;
    int rc = mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_back *back = s->host.back;
    for (size_t i = 0; back != NULL && i < count; i++) {
        mmi_receipts_forget_run(&back->receipts, ranges[i].first, ranges[i].count);
    }
    mmi_engine_leave_quick(s->engine);
    return MM_OK;
}

int64_t
mm_receipts_all(mm_handle socket, uint64_t *indexes, uint8_t *outcomes, uint64_t max)
{
    mmi_socket *s;
    int rc = mmi_api_enter_quick(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_back *back = s->host.back;
    int64_t count =
        back != NULL ? (int64_t)mmi_receipts_copy(&back->receipts, indexes, outcomes, max) : 0;
    mmi_engine_leave_quick(s->engine);
    return count;
}

/* The oldest letter of a socket, or of its first group that has one; NULL: there is none. */
static mmi_msg *
receipt_letter(mmi_socket *home, mm_dead_from *from)
{
    MMI_SOCKETS_OF (home, s) {
        mmi_msg *m = s->host.back != NULL ? mmi_dead_take(&s->host.back->dead) : NULL;
        if (m != NULL) {
            from->socket = s->handle;
            mmi_text_copy(from->group, sizeof from->group, s->group != NULL ? s->group->name : "");
            return m;
        }
    }
    return NULL;
}

int
mm_recv_dead(mm_handle socket, mm_batch *batch, mm_dead_from *from)
{
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    mmi_socket *s;
    int rc = mmi_batch_reserve_lent(b);
    rc = rc == MM_OK ? mmi_api_enter(socket, &s) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    mmi_msg *m = receipt_letter(s, from);
    if (m != NULL) {
        mmi_batch_lend(b, m);
    }
    return mmi_api_leave(s, m != NULL ? 1 : MM_EAGAIN);
}

int
mm_dead_done(mm_handle socket, uint64_t number, uint32_t why)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    int outcome = why == MM_DEAD_EXPIRED ? MM_RECEIPT_EXPIRED : MM_RECEIPT_ATTEMPTS;
    rc = s->host.back != NULL ? mmi_back_letter_done(s->host.back, number, outcome) : MM_ESTATE;
    return mmi_api_leave(s, rc);
}
