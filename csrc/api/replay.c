/*
 * api/replay.c: a PUB whose messages are in a spool: begun, ended, asked; and a SUB that wants what
 * was published before.
 *
 * Not here: the thread that reads and publishes (api/replay_run.c).
 * Law: as in api/replay.h.  It lives until its owner has closed it and the socket is gone.
 */
#include "api/replay.h"

#include <string.h>

#include "queue/retained.h"

_Static_assert((int)MM_REPLAY_SEQ == (int)MMI_REPLAY_SEQ, "kinds");
_Static_assert((int)MM_REPLAY_EARLIEST == (int)MMI_REPLAY_EARLIEST, "kinds");
_Static_assert((int)MMI_PRODUCER_SIZE == (int)MMI_SPOOL_UUID, "a spool is a producer");

static void
replay_unref(mm_replay *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
        pthread_mutex_destroy(&r->tending);
        pthread_mutex_destroy(&r->lock);
        mmi_free(r);
    }
}

static void
replay_wake(void *arg)
{
    mm_replay *r = arg;
    pthread_mutex_lock(&r->lock);
    if (r->shared != NULL) {
        mmi_spool_shared_wake(r->shared);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Put, and not published; the lock is held. */
static uint64_t
replay_left_locked(const mm_replay *r)
{
    if (r->shared == NULL) {
        return 0;
    }
    pthread_mutex_lock(&r->shared->lock);
    uint64_t last = r->shared->spool.last_seq;
    pthread_mutex_unlock(&r->shared->lock);
    return last > r->published ? last - r->published : 0;
}

static uint64_t
replay_end(void *arg)
{
    mm_replay *r = arg;
    uint64_t end = 1;
    pthread_mutex_lock(&r->lock);
    if (r->shared != NULL) {
        pthread_mutex_lock(&r->shared->lock);
        end = mmi_spool_visible(&r->shared->spool) + 1;
        pthread_mutex_unlock(&r->shared->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return end;
}

static uint64_t
replay_left(void *arg)
{
    mm_replay *r = arg;
    pthread_mutex_lock(&r->lock);
    uint64_t left = replay_left_locked(r);
    pthread_mutex_unlock(&r->lock);
    return left;
}

static int
replay_failed(void *arg)
{
    mm_replay *r = arg;
    pthread_mutex_lock(&r->lock);
    int rc = r->shared == NULL ? MM_ECLOSED : r->counts.failed;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void
replay_group_begun(void *arg)
{
    mm_replay *r = arg;
    pthread_mutex_lock(&r->lock);
    r->groups_due = true;
    if (r->shared != NULL) {
        mmi_spool_shared_wake(r->shared);
    }
    pthread_mutex_unlock(&r->lock);
}

static void
replay_gone_from(void *arg)
{
    replay_unref(arg);
}

static int
replay_attach(mm_replay *r)
{
    mmi_socket *s;
    int rc = mmi_api_enter(r->socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_replays *all = s->host.replays;
    rc = all == NULL ? MM_ENOTSUP : mmi_api_fresh(s) && all->source.arg == NULL ? MM_OK : MM_ESTATE;
    if (rc == MM_OK) {
        memcpy(s->producer, r->shared->spool.uuid, sizeof s->producer);
        all->next = r->published + 1;
        r->fills = s->host.retained != NULL;
        if (r->fills) {
            s->host.retained->filling = true;
        }
        all->source = (mmi_replay_source){ .arg = r,
                                           .wake = replay_wake,
                                           .end = replay_end,
                                           .left = replay_left,
                                           .failed = replay_failed,
                                           .group = replay_group_begun,
                                           .gone = replay_gone_from };
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
        s->find_group = mmi_group_find;
        mmi_replay_say(s);
    }
    return mmi_api_leave(s, rc);
}

/* NULL: no memory. */
static mm_replay *
replay_new(mm_handle socket, mmi_spool_shared *shared)
{
    mm_replay *r = mmi_alloc(sizeof *r);
    if (r == NULL || pthread_mutex_init(&r->lock, NULL) != 0) {
        mmi_free(r);
        return NULL;
    }
    if (pthread_mutex_init(&r->tending, NULL) != 0) {
        pthread_mutex_destroy(&r->lock);
        mmi_free(r);
        return NULL;
    }
    r->refs = 1;
    r->socket = socket;
    r->shared = shared;
    return r;
}

int
mmi_replay_make(mm_handle socket, mm_spool *spool, mm_replay **replay)
{
    mmi_spool_shared *shared = &spool->shared;
    mm_replay *r = replay_new(socket, shared);
    if (r == NULL) {
        return MM_ENOMEM;
    }
    pthread_mutex_lock(&shared->lock);
    r->epoch = shared->spool.epoch;
    r->published = mmi_spool_visible(&shared->spool); /* live is what is put from now on */
    pthread_mutex_unlock(&shared->lock);
    mmi_spool_reader_open(&r->reader, &shared->files, shared->dir, r->published + 1);
    bool claimed = mmi_spool_claim(shared);
    int rc = claimed ? replay_attach(r) : MM_EAGAIN;
    if (rc != MM_OK) {
        if (claimed) {
            mmi_spool_release(shared);
        }
        replay_unref(r);
        return rc;
    }
    *replay = r;
    return MM_OK;
}

int
mm_replay_open(mm_handle socket, mm_spool *spool, mm_replay **replay)
{
    mm_replay *r = NULL;
    int rc = mmi_replay_make(socket, spool, &r);
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_thread_start(mmi_replay_run, r, &r->thread);
    if (rc != MM_OK) { /* the socket has it, and is closed by who made it */
        r->thread = NULL;
        mm_replay_close(r);
        return rc;
    }
    *replay = r;
    return MM_OK;
}

void
mm_replay_close(mm_replay *r)
{
    mmi_spool_shared *shared = r->shared;
    pthread_mutex_lock(&shared->lock);
    uint64_t visible = mmi_spool_visible(&shared->spool);
    pthread_mutex_unlock(&shared->lock);
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    r->stop_at = visible;
    pthread_mutex_unlock(&r->lock);
    mmi_spool_shared_wake(shared);
    if (r->thread != NULL) {
        mmi_thread_join(r->thread);
    }
    mmi_groups_end(r);
    mmi_spool_reader_close(&r->reader);
    pthread_mutex_lock(&r->lock);
    r->shared = NULL;
    pthread_mutex_unlock(&r->lock);
    mmi_spool_release(shared);
    mmi_api_note(r->socket, MM_DRAINED | MM_PEERS);
    replay_unref(r);
}

void
mm_replay_inspect(mm_replay *r, mm_replay_info *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->counts;
    out->left = replay_left_locked(r);
    pthread_mutex_unlock(&r->lock);
}

int
mm_sub_replay(mm_handle socket, uint32_t kind, uint64_t value)
{
    mmi_socket *s;
    if (kind < MM_REPLAY_SEQ || kind > MM_REPLAY_EARLIEST || value > MMI_REPLAY_VALUE_MAX) {
        return MM_EINVAL;
    }
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    if ((s->opts.flags & MM_OPT_REPLAY) == 0) {
        rc = MM_ENOTSUP;
    } else if (!mmi_api_fresh(s) || s->resume != NULL) {
        rc = MM_ESTATE;
    } else if ((s->resume = mmi_alloc(sizeof *s->resume)) == NULL) {
        rc = MM_ENOMEM;
    } else {
        s->resume->from = (mmi_replay){ .kind = (mmi_replay_kind)kind, .value = value };
    }
    return mmi_api_leave(s, rc);
}
