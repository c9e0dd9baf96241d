/*
 * spool/shared_look.c: what cursors are, to who looks at them.
 *
 * Not here: opening, saving and moving one (spool/shared_cursors.c), what a view sees of one
 * (spool/view.c).
 * Law: looking changes nothing, neither in the file nor in memory: what was removed is owed to who
 * has the cursor next, and is told to nobody else.
 */
#include "spool/shared_cursors.h"

static void
cursor_inspect(const mmi_spool_shared *h, const mmi_cursor *cursor, int failed,
               mmi_spool_cursor_info *out)
{
    mmi_cursor_seen seen;
    mmi_cursor_see(cursor, mmi_spool_first(&h->spool), &seen);
    uint64_t visible = mmi_spool_visible(&h->spool), done = seen.floor + seen.above;
    *out = (mmi_spool_cursor_info){ .floor = seen.floor,
                                    .saved_floor = cursor->saved_floor,
                                    .left = visible > done ? visible - done : 0,
                                    .above = seen.above,
                                    .unsaved = cursor->unsaved,
                                    .missed = seen.missed,
                                    .ahead = cursor->ahead,
                                    .failed = failed };
}

void
mmi_spool_shared_cursor_inspect(mmi_spool_shared *h, mmi_spool_cursor *c,
                                mmi_spool_cursor_info *out)
{
    pthread_mutex_lock(&h->lock);
    cursor_inspect(h, &c->cursor, c->failed, out);
    pthread_mutex_unlock(&h->lock);
}

int
mmi_spool_shared_cursor_look(mmi_spool_shared *h, const char *name, mmi_spool_cursor_info *out)
{
    mmi_cursor look;
    pthread_mutex_lock(&h->lock);
    const mmi_spool_cursor *c = mmi_spool_cursors_still(h, name);
    const mmi_cursor_spool spool = { h->spool.uuid, mmi_spool_first(&h->spool), h->spool.last_seq };
    if (c != NULL) {
        cursor_inspect(h, &c->cursor, c->failed, out);
        out->missed -= c->told;
    }
    pthread_mutex_unlock(&h->lock);
    int rc = c == NULL ? mmi_cursor_look(&look, &h->files, h->dir, name, &spool) : MM_ENOENT;
    if (rc == MM_OK) {
        pthread_mutex_lock(&h->lock);
        cursor_inspect(h, &look, MM_OK, out);
        pthread_mutex_unlock(&h->lock);
        mmi_cursor_close(&look);
    }
    return c == NULL ? rc : MM_OK;
}

void
mmi_spool_shared_cursors_each(mmi_spool_shared *h,
                              void (*tell)(void *arg, const char *name, uint64_t left), void *arg)
{
    pthread_mutex_lock(&h->lock);
    for (const mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        mmi_spool_cursor_info info;
        if (!c->moving) {
            cursor_inspect(h, &c->cursor, c->failed, &info);
            tell(arg, c->name, info.left);
        }
    }
    pthread_mutex_unlock(&h->lock);
}
