/*
 * spool/shared_open.c: a spool that threads share is opened and closed; and its own thread, which
 * writes what nobody waits for, saves cursors and removes what is not needed.
 *
 * Not here: what the other threads do (spool/shared.c), what is saved and removed (spool/sweep.c).
 */
#include <string.h>

#include "spool/shared_compact.h"

/* When something of what was written is to be synced, though nobody waits for it. */
static uint64_t
shared_sync_at(const mmi_spool_shared *h)
{
    bool some = h->spool.durable_seq < h->spool.written_seq && !h->spool.failed;
    return some ? h->synced_ns + h->sync_every_ns : UINT64_MAX;
}

/* When its state is to say what became durable: who looks from outside sees it by that. */
static uint64_t
shared_note_at(const mmi_spool_shared *h)
{
    const mmi_spool *s = &h->spool;
    if (s->failed || s->durable_seq == s->noted_seq) {
        return UINT64_MAX;
    }
    uint64_t now = s->opts.now_us(s->opts.arg), at = s->noted_us + MMI_SPOOL_NOTE_US;
    bool later = now < at && at - now <= (uint64_t)MMI_SPOOL_NOTE_US; /* else the clock was set */
    return mmi_thread_now_ns() + (later ? at - now : MMI_SPOOL_NOTE_US) * 1000;
}

static void
shared_run(void *arg)
{
    mmi_spool_shared *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        uint64_t now = mmi_thread_now_ns(), sync_at = shared_sync_at(h);
        bool late = h->spool.opts.level != MMI_SPOOL_DISK && now >= sync_at; /* else take knows */
        bool led = mmi_spool_shared_lead(h, late);
        bool swept = !h->stop && mmi_spool_sweep(h, now);
        if (!led && !swept && !h->stop) {
            bool busy = h->spool.busy;
            uint64_t sweep_at = mmi_spool_sweep_at(h, now);
            sync_at = shared_sync_at(h);
            h->idle = sync_at == UINT64_MAX;
            uint64_t at = sweep_at < sync_at ? sweep_at : sync_at, note_at = shared_note_at(h);
            at = note_at < at ? note_at : at;
            h->notes = note_at != UINT64_MAX;
            mmi_thread_wait(busy ? &h->done : &h->work, &h->lock, busy ? UINT64_MAX : at);
            h->idle = h->notes = false;
        }
    }
    pthread_mutex_unlock(&h->lock);
}

static int
shared_start(mmi_spool_shared *h)
{
    if (pthread_mutex_init(&h->lock, NULL) != 0) {
        return MM_ENOMEM;
    }
    if (mmi_thread_cond_init(&h->work) != MM_OK) {
        pthread_mutex_destroy(&h->lock);
        return MM_ENOMEM;
    }
    int rc = mmi_thread_cond_init(&h->done);
    if (rc == MM_OK && (rc = mmi_thread_start(shared_run, h, &h->thread)) != MM_OK) {
        pthread_cond_destroy(&h->done);
    }
    if (rc != MM_OK) {
        pthread_cond_destroy(&h->work);
        pthread_mutex_destroy(&h->lock);
    }
    return rc;
}

/* Opens the folder, and makes its name durable, whoever made it. */
static int
shared_folder(mmi_spool_shared *h, const char *path)
{
    const mmi_files *f = &h->files;
    char parent[MMI_SPOOL_PATH_MAX + 1];
    size_t size = strlen(path);
    int above;
    while (size > 1 && path[size - 1] == '/') {
        size--;
    }
    while (size > 0 && path[size - 1] != '/') {
        size--;
    }
    if (size > MMI_SPOOL_PATH_MAX) {
        return MM_ENAMETOOLONG;
    }
    memcpy(parent, path, size);
    parent[size] = '\0';
    int rc = f->root(f->self, path, &h->dir);
    if (rc != MM_OK || f->root(f->self, size > 0 ? parent : ".", &above) != MM_OK) {
        return rc; /* a parent that is not ours to look into: the name is as durable as that is */
    }
    rc = f->sync_folder(f->self, above);
    f->close(f->self, above);
    if (rc != MM_OK) {
        f->close(f->self, h->dir);
    }
    return rc;
}

int
mmi_spool_shared_open(mmi_spool_shared *h, const char *path, const mmi_spool_shared_opts *opts,
                      mmi_spool_report *report)
{
    *h = (mmi_spool_shared){ .overflow = opts->overflow,
                             .sync_every_ns = opts->sync_every_ns,
                             .synced_ns = mmi_thread_now_ns(), /* what is there is on the disk */
                             .keep = { .max_age_us = opts->max_age_us },
                             .compaction = { .ratio_ppm = opts->compact_ppm,
                                             .tombstone_us = opts->tombstone_us,
                                             .held_seq = UINT64_MAX },
                             .dir = -1 };
    *report = (mmi_spool_report){ .made = false };
    mmi_files_posix(&h->files);
    int rc = shared_folder(h, path);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_spool_opts inner = opts->spool;
    inner.now_us = mmi_thread_wall_us;
    inner.random = mmi_thread_random;
    rc = mmi_spool_open(&h->spool, &h->files, h->dir, &inner, report);
    if (rc == MM_OK && (rc = shared_start(h)) != MM_OK) {
        mmi_spool_abandon(&h->spool);
    }
    if (rc != MM_OK) {
        h->files.close(h->files.self, h->dir);
        return rc;
    }
    pthread_mutex_lock(&h->lock);
    rc = mmi_spool_cursors_begin(h, opts->acked_by, opts->acked_by_count);
    pthread_mutex_unlock(&h->lock);
    if (rc != MM_OK) {
        (void)mmi_spool_shared_close(h);
    }
    return rc;
}

static void
shared_free(mmi_spool_shared *h)
{
    pthread_cond_destroy(&h->done);
    pthread_cond_destroy(&h->work);
    pthread_mutex_destroy(&h->lock);
    h->files.close(h->files.self, h->dir);
}

int
mmi_spool_shared_close(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->work);
    pthread_cond_broadcast(&h->done);
    pthread_mutex_unlock(&h->lock);
    mmi_thread_join(h->thread);
    pthread_mutex_lock(&h->lock);
    while (mmi_spool_shared_lead(h, true)) {
    }
    pthread_mutex_unlock(&h->lock);
    mmi_spool_compact_end(h);
    int cursors = mmi_spool_cursors_end(h), rc = mmi_spool_close(&h->spool);
    shared_free(h);
    return rc != MM_OK ? rc : cursors;
}

/* The mutex may be somebody's who is not in this process, and so are the threads: neither is
 * touched.  What the spool says of itself may be half changed: only what never changes is closed,
 * so that the child keeps nobody out. */
void
mmi_spool_shared_abandon(mmi_spool_shared *h)
{
    h->files.close(h->files.self, h->spool.lock);
    h->files.close(h->files.self, h->dir);
}
