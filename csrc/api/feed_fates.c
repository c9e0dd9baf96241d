/*
 * api/feed_fates.c: what becomes of the messages of a spool that feeds a socket, and who is told.
 *
 * Not here: reading and sending them (api/feed_run.c), receipts (queue/receipts.h).  Law: as in
 * api/feed.h.
 */
#include "api/feed.h"

#include "queue/backlog.h"

static const uint64_t FATES_LATER_US =
    1000000; /* until one that found no room among dead letters is looked at again */

static const char fates_bare[] =
    "not acknowledged, and only in memory now: still sent, but lost if this process ends";

/* They are not acknowledged, and so not what one would think of numbers that are done. */
static void
feed_note_odd(mm_feed *f, uint64_t first, uint64_t last, int outcome)
{
    feed_odd *newest = f->odd_count > 0 ? &f->odd[(f->odd_count - 1) % FEED_ODD_MAX] : NULL;
    if (newest != NULL && newest->outcome == outcome && newest->last + 1 == first) {
        newest->last = last;
    } else {
        f->odd[f->odd_count++ % FEED_ODD_MAX] = (feed_odd){ first, last, outcome };
    }
}

static uint64_t *
feed_counter(mm_feed *f, int outcome)
{
    switch (outcome) {
    case MM_RECEIPT_EXPIRED: return &f->counts.expired;
    case MM_RECEIPT_ATTEMPTS: return &f->counts.attempts;
    case MM_RECEIPT_UNKNOWN: return &f->counts.unknown;
    default: return &f->counts.acked;
    }
}

uint64_t
mmi_feed_unkept(mm_feed *f)
{
    pthread_mutex_lock(&f->shared->lock);
    uint64_t count = f->shared->counts.dropped_newest;
    pthread_mutex_unlock(&f->shared->lock);
    return count;
}

void
mmi_feed_fail(mm_feed *f, int rc, uint64_t first, uint64_t last)
{
    if (f->counts.failed == MM_OK) {
        f->counts.failed = rc;
        f->counts.failed_first = first;
        f->counts.failed_last = last;
    }
}

/* The socket gave them up, or there was no memory to note them: they are sent again.  Or they are
 * to be dead letters, and there is no room. */
static void
feed_again(mm_feed *f, uint64_t first, uint64_t count, int outcome)
{
    bool spent = outcome == MM_RECEIPT_OPEN;
    uint64_t due = spent ? mmi_thread_wall_us(NULL) + FATES_LATER_US : 0;
    for (uint64_t i = 0; i < count; i++) {
        mmi_feed_add(f, (feed_later){ .due_us = due, .seq = first + i, .spent = spent });
    }
}

void
mmi_feed_letter(mmi_socket *s, mmi_msg *m)
{
    m->origin.attempt = s->opts.max_attempts + 1; /* as when the last one was over */
    mmi_back_bury(s->host.back, MMI_DROP_ATTEMPTS, NULL, m);
}

uint64_t
mmi_feed_letters_at(mm_feed *f)
{
    mmi_socket *s;
    bool room = true;
    if (mmi_api_enter(f->socket, &s) == MM_OK) {
        room = mmi_dead_room(&s->host.back->dead);
        mmi_engine_leave_quick(s->engine);
    }
    return room ? 0 : mmi_thread_wall_us(NULL) + FATES_LATER_US;
}

/* What they came to.  f->lock is held, and it is open. */
static void
feed_came_to(mm_feed *f, uint64_t first, uint64_t count, int outcome)
{
    bool done = outcome != MM_RECEIPT_DROPPED && outcome != MM_RECEIPT_OPEN;
    uint64_t last = first + count - 1;
    int rc = done ? mmi_spool_shared_cursor_done(f->shared, f->cursor, first, last) : MM_EAGAIN;
    if (rc == MM_OK) {
        *feed_counter(f, outcome) += count;
    } else if (rc == MM_EIO) { /* the cursor cannot be saved: to send it again would not help */
        mmi_feed_fail(f, rc, first, last);
    } else {
        feed_again(f, first, count, outcome);
    }
    if (rc == MM_OK && outcome != MM_RECEIPT_ACKED) {
        feed_note_odd(f, first, last, outcome);
    }
    if (rc != MM_OK || f->blocked) {
        mmi_spool_shared_wake(f->shared);
    }
}

void
mmi_feed_told(void *arg, uint64_t first, uint64_t count, int outcome)
{
    mm_feed *f = arg;
    pthread_mutex_lock(&f->lock);
    f->in_flight -= count;
    if (f->shared != NULL) {
        feed_came_to(f, first, count, outcome);
    }
    pthread_mutex_unlock(&f->lock);
}

void
mmi_feed_bury(mm_feed *f, mmi_socket *s, uint64_t first, uint64_t last)
{
    pthread_mutex_lock(&f->lock);
    if (f->shared != NULL &&
        mmi_spool_shared_cursor_done(f->shared, f->cursor, first, last) == MM_OK) {
        feed_note_odd(f, first, last, MM_RECEIPT_DROPPED);
    }
    pthread_mutex_unlock(&f->lock);
    mmi_receipts_tell_run(&s->host.back->receipts, first, last - first + 1, MM_RECEIPT_DROPPED);
}

