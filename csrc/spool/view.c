/*
 * spool/view.c: see spool/view.h.
 */
#include "spool/view.h"

#include <string.h>

enum { VIEW_WINDOW = 64 * 1024 /* octets that are read at once */ };

static int
view_list(mmi_spool_view *v)
{
    const mmi_spool_place place = { &v->files, v->dir };
    uint64_t *bases;
    uint32_t count;
    int rc = mmi_spool_list(&place, &bases, &count);
    rc = rc == MM_OK && count == 0 ? MM_ENOENT : rc;
    if (rc == MM_OK) {
        mmi_free(v->bases);
        v->bases = bases;
        v->count = count;
    }
    return rc;
}

static void
view_proved(mmi_spool_view *v, uint64_t seq)
{
    v->visible = seq > v->visible ? seq : v->visible;
}

/* Whole batches of the window, from *at on: how many octets they take; the last may end beyond. */
static uint64_t
view_heads(mmi_spool_view *v, uint64_t size)
{
    uint64_t at = 0;
    mmi_spool_batch batch;
    while (at + MMI_SPOOL_BATCH_HEAD <= size &&
           mmi_spool_batch_get(v->window + at, v->tail.head.salt, &batch) == MM_OK &&
           batch.chain == v->tail.chain) {
        view_proved(v, batch.durable_seq);
        v->tail.chain = batch.head_crc;
        at += mmi_spool_batch_size(batch.body_size);
    }
    return at;
}

/* Heads that were written to the last file since the last look. */
static int
view_scan(mmi_spool_view *v)
{
    uint64_t step;
    do {
        int64_t got =
            v->files.read(v->files.self, v->tail.file, v->tail.end, v->window, VIEW_WINDOW);
        if (got < 0) {
            return (int)got;
        }
        step = view_heads(v, (uint64_t)got);
        v->tail.end += step;
    } while (step > 0);
    return MM_OK;
}

/* The last file: the one that was known, or another, perhaps under its name.  A head that is harmed
 * says nothing, and who reads it is told. */
static int
view_tail(mmi_spool_view *v)
{
    const mmi_spool_place place = { &v->files, v->dir };
    uint64_t base = v->bases[v->count - 1];
    mmi_spool_file file;
    int rc = mmi_spool_file_open(&place, base, false, &file);
    if (rc != MM_OK) {
        return rc == MM_EPROTO ? MM_OK : rc;
    }
    view_proved(v, base - 1);
    bool same =
        v->tail.file >= 0 && v->tail.head.crc == file.head.crc && v->tail.head.base_seq == base;
    if (same) {
        mmi_spool_file_close(&place, &file);
    } else {
        v->lives += v->tail.file >= 0 && v->tail.head.base_seq == base;
        mmi_spool_file_close(&place, &v->tail);
        v->tail = file;
        v->tail.end = MMI_SPOOL_FILE_HEAD;
        v->tail.chain = file.head.crc;
    }
    return view_scan(v);
}

static int
view_look(mmi_spool_view *v)
{
    const mmi_spool_place place = { &v->files, v->dir };
    mmi_spool_stated state;
    bool stated = mmi_spool_state_look(&place, &state);
    int rc = view_list(v);
    rc = rc == MM_OK ? view_tail(v) : rc;
    if (rc == MM_ENOENT && v->count > 0 && v->tail.file >= 0) {
        return MM_OK; /* it went between the two: the next look sees more */
    }
    if (rc != MM_OK) {
        return rc;
    }
    if (stated) {
        v->lives += state.epoch != v->epoch;
        v->epoch = state.epoch;
        v->clean = state.clean_seq;
        v->origin = state.origin_seq;
        memcpy(v->uuid, state.uuid, sizeof v->uuid);
        view_proved(v, state.durable_seq);
    } else if (v->epoch == 0 && v->tail.file >= 0) {
        memcpy(v->uuid, v->tail.head.uuid, sizeof v->uuid);
    }
    return MM_OK;
}

int
mmi_spool_view_look(mmi_spool_view *v)
{
    pthread_mutex_lock(&v->lock);
    int rc = view_look(v);
    pthread_mutex_unlock(&v->lock);
    return rc;
}

static void
view_free(mmi_spool_view *v)
{
    const mmi_spool_place place = { &v->files, v->dir };
    mmi_spool_file_close(&place, &v->tail);
    v->files.close(v->files.self, v->dir);
    mmi_free(v->bases);
    mmi_free(v->window);
}

