/*
 * spool/shared_next.c: which messages a cursor is not done with, for who reads them.
 *
 * Not here: opening, saving and moving one (spool/shared_cursors.c).
 * Law: as in spool/shared_cursors.h.
 */
#include "spool/shared_cursors.h"

uint64_t
mmi_spool_shared_cursor_next(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from)
{
    pthread_mutex_lock(&h->lock);
    uint64_t next = mmi_cursor_next(&c->cursor, from);
    pthread_mutex_unlock(&h->lock);
    return next;
}

uint64_t
mmi_spool_shared_cursor_next_done(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from)
{
    uint64_t first, last;
    pthread_mutex_lock(&h->lock);
    bool some = mmi_cursor_run(&c->cursor, from, UINT64_MAX, &first, &last);
    uint64_t next = from <= c->cursor.floor ? from : some ? first : UINT64_MAX;
    pthread_mutex_unlock(&h->lock);
    return next;
}

size_t
mmi_spool_shared_cursor_take(mmi_spool_shared *h, mmi_spool_cursor *c, const uint64_t *seqs,
                             size_t count, bool *done)
{
    size_t i = 0;
    pthread_mutex_lock(&h->lock);
    for (; i < count && seqs[i] >= mmi_spool_first(&h->spool); i++) {
        done[i] = mmi_cursor_is_done(&c->cursor, seqs[i]);
        if (!done[i] && c->cursor.taken <= seqs[i]) {
            c->cursor.taken = seqs[i] + 1;
        }
    }
    pthread_mutex_unlock(&h->lock);
    return i;
}

void
mmi_spool_shared_cursor_leave(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    pthread_mutex_lock(&h->lock);
    c->cursor.left = true;
    pthread_mutex_unlock(&h->lock);
}

void
mmi_spool_shared_cursor_untake(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    pthread_mutex_lock(&h->lock);
    c->cursor.taken = 0;
    (void)mmi_cursor_trimmed(&c->cursor, mmi_spool_first(&h->spool));
    pthread_mutex_unlock(&h->lock);
}

void
mmi_spool_shared_cursor_pass(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from,
                             mmi_spool_passed *out)
{
    pthread_mutex_lock(&h->lock);
    *out = (mmi_spool_passed){ .next = mmi_cursor_next(&c->cursor, from),
                               .first = mmi_spool_first(&h->spool),
                               .missed = c->cursor.missed - c->told };
    pthread_mutex_unlock(&h->lock);
}

uint64_t
mmi_spool_shared_cursor_missed(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    pthread_mutex_lock(&h->lock);
    uint64_t missed = c->cursor.missed - c->told;
    c->told = c->cursor.missed;
    pthread_mutex_unlock(&h->lock);
    return missed;
}

uint64_t
mmi_spool_shared_cursor_removed(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t from,
                                uint64_t *last)
{
    uint64_t done;
    pthread_mutex_lock(&h->lock);
    uint64_t end = mmi_spool_first(&h->spool), first = mmi_cursor_next(&c->cursor, from);
    bool some = first < end && mmi_cursor_run(&c->cursor, first, end - 1, &done, last);
    *last = some ? done - 1 : end - 1;
    pthread_mutex_unlock(&h->lock);
    return first < end ? first : 0;
}
