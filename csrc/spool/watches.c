/*
 * spool/watches.c: ringing those that watch a spool.
 *
 * Not here: watches, as their owners have them (spool/nowait.c).  Law: under the spool's lock.
 */
#include "spool/nowait.h"

void
mmi_spool_watches_tell(mmi_spool_shared *h)
{
    const mmi_spool *s = &h->spool;
    for (mmi_spool_watch *w = h->watches; w != NULL; w = w->next) {
        bool set = w->written_at != UINT64_MAX || w->durable_at != UINT64_MAX;
        bool so = s->written_seq >= w->written_at || s->durable_seq >= w->durable_at || s->failed;
        if (set && so) {
            w->written_at = w->durable_at = UINT64_MAX;
            mmi_thread_bell_ring(w->bell);
        }
    }
}
