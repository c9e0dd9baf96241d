/*
 * spool/shared.c: what threads do with a spool that they share: they put into it, write, wait and
 * trim.
 *
 * Not here: opening and closing it, and its own thread (spool/shared_open.c).
 */
#include "spool/shared_cursors.h"

bool
mmi_spool_shared_lead(mmi_spool_shared *h, bool syncs)
{
    mmi_spool_job job;
    if (!mmi_spool_take(&h->spool, syncs || h->sync_waits > 0, &job)) {
        return false;
    }
    bool synced = job.syncs || job.rolls, begun = h->spool.begun_us > 0;
    pthread_mutex_unlock(&h->lock);
    uint64_t start = mmi_thread_now_ns();
    mmi_spool_write(&h->spool, &job);
    uint64_t end = mmi_thread_now_ns();
    pthread_mutex_lock(&h->lock);
    (void)mmi_spool_wrote(&h->spool, &job); /* who waits sees that it failed */
    if (synced) {
        h->counts.syncs++;
        h->counts.sync_ns += end - start;
        h->counts.sync_max_ns =
            end - start > h->counts.sync_max_ns ? end - start : h->counts.sync_max_ns;
        h->synced_ns = end;
    }
    bool ages = h->spool.opts.segment_age_us > 0 && h->spool.begun_us > 0 && !begun;
    if (job.rolls || ages || (synced && h->cut)) { /* files may go; more of a cursor can be saved */
        h->cut = false;
        pthread_cond_signal(&h->work);
    }
    pthread_cond_broadcast(&h->done);
    if (h->idle && !h->notes && h->spool.durable_seq != h->spool.noted_seq) {
        pthread_cond_signal(&h->work); /* so that its state says so, a second from now */
    }
    mmi_spool_watches_tell(h);
    return true;
}

static uint64_t
shared_kept(const mmi_spool *s, mmi_spool_level level)
{
    return level == MMI_SPOOL_DISK ? s->durable_seq
           : level == MMI_SPOOL_OS ? s->written_seq
                                   : s->last_seq;
}

/* Is it time to return?  MM_OK: not yet. */
static int
shared_late(const mmi_spool_wait *wait, uint64_t slice_end)
{
    uint64_t now = mmi_thread_now_ns();
    return now >= wait->deadline_ns ? MM_ETIMEDOUT : now >= slice_end ? MM_EINTR : MM_OK;
}

/* One wait for what others do.  MM_OK: look again. */
static int
shared_sleep(mmi_spool_shared *h, const mmi_spool_wait *wait, uint64_t slice_end)
{
    uint64_t end = slice_end < wait->deadline_ns ? slice_end : wait->deadline_ns;
    mmi_thread_wait(&h->done, &h->lock, end);
    return shared_late(wait, slice_end);
}

/* Writes for all, or waits for who does.  MM_OK: look again. */
static int
shared_step(mmi_spool_shared *h, bool syncs, const mmi_spool_wait *wait, uint64_t slice_end)
{
    bool led = mmi_spool_shared_lead(h, syncs);
    return led ? shared_late(wait, slice_end) : shared_sleep(h, wait, slice_end);
}

static uint64_t
shared_slice(const mmi_spool_wait *wait)
{
    return wait->slice_ns > 0 ? mmi_thread_now_ns() + wait->slice_ns : UINT64_MAX;
}

/* Until it is kept; it may be this thread that writes it. */
static int
shared_wait(mmi_spool_shared *h, uint64_t seq, mmi_spool_level level, const mmi_spool_wait *wait,
            uint64_t slice_end)
{
    const bool syncs = level == MMI_SPOOL_DISK;
    int rc = MM_OK;
    h->sync_waits += syncs;
    while (shared_kept(&h->spool, level) < seq && (rc == MM_OK || h->spool.failed)) {
        if (h->spool.failed) {
            rc = MM_EIO;
            break;
        }
        rc = shared_step(h, syncs, wait, slice_end);
    }
    h->sync_waits -= syncs;
    return shared_kept(&h->spool, level) < seq ? rc : MM_OK;
}