static int
view_start(mmi_spool_view *v)
{
    if (pthread_mutex_init(&v->lock, NULL) != 0) {
        return MM_ENOMEM;
    }
    if (mmi_thread_cond_init(&v->tick) != MM_OK) {
        pthread_mutex_destroy(&v->lock);
        return MM_ENOMEM;
    }
    return MM_OK;
}

int
mmi_spool_view_open(mmi_spool_view *v, const char *path, bool remote)
{
    *v = (mmi_spool_view){ .tail = { .file = -1 }, .origin = 1 };
    mmi_files_posix(&v->files);
    int rc = v->files.root(v->files.self, path, &v->dir);
    if (rc != MM_OK) {
        return rc;
    }
    v->window = mmi_alloc(VIEW_WINDOW);
    const mmi_spool_place place = { &v->files, v->dir };
    rc = v->window == NULL ? MM_ENOMEM : mmi_spool_folder_check(&place, remote);
    rc = rc == MM_OK ? view_look(v) : rc;
    rc = rc == MM_OK ? view_start(v) : rc;
    if (rc != MM_OK) {
        view_free(v);
    }
    return rc;
}

void
mmi_spool_view_close(mmi_spool_view *v)
{
    pthread_cond_destroy(&v->tick);
    pthread_mutex_destroy(&v->lock);
    view_free(v);
}

uint64_t
mmi_spool_view_locate(mmi_spool_view *v, uint64_t seq, mmi_spool_where *out)
{
    pthread_mutex_lock(&v->lock);
    *out = (mmi_spool_where){ .visible = v->visible, .first = v->bases[0], .uuid = v->uuid };
    for (uint32_t i = v->count; i-- > 0;) {
        if (v->bases[i] <= seq) {
            out->base = v->bases[i];
            out->bound = i + 1 < v->count ? v->bases[i + 1] : 0;
            break;
        }
    }
    uint64_t lives = v->lives;
    pthread_mutex_unlock(&v->lock);
    return lives;
}

uint64_t
mmi_spool_view_since(mmi_spool_view *v, uint64_t time_us)
{
    const mmi_spool_place place = { &v->files, v->dir };
    uint64_t from = 1, made_us = 0;
    pthread_mutex_lock(&v->lock);
    for (uint32_t i = v->count; i-- > 0 && (made_us == 0 || made_us >= time_us);) {
        mmi_spool_file f;
        from = v->bases[i];
        made_us = 0;
        if (mmi_spool_file_open(&place, from, false, &f) == MM_OK) {
            made_us = f.head.made_us;
            mmi_spool_file_close(&place, &f);
        }
    }
    pthread_mutex_unlock(&v->lock);
    return from;
}

int
mmi_spool_view_follow(mmi_spool_view *v, uint64_t seq, const mmi_spool_wait *wait)
{
    uint64_t now = mmi_thread_now_ns();
    const uint64_t slice_end = wait->slice_ns > 0 ? now + wait->slice_ns : UINT64_MAX;
    int rc = MM_OK;
    pthread_mutex_lock(&v->lock);
    while (rc == MM_OK && v->visible <= seq) {
        rc = view_look(v);
        now = mmi_thread_now_ns();
        if (rc != MM_OK || v->visible > seq) {
            break;
        }
        rc = now >= wait->deadline_ns ? MM_ETIMEDOUT : now >= slice_end ? MM_EINTR : MM_OK;
        if (rc == MM_OK) {
            uint64_t until = now + MMI_SPOOL_VIEW_NS;
            until = until < wait->deadline_ns ? until : wait->deadline_ns;
            mmi_thread_wait(&v->tick, &v->lock, until < slice_end ? until : slice_end);
        }
    }
    pthread_mutex_unlock(&v->lock);
    return rc;
}

int
mmi_spool_view_cursor(mmi_spool_view *v, const char *name, mmi_spool_cursor_info *out)
{
    mmi_cursor c;
    uint8_t uuid[MMI_SPOOL_UUID];
    pthread_mutex_lock(&v->lock);
    memcpy(uuid, v->uuid, sizeof uuid);
    const mmi_cursor_spool spool = { uuid, v->bases[0], v->visible };
    pthread_mutex_unlock(&v->lock);
    int rc = mmi_cursor_look(&c, &v->files, v->dir, name, &spool);
    if (rc == MM_OK) {
        uint64_t done = c.floor + c.above;
        *out = (mmi_spool_cursor_info){ .floor = c.floor,
                                        .saved_floor = c.saved_floor,
                                        .left = spool.last_seq > done ? spool.last_seq - done : 0,
                                        .above = c.above,
                                        .ahead = c.ahead };
        mmi_cursor_close(&c);
    }
    return rc;
}
