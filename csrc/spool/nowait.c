/*
 * spool/nowait.c: see spool/nowait.h.
 */
#include "spool/nowait.h"

int
mmi_spool_nowait_put(mmi_spool_shared *h, const mmi_spool_record *records, size_t count,
                     mmi_spool_did *did)
{
    int rc = MM_OK;
    *did = (mmi_spool_did){ .done = 0 };
    pthread_mutex_lock(&h->lock);
    while (rc == MM_OK && did->done < count) {
        uint64_t seq = 0;
        rc = mmi_spool_put(&h->spool, &records[did->done], &seq);
        if (rc == MM_OK || rc == MMI_SPOOL_REPEATED) {
            mmi_spool_did_one(did, rc == MM_OK, seq, h->spool.last_seq);
            h->counts.appended += rc == MM_OK;
            h->counts.repeated += rc == MMI_SPOOL_REPEATED;
            rc = MM_OK;
        }
    }
    pthread_mutex_unlock(&h->lock);
    return rc == MM_ENOSPC ? MM_EAGAIN : rc;
}

void
mmi_spool_nowait_write(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
}

int
mmi_spool_watch_open(mmi_spool_watch *w, mmi_spool_shared *h)
{
    *w = (mmi_spool_watch){ .spool = h, .written_at = UINT64_MAX, .durable_at = UINT64_MAX };
    int rc = mmi_thread_bell_open(&w->bell);
    if (rc == MM_OK) {
        pthread_mutex_lock(&h->lock);
        w->next = h->watches;
        h->watches = w;
        pthread_mutex_unlock(&h->lock);
    }
    return rc;
}

void
mmi_spool_watch_close(mmi_spool_watch *w)
{
    mmi_spool_shared *h = w->spool;
    pthread_mutex_lock(&h->lock);
    mmi_spool_watch **at = &h->watches;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    pthread_mutex_unlock(&h->lock);
    mmi_thread_bell_close(w->bell);
}

void
mmi_spool_watch_set(mmi_spool_watch *w, uint64_t written_at, uint64_t durable_at,
                    mmi_spool_kept *now)
{
    mmi_spool_shared *h = w->spool;
    pthread_mutex_lock(&h->lock);
    mmi_thread_bell_clear(w->bell);
    w->written_at = written_at;
    w->durable_at = durable_at;
    mmi_spool_watches_tell(h);
    *now = (mmi_spool_kept){ .last = h->spool.last_seq,
                             .written = h->spool.written_seq,
                             .durable = h->spool.durable_seq,
                             .failed = h->spool.failed };
    pthread_mutex_unlock(&h->lock);
}