/* What was removed is done, whoever was not done with it. */
static void
shared_trimmed(mmi_spool_shared *h)
{
    for (mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        if (!c->moving) {
            (void)mmi_cursor_trimmed(&c->cursor, mmi_spool_first(&h->spool));
        }
    }
}

void
mmi_spool_shared_rest(mmi_spool_shared *h)
{
    while (h->spool.busy) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
}

/* Another file is begun, or cannot be. */
static void
shared_roll(mmi_spool_shared *h)
{
    mmi_spool *s = &h->spool;
    while (s->wants_roll && !s->failed) {
        mmi_spool_shared_rest(h);
        if (s->wants_roll && !mmi_spool_shared_lead(h, false)) {
            s->wants_roll = false; /* no memory */
        }
    }
    mmi_spool_shared_rest(h);
}

/* Nothing goes that the file of the producers does not tell of: it is written, if it is behind. */
static void
shared_list(mmi_spool_shared *h, uint64_t seq)
{
    if (mmi_spool_unlisted(&h->spool) && h->spool.listed_seq < seq) {
        h->spool.wants_list = true;
        (void)mmi_spool_shared_lead(h, false);
        mmi_spool_shared_rest(h);
    }
}

/* Up to which number files may go, as it is at this moment. */
static uint64_t
shared_unheld(mmi_spool_shared *h, uint64_t seq, bool leased)
{
    h->sweep_wanted |= mmi_spool_keep_end(&h->keep, mmi_thread_now_ns());
    uint64_t held = leased ? mmi_spool_keep_leased(&h->keep) : UINT64_MAX;
    return seq < held ? seq : held - 1;
}

/* Files go while others put and read; nobody writes meanwhile.  If all that may go is in the last
 * one, another one is begun, when that is worth it; by a sweep only where that one alone reaches a
 * limit.  What is held is looked at each time that others have had the lock: a lease that somebody
 * was given counts. */
uint32_t
mmi_spool_shared_drop(mmi_spool_shared *h, uint64_t seq, uint32_t most, bool leased)
{
    mmi_spool *s = &h->spool;
    mmi_spool_shared_rest(h);
    shared_list(h, seq);
    bool sweeps = leased && most < UINT32_MAX;
    uint64_t upto = shared_unheld(h, seq, leased);
    uint32_t files = mmi_spool_trim_plan(s, upto, most);
    if (files < most && (!sweeps || mmi_spool_one_is_full(s)) && mmi_spool_roll(s, upto)) {
        shared_roll(h);
        files = mmi_spool_trim_plan(s, shared_unheld(h, seq, leased), most);
    }
    files = s->failed ? 0 : files;
    if (files > 0) {
        s->busy = h->dropping = true;
        pthread_mutex_unlock(&h->lock);
        files = mmi_spool_trim_run(s, files);
        pthread_mutex_lock(&h->lock);
        mmi_spool_trim_done(s, files);
        s->busy = h->dropping = false;
        s->wants_spare |= s->no_spare;
        h->room_wanted &= files == 0;
        shared_trimmed(h);
        h->wakes += h->fed; /* its socket tells of what it has of those */
    }
    pthread_cond_signal(&h->work);
    pthread_cond_broadcast(&h->done);
    mmi_spool_watches_tell(h);
    return files;
}

