/*
 * api/feed.c: a PUSH whose messages are in a spool: begun, ended, asked.
 *
 * Not here: the thread that reads and sends (api/feed_run.c), what becomes of its messages
 * (api/feed_fates.c).
 * Law: as in api/feed.h.  A feed lives until its owner has closed it and the socket is gone; what
 * is acknowledged behind its close is not noted, and goes again.
 */
#include "api/feed.h"

#include <string.h>

#include "queue/backlog.h"

enum { FEED_STILL_MS = 1000 }; /* milliseconds that one write, which never waits, may take */

static void
feed_unref(mm_feed *f)
{
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&f->lock);
        mmi_free(f->again);
        mmi_free(f);
    }
}

/* All that was put and is not done, also what cannot be read yet.  f->lock is held. */
static uint64_t
feed_count_left(mm_feed *f)
{
    if (f->shared == NULL) {
        return f->left;
    }
    pthread_mutex_lock(&f->shared->lock);
    const mmi_cursor *c = &f->cursor->cursor;
    uint64_t last = f->shared->spool.last_seq;
    uint64_t left = last > c->floor ? last - c->floor - c->above : 0;
    pthread_mutex_unlock(&f->shared->lock);
    return left;
}

static void
feed_dead(void *arg, int by)
{
    mm_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    f->dead += (uint64_t)by;
    pthread_mutex_unlock(&f->lock);
}

static uint64_t
feed_left(void *arg)
{
    mm_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    uint64_t left = feed_count_left(f);
    left -= f->dead < left ? f->dead : left;
    pthread_mutex_unlock(&f->lock);
    return left;
}

/* Of what is to be sent again some have no time of their own. */
static uint64_t
feed_later_count(void *arg, uint64_t *due_us)
{
    mm_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    uint64_t count = f->shared == NULL ? 0 : f->delayed;
    for (size_t i = 0; due_us != NULL && count > 0 && i < f->again_count; i++) {
        uint64_t due = f->again[i].due_us;
        *due_us = due > 0 && due < *due_us ? due : *due_us;
    }
    pthread_mutex_unlock(&f->lock);
    return count;
}

static int
feed_failed(void *arg)
{
    mm_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    int rc = f->shared == NULL ? MM_ECLOSED : f->counts.failed;
    pthread_mutex_unlock(&f->lock);
    return rc;
}

static void
feed_gone(void *arg)
{
    feed_unref(arg);
}

/* May that socket have one?  The engine is locked. */
static int
feed_check(const mmi_socket *s)
{
    if (s->ops->again == NULL || !mmi_api_confirms(s)) {
        return MM_ENOTSUP;
    }
    bool fresh = mmi_api_fresh(s) || s->group != NULL; /* nothing was sent yet */
    return fresh && !mmi_back_sourced(s->host.back) ? MM_OK : MM_ESTATE;
}

