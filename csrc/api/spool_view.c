/*
 * api/spool_view.c: spools that another process may write, to be read.
 *
 * Not here: what is read of them (api/spool_reader.c).  Law: as in spool/view.h.
 */
#include "api/spool.h"

#include <string.h>

int
mm_spool_view_open(const char *path, int remote, mm_spool_view **view)
{
    mm_spool_view *v = mmi_alloc(sizeof *v);
    int rc = v != NULL ? mmi_spool_view_open(&v->view, path, remote != 0) : MM_ENOMEM;
    if (rc != MM_OK) {
        mmi_free(v);
        return rc;
    }
    *view = v;
    return MM_OK;
}

void
mm_spool_view_close(mm_spool_view *v)
{
    mmi_spool_view_close(&v->view);
    mmi_free(v);
}

int
mm_spool_view_inspect(mm_spool_view *v, mm_spool_info *out)
{
    mmi_spool_view *view = &v->view;
    int rc = mmi_spool_view_look(view);
    if (rc != MM_OK) {
        return rc;
    }
    pthread_mutex_lock(&view->lock);
    *out = (mm_spool_info){ .epoch = view->epoch,
                            .files = view->count,
                            .first_seq = view->bases[0],
                            .last_seq = view->visible,
                            .written_seq = view->visible,
                            .durable_seq = view->visible,
                            .clean_seq = view->clean > 0 ? view->clean - 1 : 0 };
    memcpy(out->uuid, view->uuid, sizeof out->uuid);
    pthread_mutex_unlock(&view->lock);
    return MM_OK;
}

int
mm_spool_view_reader_open(mm_spool_view *v, uint64_t seq, mm_spool_reader **reader)
{
    const mm_spool_reader of = { .view = &v->view };
    return mmi_spool_reader_make(&of, &v->view.files, v->view.dir, seq, reader);
}

/* The files may be others than they were: it begins anew, at the same number. */
static void
view_anew(mm_spool_reader *r, uint64_t lives)
{
    mmi_spool_view *v = r->view;
    uint64_t seq = r->reader.next_seq;
    if (r->lives != lives) {
        mmi_spool_reader_close(&r->reader);
        mmi_spool_reader_open(&r->reader, &v->files, v->dir, seq);
        r->lives = lives;
    }
}

/* What there is at that number. */
static int
view_load(mm_spool_reader *r, uint64_t seq, mmi_spool_where *where)
{
    mmi_spool_view *v = r->view;
    view_anew(r, mmi_spool_view_locate(v, seq, where));
    int rc = mmi_spool_reader_load(&r->reader, where);
    if (rc == MMI_SPOOL_HARMED || rc == MM_ENOENT) { /* unless files went, or others came */
        int looked = mmi_spool_view_look(v);
        uint64_t lives = mmi_spool_view_locate(v, r->reader.next_seq, where);
        r->lives = lives + 1;
        view_anew(r, lives);
        rc = looked != MM_OK ? looked : mmi_spool_reader_load(&r->reader, where);
    }
    return rc;
}

int
mmi_spool_view_load(mm_spool_reader *r, int64_t timeout_ms, int64_t slice_ms, uint64_t *first)
{
    mmi_spool_where where;
    mmi_spool_view *v = r->view;
    uint64_t seq = r->reader.next_seq;
    const mmi_spool_wait wait = mmi_spool_wait_of(timeout_ms, slice_ms);
    int rc = mmi_spool_view_follow(v, seq - 1, &wait);
    if (rc != MM_OK) {
        return rc == MM_ETIMEDOUT ? 0 : rc;
    }
    do {
        seq = r->reader.next_seq;
        rc = view_load(r, seq, &where);
    } while (rc == MMI_SPOOL_PASSED);
    *first = where.first;
    /* As of a spool: behind what compaction removed there is nothing yet. */
    return rc == 0 && timeout_ms != 0 ? MM_EINTR : rc;
}