/* There is no room for it: MM_OK: try again, or, *skip, it is not kept; else why not. */
static int
shared_full(mmi_spool_shared *h, const mmi_spool_wait *wait, uint64_t slice_end, bool *skip)
{
    mmi_spool *s = &h->spool;
    if (mmi_spool_shared_lead(h, false) &&
        (s->failed || !s->no_spare)) { /* there is room for another file */
        return s->failed ? MM_EIO : MM_OK;
    }
    h->room_wanted = true; /* what is done with may make some as soon as it is saved */
    h->sweep_wanted |= mmi_spool_one_is_full(s); /* as may what is saved, and is all there is */
    pthread_cond_signal(&h->work);
    switch (h->overflow) {
    case MMI_SPOOL_BLOCK: return shared_sleep(h, wait, slice_end);
    case MMI_SPOOL_DROP_NEWEST:
        h->counts.dropped_newest++;
        if (h->fed) { /* its socket tells of it */
            h->wakes++;
            pthread_cond_broadcast(&h->done);
        }
        *skip = true;
        return MM_OK;
    case MMI_SPOOL_DROP_OLDEST: {
        if (s->busy) { /* what is written now may go as well */
            mmi_spool_shared_rest(h);
            return MM_OK;
        }
        uint64_t first = mmi_spool_first(s);
        if (mmi_spool_shared_drop(h, s->written_seq, 1, false) == 0) {
            return s->failed ? MM_EIO : MM_ENOSPC;
        }
        h->counts.dropped_oldest += mmi_spool_first(s) - first;
        return MM_OK;
    }
    default: return MM_ENOSPC;
    }
}

/* after: the number of the one before it, if it is to be in a row with that.  1: others came
 * between. */
static int
shared_put_one(mmi_spool_shared *h, const mmi_spool_record *r, const mmi_spool_wait *wait,
               uint64_t slice_end, uint64_t after, uint64_t *seq)
{
    bool skip = false;
    int rc;
    while (!skip) {
        if (after > 0 && h->spool.last_seq != after) {
            return 1;
        }
        rc = mmi_spool_put(&h->spool, r, seq);
        if (rc == MM_OK || rc == MMI_SPOOL_REPEATED) {
            return rc;
        }
        if (rc == MM_ENOSPC) {
            rc = shared_full(h, wait, slice_end, &skip);
        } else if (rc == MM_EAGAIN) {
            rc = shared_step(h, false, wait, slice_end);
        }
        if (rc != MM_OK) {
            return rc;
        }
    }
    return MM_OK;
}