static int
feed_attach(mm_feed *f, const uint8_t *uuid)
{
    mmi_socket *s;
    int rc = mmi_api_enter(f->socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    rc = feed_check(s);
    if (rc == MM_OK) {
        memcpy(s->producer, uuid, sizeof s->producer);
        s->host.back->receipts.source = (mmi_source){ .arg = f,
                                                      .told = mmi_feed_told,
                                                      .dead = feed_dead,
                                                      .later = feed_later_count,
                                                      .left = feed_left,
                                                      .failed = feed_failed,
                                                      .gone = feed_gone };
        atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    }
    return mmi_api_leave(s, rc);
}

_Static_assert((int)MMI_PRODUCER_SIZE == (int)MMI_SPOOL_UUID, "a spool is a producer");

/* Nothing was attached yet. */
static int
feed_drop(mm_feed *f, int rc)
{
    if (f->cursor != NULL) {
        (void)mmi_spool_shared_cursor_close(f->shared, f->cursor);
    }
    if (!f->of_group) {
        mmi_spool_release(f->shared);
    }
    feed_unref(f);
    return rc;
}

/* NULL: no memory. */
static mm_feed *
feed_new(mm_handle socket, mmi_spool_shared *shared)
{
    mm_feed *f = mmi_alloc(sizeof *f);
    if (f == NULL || pthread_mutex_init(&f->lock, NULL) != 0) {
        mmi_free(f);
        return NULL;
    }
    f->refs = 1;
    f->socket = socket;
    f->shared = shared;
    return f;
}

/* Its cursor is open. */
static int
feed_begin(mm_feed *f, mm_feed **feed)
{
    mmi_spool_shared *shared = f->shared;
    f->unkept = mmi_feed_unkept(f);
    uint64_t next = mmi_spool_shared_cursor_next(shared, f->cursor, 1);
    mmi_spool_reader_open(&f->reader, &shared->files, shared->dir, next);
    mmi_spool_reader_open(&f->seeker, &shared->files, shared->dir, next);
    int rc = f->of_group ? MM_OK : mmi_spool_shared_cursor_await(shared, f->cursor);
    rc = rc == MM_OK ? feed_attach(f, shared->spool.uuid) : rc;
    if (rc != MM_OK) {
        return feed_drop(f, rc);
    }
    rc = mmi_thread_start(mmi_feed_run, f, &f->thread);
    if (rc != MM_OK) { /* the socket has it, and is closed by who made it */
        f->thread = NULL;
        mm_feed_close(f);
        return rc;
    }
    *feed = f;
    return MM_OK;
}

int
mm_feed_open(mm_handle socket, mm_spool *spool, const char *name, mm_feed **feed)
{
    mmi_spool_shared *shared = &spool->shared;
    mm_feed *f = feed_new(socket, shared);
    if (f == NULL) {
        return MM_ENOMEM;
    }
    if (!mmi_spool_claim(shared)) {
        feed_unref(f);
        return MM_EAGAIN;
    }
    int rc = mmi_spool_shared_cursor_open(shared, name, true, MMI_SPOOL_EARLIEST, &f->cursor);
    return rc == MM_OK ? feed_begin(f, feed) : feed_drop(f, rc);
}

int
mmi_feed_open_group(mm_handle socket, mmi_spool_shared *shared, const char *name, uint64_t from,
                    mm_feed **feed)
{
    mm_feed *f = feed_new(socket, shared);
    if (f == NULL) {
        return MM_ENOMEM;
    }
    f->of_group = true;
    int rc = mmi_spool_shared_cursor_open(shared, name, true, from, &f->cursor);
    if (rc == MM_ENOENT) { /* what it would begin with was removed since */
        rc = mmi_spool_shared_cursor_open(shared, name, true, MMI_SPOOL_EARLIEST, &f->cursor);
    }
    return rc == MM_OK ? feed_begin(f, feed) : feed_drop(f, rc);
}

/* Who waits for room is to look whether it is to stop. */
static void
feed_interrupt(mm_feed *f)
{
    pthread_mutex_lock(&f->lock);
    f->stop = true;
    pthread_mutex_unlock(&f->lock);
    mmi_spool_shared_wake(f->shared);
    mmi_api_note(f->socket, MMI_ROOM | MM_PEERS);
}

/* Is something written at this moment to a peer that acknowledges nothing? */
static bool
feed_is_writing(const mmi_socket *s)
{
    bool writes = false;
    MMI_LIST_EACH (&s->links, node, after) {
        const mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
        writes |= link->pipe.unacked == NULL && mmi_tx_is_writing(link);
    }
    return writes;
}

/* Such peers get nothing more; what they are written at this moment is noted as done before its
 * cursor is closed. */
static void
feed_still(mm_feed *f)
{
    mmi_api_wait wait = mmi_api_wait_of(FEED_STILL_MS, 0);
    mmi_socket *s;
    int rc = mmi_api_enter(f->socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        while (rc == MM_OK && feed_is_writing(s)) {
            rc = mmi_api_wait_for(s, &wait, MM_PEERS | MM_DRAINED, 0);
        }
        (void)mmi_api_end(e, rc);
    }
}

void
mm_feed_settle(mm_feed *f)
{
    feed_interrupt(f); /* it reads no more */
    mmi_feed_settle(f, true);
    feed_still(f);
}

void
mm_feed_close(mm_feed *f)
{
    feed_interrupt(f);
    if (f->thread != NULL) {
        mmi_thread_join(f->thread);
    }
    mmi_feed_settle(f, false); /* unless its socket was closed before */
    mmi_spool_reader_close(&f->reader);
    mmi_spool_reader_close(&f->seeker);
    pthread_mutex_lock(&f->lock);
    mmi_spool_shared *shared = f->shared;
    f->left = feed_count_left(f);
    f->shared = NULL;
    pthread_mutex_unlock(&f->lock);
    mmi_spool_shared_cursor_untake(shared, f->cursor);
    (void)mmi_spool_shared_cursor_close(shared, f->cursor); /* what was not saved is sent again */
    if (!f->of_group) {
        mmi_spool_release(shared);
    }
    mmi_api_note(f->socket, MM_DRAINED | MM_PEERS); /* who waits for receipts waits in vain */
    feed_unref(f);
}

void
mm_feed_inspect(mm_feed *f, mm_feed_info *out)
{
    pthread_mutex_lock(&f->lock);
    *out = f->counts;
    out->in_flight = f->in_flight;
    out->delayed = f->delayed;
    out->left = feed_count_left(f);
    pthread_mutex_unlock(&f->lock);
}
