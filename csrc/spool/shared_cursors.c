/*
 * spool/shared_cursors.c: see spool/shared_cursors.h.
 *
 * Not here: when they are saved and what is removed then (spool/sweep.c), which messages are not
 * done, for who reads them (spool/shared_next.c), what they are (spool/shared_look.c).
 */
#include "spool/shared_cursors.h"

#include <string.h>

#include "spool/fed.h"

static const mmi_spool_wait for_ever = { .deadline_ns = UINT64_MAX };

mmi_spool_cursor *
mmi_spool_cursors_find(const mmi_spool_shared *h, const char *name)
{
    mmi_spool_cursor *c = h->cursors;
    while (c != NULL && strcmp(c->name, name) != 0) {
        c = c->next;
    }
    return c;
}

mmi_spool_cursor *
mmi_spool_cursors_still(mmi_spool_shared *h, const char *name)
{
    mmi_spool_cursor *c;
    while ((c = mmi_spool_cursors_find(h, name)) != NULL && c->moving) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    return c;
}

/* One that this thread is to open or to remove; it has no file yet.  NULL: no memory. */
static mmi_spool_cursor *
cursors_add(mmi_spool_shared *h, const char *name)
{
    mmi_spool_cursor *c = mmi_alloc(sizeof *c);
    if (c != NULL) {
        memcpy(c->name, name, strlen(name) + 1);
        c->moving = true;
        c->cursor.slots.file = -1;
        c->next = h->cursors;
        h->cursors = c;
    }
    return c;
}

/* Its file is closed. */
static void
cursors_forget(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    mmi_spool_cursor **at = &h->cursors;
    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    mmi_free(c);
    pthread_cond_broadcast(&h->done);
}