static uint64_t
feed_done_of(mm_feed *f, uint64_t first, uint64_t last)
{
    pthread_mutex_lock(&f->shared->lock);
    uint64_t done = mmi_cursor_count(&f->cursor->cursor, first, last);
    pthread_mutex_unlock(&f->shared->lock);
    return done;
}

static void
feed_tell_lost(mm_feed *f, mmi_socket *s, mmi_drop_why why, uint64_t count)
{
    pthread_mutex_lock(&f->lock);
    *(why == MMI_DROP_REMOVED ? &f->counts.removed : &f->counts.harmed) += count;
    pthread_mutex_unlock(&f->lock);
    mmi_drop_count(&s->host, why, 0, count);
    mmi_finish_look(s);
    mmi_socket_note(s, MM_DRAINED);
}

void
mmi_feed_lost(mm_feed *f, mmi_socket *s, mmi_drop_why why, uint64_t first, uint64_t last)
{
    uint64_t count = last + 1 - first - feed_done_of(f, first, last);
    if (count > 0) { /* else another thread told of them */
        mmi_feed_bury(f, s, first, last);
        feed_tell_lost(f, s, why, count);
    }
}

void
mmi_feed_missed(mm_feed *f, mmi_socket *s, uint64_t first, uint64_t end)
{
    uint64_t count = mmi_spool_shared_cursor_missed(f->shared, f->cursor);
    if (count > 0) {
        if (first < end) {
            mmi_feed_bury(f, s, first, end - 1);
        }
        feed_tell_lost(f, s, MMI_DROP_REMOVED, count);
    }
}

void
mmi_feed_bare(mm_feed *f, uint64_t first)
{
    mmi_socket *s;
    uint64_t from = f->bared > 0 ? f->bared : 1;
    if (f->of_group || first <= from) {
        return;
    }
    f->bared = first;
    uint64_t count = first - from - feed_done_of(f, from, first - 1);
    if (count > 0 && mmi_api_enter(f->socket, &s) == MM_OK) {
        s->host.event(&s->host, MM_EVENT_SPOOL_REMOVED, MM_REASON_NONE, 0, count, fates_bare);
        (void)mmi_api_leave(s, MM_OK);
    }
}

/* What was removed is told, whether it was read or not.  The engine is locked. */
static void
feed_tell_removed(mm_feed *f, mmi_socket *s)
{
    uint64_t first, last = 0;
    mmi_feed_missed(f, s, 1, 0);
    while ((first = mmi_spool_shared_cursor_removed(f->shared, f->cursor, last + 1, &last)) > 0) {
        mmi_feed_lost(f, s, MMI_DROP_REMOVED, first, last);
    }
}

void
mmi_feed_settle(mm_feed *f, bool closes)
{
    mmi_socket *s;
    mmi_spool_shared_cursor_leave(f->shared, f->cursor);
    if (mmi_api_enter(f->socket, &s) == MM_OK) {
        feed_tell_removed(f, s);
        s->host.back->receipts.source.settled = closes;
        (void)mmi_api_leave(s, MM_OK);
    }
}

/* What became of one that is done.  What was never read was removed before. */
static int
feed_outcome(const mm_feed *f, uint64_t seq, uint64_t taken)
{
    uint64_t known = f->odd_count < FEED_ODD_MAX ? f->odd_count : (uint64_t)FEED_ODD_MAX;
    for (uint64_t i = 0; i < known; i++) {
        if (f->odd[i].first <= seq && seq <= f->odd[i].last) {
            return f->odd[i].outcome;
        }
    }
    return seq < taken ? MM_RECEIPT_ACKED : MM_RECEIPT_DROPPED;
}

/* What became of count numbers from first on, as far as that is known. */
static void
feed_known(mm_feed *f, uint64_t first, size_t count, int outcomes[FEED_RUN])
{
    bool done[FEED_RUN] = { false };
    uint64_t taken = 0;
    pthread_mutex_lock(&f->lock);
    if (f->shared != NULL) {
        pthread_mutex_lock(&f->shared->lock);
        taken = f->cursor->cursor.taken;
        for (size_t i = 0; i < count; i++) {
            done[i] = mmi_cursor_is_done(&f->cursor->cursor, first + i);
        }
        pthread_mutex_unlock(&f->shared->lock);
    }
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = done[i] ? feed_outcome(f, first + i, taken) : MM_RECEIPT_OPEN;
    }
    pthread_mutex_unlock(&f->lock);
}

int
mm_feed_receipts(mm_feed *f, uint64_t first, uint64_t count)
{
    int outcomes[FEED_RUN];
    mmi_socket *s;
    int rc = mmi_api_enter(f->socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_receipts *r = &s->host.back->receipts;
    while (rc == MM_OK && count > 0) {
        size_t some = count < FEED_RUN ? (size_t)count : (size_t)FEED_RUN;
        feed_known(f, first, some, outcomes);
        for (size_t i = 0; rc == MM_OK && i < some; i++) {
            rc = mmi_receipts_open_number(r, first + i);
            if (rc == MM_OK && outcomes[i] != MM_RECEIPT_OPEN) {
                mmi_receipts_tell(r, first + i, outcomes[i]);
            }
        }
        first += some;
        count -= some;
    }
    return mmi_api_leave(s, rc);
}