int
mmi_spool_shared_put(mmi_spool_shared *h, const mmi_spool_record *records, size_t count, bool waits,
                     const mmi_spool_wait *wait, mmi_spool_did *did)
{
    uint64_t slice_end = shared_slice(wait);
    int rc = MM_OK;
    *did = (mmi_spool_did){ .done = 0 };
    pthread_mutex_lock(&h->lock);
    while (did->done < count) {
        uint64_t seq = 0;
        uint64_t after = wait->in_a_row ? did->last : 0;
        rc = shared_put_one(h, &records[did->done], wait, slice_end, after, &seq);
        if (rc != MM_OK && rc != MMI_SPOOL_REPEATED) {
            rc = rc == 1 ? MM_OK : rc;
            break;
        }
        bool put = rc == MM_OK && seq > 0, dropped = rc == MM_OK && seq == 0;
        h->counts.appended += put;
        h->counts.repeated += rc == MMI_SPOOL_REPEATED;
        if (dropped) {
            did->done++;
            did->unkept++;
        } else {
            mmi_spool_did_one(did, put, seq, h->spool.last_seq);
        }
        rc = MM_OK;
        if (dropped && wait->in_a_row) {
            break;
        }
    }
    mmi_spool_level level = h->spool.opts.level;
    if (rc == MM_OK && waits && did->until > 0) {
        rc = shared_wait(h, did->until, level, wait, slice_end);
    }
    bool alone = !waits || rc != MM_OK || level == MMI_SPOOL_BUFFERED;
    if (did->last > 0 && (alone || (level == MMI_SPOOL_OS && h->idle))) {
        pthread_cond_signal(&h->work); /* nobody waits for it, or for its sync */
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_wait(mmi_spool_shared *h, uint64_t seq, mmi_spool_level level,
                      const mmi_spool_wait *wait)
{
    uint64_t slice_end = shared_slice(wait);
    pthread_mutex_lock(&h->lock);
    seq = seq < h->spool.last_seq ? seq : h->spool.last_seq;
    int rc = shared_wait(h, seq, level, wait, slice_end);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_follow(mmi_spool_shared *h, uint64_t seq, const mmi_spool_wait *wait)
{
    uint64_t slice_end = shared_slice(wait);
    int rc = MM_OK;
    pthread_mutex_lock(&h->lock);
    while (rc == MM_OK && mmi_spool_visible(&h->spool) <= seq) {
        rc = h->spool.failed ? MM_EIO : shared_sleep(h, wait, slice_end);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int
mmi_spool_shared_watch(mmi_spool_shared *h, uint64_t seq, uint64_t wakes,
                       const mmi_spool_wait *wait)
{
    uint64_t slice_end = shared_slice(wait);
    int rc = MM_OK;
    pthread_mutex_lock(&h->lock);
    while (rc == MM_OK && mmi_spool_visible(&h->spool) <= seq) {
        bool never = h->spool.failed && seq != UINT64_MAX;
        rc = never ? MM_EIO : h->wakes != wakes ? MM_EAGAIN : shared_sleep(h, wait, slice_end);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

uint64_t
mmi_spool_shared_wakes(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    uint64_t wakes = h->wakes;
    pthread_mutex_unlock(&h->lock);
    return wakes;
}

void
mmi_spool_shared_wake(mmi_spool_shared *h)
{
    pthread_mutex_lock(&h->lock);
    h->wakes++;
    pthread_cond_broadcast(&h->done);
    pthread_mutex_unlock(&h->lock);
}

uint32_t
mmi_spool_shared_trim(mmi_spool_shared *h, uint64_t seq)
{
    pthread_mutex_lock(&h->lock);
    uint32_t gone = mmi_spool_shared_drop(h, seq, UINT32_MAX, true);
    pthread_mutex_unlock(&h->lock);
    return gone;
}

void
mmi_spool_shared_locate(mmi_spool_shared *h, uint64_t seq, mmi_spool_where *out)
{
    pthread_mutex_lock(&h->lock);
    mmi_spool_locate(&h->spool, seq, out);
    pthread_mutex_unlock(&h->lock);
}

/* As it is once the files that are being removed have gone, which is without the lock. */
static void
shared_locate_dropped(mmi_spool_shared *h, uint64_t seq, mmi_spool_where *out)
{
    pthread_mutex_lock(&h->lock);
    while (h->dropping) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    mmi_spool_locate(&h->spool, seq, out);
    pthread_mutex_unlock(&h->lock);
}

/* A file could not be opened, or was harmed, and its name is not there.  The list says what that
 * means: PASSED: another file has its numbers by now; MM_ENOENT: they were trimmed; HARMED: the
 * spool has it, and somebody else removed it. */
static int
shared_went(mmi_spool_shared *h, mmi_spool_reader *r, mmi_spool_where *where)
{
    const uint64_t base = where->base;
    shared_locate_dropped(h, r->next_seq, where);
    if (where->base == 0) {
        return MM_ENOENT;
    }
    if (where->base != base) {
        return MMI_SPOOL_PASSED;
    }
    r->lost_last = where->bound != 0 ? where->bound - 1 : where->visible;
    return MMI_SPOOL_HARMED;
}

int
mmi_spool_shared_load(mmi_spool_shared *h, mmi_spool_reader *r, mmi_spool_where *where)
{
    int rc;
    do {
        mmi_spool_shared_locate(h, r->next_seq, where);
        rc = mmi_spool_reader_load(r, where);
        rc = rc == MM_ENOENT ? shared_went(h, r, where) : rc;
    } while (rc == MMI_SPOOL_PASSED);
    return rc;
}