static bool
cursors_awaited(const mmi_spool_shared *h, const char *name)
{
    for (uint32_t i = 0; i < h->acked_by_count; i++) {
        if (strcmp(h->acked_by[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* There is something that the spool's own thread may have to do. */
static void
cursors_tell(mmi_spool_shared *h)
{
    pthread_cond_signal(&h->work);
}

/* After a change of it: what it is done with again, as it was sent back, is saved already. */
static void
cursors_rose(mmi_spool_shared *h, const mmi_spool_cursor *c, uint64_t before)
{
    if (c->kept && mmi_spool_cursor_acked(c) > before) {
        h->sweep_wanted = true;
        cursors_tell(h);
    }
}

/* Others may look at it again. */
static void
cursors_settle(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    c->moving = false;
    (void)mmi_cursor_trimmed(&c->cursor, mmi_spool_first(&h->spool));
    h->sweep_wanted |= c->kept;
    h->cut |= c->cursor.saved_limit != UINT64_MAX;
    pthread_cond_broadcast(&h->done);
    cursors_tell(h);
}

/* Who has it from now on is told of what was removed while nobody had it. */
static void
cursors_return(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    c->cursor.left = false;
    (void)mmi_cursor_trimmed(&c->cursor, mmi_spool_first(&h->spool));
}

/* Without the lock: it is opened, and begins there if it is new. */
static int
cursor_begin(mmi_spool_shared *h, mmi_spool_cursor *c, bool create, uint64_t start,
             const mmi_cursor_spool *spool)
{
    uint64_t next = spool->last_seq + 1;
    /* What was removed is done once somebody has it, who is told. */
    const mmi_cursor_spool whole = { spool->uuid, 1, spool->last_seq };
    int rc = mmi_cursor_open(&c->cursor, &h->files, h->dir, c->name, create, &whole);
    if (rc != MM_OK || !c->cursor.made) {
        return rc;
    }
    if (!create) {
        mmi_cursor_seek(&c->cursor, spool->first_seq);
        return rc;
    }
    if (start == MMI_SPOOL_LATEST || start == MMI_SPOOL_EARLIEST) {
        start = start == MMI_SPOOL_LATEST ? next : spool->first_seq;
    }
    rc = start < spool->first_seq ? MM_ENOENT : start > next ? MM_EINVAL : MM_OK;
    if (rc == MM_OK) { /* where it begins is on the disk as soon as it is there */
        rc = mmi_spool_shared_wait(h, start - 1, MMI_SPOOL_DISK, &for_ever);
    }
    if (rc == MM_OK) {
        mmi_cursor_seek(&c->cursor, start);
        rc = mmi_cursor_save(&c->cursor, start - 1);
    }
    if (rc != MM_OK) {
        mmi_cursor_close(&c->cursor);
        (void)mmi_cursor_remove(&h->files, h->dir, c->name); /* nothing was saved in it */
    }
    return rc;
}

/* With the lock, which is given up meanwhile.  has: its user is told of what was removed; else that
 * is owed to the next one. */
static int
cursor_open(mmi_spool_shared *h, const char *name, bool create, uint64_t start, bool has,
            mmi_spool_cursor **out)
{
    mmi_spool_cursor *c = mmi_spool_cursors_still(h, name);
    if (c != NULL) {
        c->users++;
        if (has) {
            cursors_return(h, c);
        }
        *out = c;
        return MM_OK;
    }
    c = cursors_add(h, name);
    if (c == NULL) {
        return MM_ENOMEM;
    }
    const mmi_cursor_spool spool = { h->spool.uuid, mmi_spool_first(&h->spool), h->spool.last_seq };
    pthread_mutex_unlock(&h->lock);
    int rc = cursor_begin(h, c, create, start, &spool);
    pthread_mutex_lock(&h->lock);
    if (rc != MM_OK) {
        cursors_forget(h, c);
        return rc;
    }
    c->users = 1;
    c->cursor.left = !has;
    /* The first save is soon: a life that is short gets on as well. */
    c->saved_ns = mmi_thread_now_ns() - MMI_SPOOL_SAVE_NS + MMI_SPOOL_SAVE_FIRST_NS;
    c->kept = cursors_awaited(h, name);
    cursors_settle(h, c);
    *out = c;
    return MM_OK;
}

int
mmi_spool_shared_cursor_open(mmi_spool_shared *h, const char *name, bool create, uint64_t start,
                             mmi_spool_cursor **out)
{
    if (mmi_cursor_check_name(name) != MM_OK) {
        return MM_EINVAL;
    }
    pthread_mutex_lock(&h->lock);
    int rc = cursor_open(h, name, create, start, true, out);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_cursor_move(mmi_spool_shared *h, const char *name, uint64_t seq)
{
    mmi_spool_cursor *c;
    if (mmi_cursor_check_name(name) != MM_OK) {
        return MM_EINVAL;
    }
    pthread_mutex_lock(&h->lock);
    int rc = cursor_open(h, name, true, seq, false, &c);
    uint64_t first = mmi_spool_first(&h->spool), next = h->spool.last_seq + 1;
    pthread_mutex_unlock(&h->lock);
    if (rc != MM_OK) {
        return rc;
    }
    seq = seq == MMI_SPOOL_EARLIEST ? first : seq == MMI_SPOOL_LATEST ? next : seq;
    rc = mmi_spool_shared_cursor_seek(h, c, seq);
    rc = rc == MM_OK ? mmi_spool_shared_cursor_save(h, c, &for_ever) : rc;
    int closed = mmi_spool_shared_cursor_close(h, c);
    return rc == MM_OK ? closed : rc;
}

bool
mmi_spool_cursors_make_room(const mmi_spool_shared *h, const mmi_spool_cursor *c)
{
    const mmi_spool *s = &h->spool;
    bool files = s->file_count > 1;
    uint64_t needed = files ? s->bases[1] - 1 : s->written_seq; /* so that the first one can go */
    return h->room_wanted && c->kept && (files || mmi_spool_one_is_full(s)) &&
           c->cursor.floor >= needed && c->cursor.saved_floor < needed;
}

int
mmi_spool_cursors_save(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    mmi_cursor_saving saving;
    while (c->saving) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    uint64_t limit = h->spool.durable_seq, before = c->cursor.saved_floor;
    if (c->failed != MM_OK || !mmi_cursor_dirty(&c->cursor, limit)) {
        return c->failed;
    }
    c->saving = true;
    mmi_cursor_snapshot(&c->cursor, limit, &saving);
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_cursor_write(&c->cursor, &saving);
    pthread_mutex_lock(&h->lock);
    mmi_cursor_wrote(&c->cursor, &saving, rc);
    c->saving = false;
    h->cut |= saving.limit != UINT64_MAX;
    c->failed = rc;
    c->saved_ns = mmi_thread_now_ns();
    h->sweep_wanted |= c->kept && c->cursor.saved_floor != before;
    pthread_cond_broadcast(&h->done);
    return rc;
}

int
mmi_spool_shared_cursor_save(mmi_spool_shared *h, mmi_spool_cursor *c, const mmi_spool_wait *wait)
{
    pthread_mutex_lock(&h->lock);
    uint64_t top = c->cursor.top;
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_spool_shared_wait(h, top, MMI_SPOOL_DISK, wait);
    if (rc == MM_ETIMEDOUT || rc == MM_EINTR) {
        return rc;
    }
    pthread_mutex_lock(&h->lock); /* what of it is durable is saved also if the spool failed */
    int saved = mmi_spool_cursors_save(h, c);
    cursors_tell(h);
    pthread_mutex_unlock(&h->lock);
    return rc != MM_OK ? rc : saved;
}

int
mmi_spool_shared_cursor_close(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    pthread_mutex_lock(&h->lock);
    bool told = c->failed != MM_OK; /* whoever has it last is told again */
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_spool_shared_cursor_save(h, c, &for_ever); /* also if others have it, who go on */
    pthread_mutex_lock(&h->lock);
    c->users--;
    c->moving = c->users == 0;
    bool last = c->moving;
    if (last) { /* it was told of all so far */
        c->cursor.left = true;
        c->cursor.missed = c->told = 0;
    } else {
        cursors_return(h, c);
    }
    pthread_mutex_unlock(&h->lock);
    if (!last) {
        return told ? MM_OK : rc;
    }
    rc = mmi_spool_shared_cursor_save(h, c, &for_ever); /* what they did meanwhile */
    pthread_mutex_lock(&h->lock);
    while (c->saving) { /* by the spool's thread, which had begun before */
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    if (c->kept && c->failed == MM_OK) {
        cursors_settle(h, c);
    } else {
        mmi_cursor_close(&c->cursor);
        cursors_forget(h, c);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_cursor_done(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t first,
                             uint64_t last)
{
    pthread_mutex_lock(&h->lock);
    int rc = c->failed != MM_OK ? MM_EIO : last > mmi_spool_visible(&h->spool) ? MM_EINVAL : MM_OK;
    if (rc == MM_OK) {
        bool dirty = mmi_cursor_dirty(&c->cursor, h->spool.durable_seq);
        uint64_t before = mmi_spool_cursor_acked(c);
        rc = mmi_cursor_done(&c->cursor, first, last);
        cursors_rose(h, c, before);
        if (!dirty || mmi_spool_cursors_make_room(h, c)) {
            cursors_tell(h);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_cursor_seek(mmi_spool_shared *h, mmi_spool_cursor *c, uint64_t seq)
{
    pthread_mutex_lock(&h->lock);
    while (h->dropping) { /* what is being removed is not there */
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    int rc = c->failed != MM_OK                 ? MM_EIO
             : seq < mmi_spool_first(&h->spool) ? MM_ENOENT
             : seq > h->spool.last_seq + 1      ? MM_EINVAL
                                                : MM_OK;
    if (rc == MM_OK) {
        uint64_t before = mmi_spool_cursor_acked(c);
        mmi_cursor_seek(&c->cursor, seq);
        cursors_rose(h, c, before);
        mmi_spool_compact_hold(h, seq);
        cursors_tell(h);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_cursor_delete(mmi_spool_shared *h, const char *name)
{
    if (mmi_cursor_check_name(name) != MM_OK) {
        return MM_EINVAL;
    }
    pthread_mutex_lock(&h->lock);
    mmi_spool_cursor *c = mmi_spool_cursors_still(h, name);
    int rc = c != NULL && c->users > 0 ? MM_ESTATE : MM_OK;
    c = c == NULL ? cursors_add(h, name) : c;
    rc = c == NULL ? MM_ENOMEM : rc;
    if (rc == MM_OK) {
        c->moving = true; /* whoever opens one of that name waits */
        while (c->saving) {
            mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
        }
        pthread_mutex_unlock(&h->lock);
        mmi_cursor_close(&c->cursor);
        rc = mmi_cursor_remove(&h->files, h->dir, name);
        mmi_fed_unmark(&h->files, h->dir, name);
        pthread_mutex_lock(&h->lock);
        cursors_forget(h, c);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_lease(mmi_spool_shared *h, const char *name, uint64_t from_seq, uint64_t ttl_ns)
{
    pthread_mutex_lock(&h->lock);
    while (h->dropping) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    uint64_t now = mmi_thread_now_ns();
    int rc = from_seq < mmi_spool_first(&h->spool) ? MM_ENOENT : MM_OK;
    uint64_t end = ttl_ns < UINT64_MAX - now ? now + ttl_ns : UINT64_MAX - 1;
    uint64_t before = mmi_spool_keep_leased(&h->keep);
    rc = rc == MM_OK ? mmi_spool_keep_lease(&h->keep, name, from_seq, end) : rc;
    if (rc == MM_OK) {
        mmi_spool_compact_hold(h, from_seq);
    }
    h->sweep_wanted |= mmi_spool_keep_leased(&h->keep) > before; /* of its name, less was held */
    cursors_tell(h);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_release(mmi_spool_shared *h, const char *name)
{
    pthread_mutex_lock(&h->lock);
    h->sweep_wanted |= mmi_spool_keep_end(&h->keep, mmi_thread_now_ns());
    int rc = mmi_spool_keep_release(&h->keep, name);
    h->sweep_wanted |= rc == MM_OK;
    cursors_tell(h);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_cursors_begin(mmi_spool_shared *h, const char *const *names, uint32_t count)
{
    int rc = count <= MMI_SPOOL_ACKED_BY_MAX ? MM_OK : MM_EINVAL;
    for (uint32_t i = 0; i < count && rc == MM_OK; i++) {
        rc = mmi_cursor_check_name(names[i]);
    }
    if (rc != MM_OK || count == 0) {
        return rc;
    }
    h->acked_by = mmi_alloc(count * sizeof *h->acked_by);
    if (h->acked_by == NULL) {
        return MM_ENOMEM;
    }
    for (; h->acked_by_count < count; h->acked_by_count++) {
        const char *name = names[h->acked_by_count];
        memcpy(h->acked_by[h->acked_by_count], name, strlen(name) + 1);
    }
    for (uint32_t i = 0; i < count && rc == MM_OK; i++) {
        mmi_spool_cursor *c;
        rc = cursor_open(h, names[i], false, MMI_SPOOL_EARLIEST, false, &c);
        if (rc == MM_OK) {
            c->users--;
        } else if (rc == MM_ENOENT || rc == MM_EPROTO || rc == MM_ENOTSUP) {
            rc = MM_OK; /* not there, or not to be read: it holds all, and who opens it is told */
        }
    }
    return rc;
}

int
mmi_spool_shared_cursor_await(mmi_spool_shared *h, mmi_spool_cursor *c)
{
    int rc = mmi_fed_mark(&h->files, h->dir, c->name);
    if (rc != MM_OK && rc != MM_ENOSPC) { /* on a full disk it is held while it is open */
        return rc;
    }
    rc = MM_OK;
    pthread_mutex_lock(&h->lock);
    c->fed = true;
    mmi_spool_compact_hold(h, c->cursor.floor + 1);
    bool some = h->acked_by_count > 0 || h->keep.max_age_us == 0;
    if (some && !cursors_awaited(h, c->name)) {
        size_t size = (h->acked_by_count + 1) * sizeof *h->acked_by;
        char (*grown)[MMI_CURSOR_NAME_MAX + 1] = mmi_realloc(h->acked_by, size);
        rc = grown != NULL ? MM_OK : MM_ENOMEM;
        if (grown != NULL) {
            h->acked_by = grown;
            memcpy(h->acked_by[h->acked_by_count++], c->name, sizeof c->name);
            c->kept = h->sweep_wanted = true;
            pthread_cond_signal(&h->work);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_cursors_end(mmi_spool_shared *h)
{
    int rc = MM_OK;
    while (h->cursors != NULL) {
        mmi_spool_cursor *c = h->cursors;
        pthread_mutex_lock(&h->lock);
        int saved = mmi_spool_cursors_save(h, c);
        pthread_mutex_unlock(&h->lock);
        rc = rc != MM_OK || saved == MM_OK ? rc : MM_EIO;
        mmi_cursor_close(&c->cursor);
        h->cursors = c->next;
        mmi_free(c);
    }
    mmi_free(h->acked_by);
    mmi_spool_keep_free(&h->keep);
    return rc;
}
