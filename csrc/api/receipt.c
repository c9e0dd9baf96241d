/*
 * api/receipt.c: what became of a message, for who sent it: receipts, and dead letters.
 *
 * Not here: when that is known (queue/receipts.h, queue/dead.h).
 * Law: as in api/send.c.
 */
#include "api/api.h"

#include "batch/batch.h"
#include "queue/backlog.h"

/* Sends m, which gets a number.  Leaves the engine locked. */
static int
receipt_send(mmi_socket *s, mmi_msg *m, mmi_api_wait *w, uint64_t *receipt)
{
    if (s->host.back == NULL || (s->opts.flags & MM_OPT_AT_LEAST_ONCE) == 0) {
        return MM_ENOTSUP;
    }
    mmi_receipts *r = &s->host.back->receipts;
    int rc = mmi_receipts_open(r, m);
    if (rc != MM_OK) {
        return rc;
    }
    *receipt = m->key;
    rc = mmi_api_send_locked(s, m, w);
    if (rc != MM_OK && rc != MM_ECLOSED) {
        mmi_receipts_forget(r, *receipt);
    }
    return rc;
}

int
mm_send_awaited(mm_handle socket, const uint8_t *bodies, const uint64_t *sizes, uint32_t count,
                const uint8_t *meta, size_t meta_size, int64_t timeout_ms, int64_t slice_ms,
                uint64_t *receipt)
{
    mmi_msg *m;
    int rc = mmi_api_packed(bodies, sizes, count, meta, meta_size, &m);
    if (rc != MM_OK) {
        return rc;
    }
    m->alone = true;
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        mmi_api_wait w = mmi_api_wait_of(timeout_ms, slice_ms);
        rc = receipt_send(s, m, &w, receipt);
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
        if (rc != MM_RECEIPT_OPEN) {
            return rc;
        }
        rc = mmi_api_wait_for(s, w, MM_DRAINED, 0);
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
mm_recv_dead(mm_handle socket, mm_batch *batch)
{
    mmi_batch *b = (mmi_batch *)batch;
    mmi_batch_reset(b);
    mmi_socket *s;
    int rc = mmi_batch_reserve_lent(b);
    rc = rc == MM_OK ? mmi_api_enter(socket, &s) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    mmi_msg *m = s->host.back != NULL ? mmi_dead_take(&s->host.back->dead) : NULL;
    if (m != NULL) {
        mmi_batch_lend(b, m);
    }
    return mmi_api_leave(s, m != NULL ? 1 : MM_EAGAIN);
}
