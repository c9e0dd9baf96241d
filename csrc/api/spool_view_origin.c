/*
 * api/spool_view_origin.c: how far a producer has come, in a spool that another process may write.
 *
 * Not here: the same of a spool that is open (api/spool.c).
 * Law: nothing is written.  Who opens a spool knows of it what its file of the producers and the
 * messages behind that say: so does who looks.
 */
#include "api/spool.h"

#include <string.h>

/* The messages from that number on that can be seen.  Those that went or are harmed say nothing. */
static int
origin_scan(mm_spool_view *v, mmi_producers *p, uint64_t from)
{
    mm_spool_reader *r;
    uint64_t goes_on;
    int rc = mm_spool_view_reader_open(v, from, &r);
    if (rc != MM_OK) {
        return rc;
    }
    while ((rc = mm_spool_reader_load(r, 0, 0, &goes_on)) != 0) {
        rc = rc == 1 ? mmi_spool_producers_heard(p, &r->reader) : rc;
        uint64_t at = r->reader.next_seq;
        goes_on = rc == MM_EPROTO ? r->reader.scan.next_seq : goes_on; /* that is harm as well */
        if (rc == MM_ENOENT || rc == MMI_SPOOL_HARMED || rc == MM_EPROTO) {
            mm_spool_reader_seek(r, goes_on > at ? goes_on : at + 1);
        } else if (rc < 0) {
            break;
        }
    }
    mm_spool_reader_close(r);
    return rc;
}

/* What their file says; one that is harmed, or of another spool, says nothing.  *seq: it tells of
 * the messages up to it; 0: of none. */
static int
origin_load(mmi_spool_view *v, mmi_producers *p, uint64_t *seq)
{
    const mmi_spool_place place = { &v->files, v->dir };
    uint8_t uuid[MMI_SPOOL_UUID];
    pthread_mutex_lock(&v->lock);
    memcpy(uuid, v->uuid, sizeof uuid);
    pthread_mutex_unlock(&v->lock);
    *seq = 0;
    int rc = mmi_spool_producers_load(&place, uuid, p, seq);
    if (rc != MM_OK) {
        mmi_producers_fini(p);
        *seq = 0;
    }
    return rc == MM_ENOENT || rc == MM_EPROTO ? MM_OK : rc;
}

int
mm_spool_view_last_origin(mm_spool_view *v, const uint8_t *producer, uint64_t *number)
{
    mmi_spool_view *view = &v->view;
    mmi_producers known = { .count = 0 };
    uint64_t listed = 0;
    mmi_thread_random(NULL, known.secret, sizeof known.secret);
    int rc = mmi_spool_view_look(view);
    rc = rc == MM_OK ? origin_load(view, &known, &listed) : rc;
    pthread_mutex_lock(&view->lock);
    uint64_t from = listed > 0 ? listed + 1 : view->origin;
    pthread_mutex_unlock(&view->lock);
    rc = rc == MM_OK && from > 0 ? origin_scan(v, &known, from) : rc;
    const mmi_producer *one = rc == MM_OK ? mmi_producers_find(&known, producer) : NULL;
    *number = one != NULL ? one->number : 0;
    mmi_producers_fini(&known);
    return rc == MM_OK ? one != NULL : rc;
}
