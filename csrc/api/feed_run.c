/*
 * api/feed_run.c: the thread of a feed: reads the messages of a spool that are not done, and gives
 * them to the socket.
 *
 * What waits for its time is put aside, and read again then; so it holds up nobody.
 * Not here: what becomes of a message (api/feed_fates.c).  Law: no lock is held while the disk
 * works; the engine's is let go of while the socket has no room.
 */
#include <stdlib.h>
#include <string.h>

#include "api/feed_form.h"

#include "base/octets.h"
#include "queue/drop.h"
#include "queue/expiry.h"
#include "queue/route.h"

enum { FEED_SLICE_MS = 100 }; /* milliseconds that a wait for room takes at most */
static const uint64_t FEED_LOOK_NS =
    1000000000; /* until the wall clock is looked at again: it may be set */
static const uint64_t FEED_RETRY_NS = 10000000; /* until what found no memory is tried again */
static const uint64_t FEED_NS_PER_US = 1000;

static bool
run_stops(mm_feed *f)
{
    pthread_mutex_lock(&f->lock);
    bool stop = f->stop;
    pthread_mutex_unlock(&f->lock);
    return stop;
}

static void
run_fails(mm_feed *f, int rc, uint64_t first, uint64_t last)
{
    pthread_mutex_lock(&f->lock);
    mmi_feed_fail(f, rc, first, last);
    pthread_mutex_unlock(&f->lock);
}

/* It reads on no further, if that is so; who looks is told why, once.  What was read goes on. */
static bool
run_failed(mm_feed *f)
{
    pthread_mutex_lock(&f->lock);
    const mm_feed_info counts = f->counts;
    bool told = f->told;
    f->told = counts.failed != MM_OK;
    pthread_mutex_unlock(&f->lock);
    if (counts.failed != MM_OK && !told) {
        mmi_spool_stopped(f->socket, counts.failed, counts.failed_first, counts.failed_last,
                          "the disk of its spool failed");
    }
    return counts.failed != MM_OK;
}

/* Those from `first` to `last` are lost, and will never be sent. */
static void
run_lost(mm_feed *f, mmi_drop_why why, uint64_t first, uint64_t last)
{
    mmi_socket *s;
    if (mmi_api_enter(f->socket, &s) == MM_OK) {
        mmi_feed_lost(f, s, why, first, last);
        (void)mmi_api_leave(s, MM_OK);
    }
}

/* What was removed before it was read: up to before that number. */
static void
run_missed(mm_feed *f, uint64_t end)
{
    mmi_socket *s;
    if (mmi_api_enter(f->socket, &s) == MM_OK) {
        mmi_feed_missed(f, s, f->reader.next_seq, end);
        (void)mmi_api_leave(s, MM_OK);
    }
}

/* Its time was over before there was room for it.  It is the socket's then. */
static bool
run_expires(mmi_socket *s, mmi_msg *m)
{
    bool over =
        mmi_expires(m) && m->meta->expires_ns <= s->engine->plat.wall_ns(s->engine->plat.self);
    if (over) {
        s->host.expired(&s->host, NULL, m);
        mmi_socket_expired(s, NULL, 1);
    }
    return over;
}

/* One that cannot be sent with such a socket at all. */
static void
run_refused(mm_feed *f, mmi_socket *s, mmi_feed_form *run, mmi_drop_why why)
{
    uint64_t seq = run->seqs[run->sent];
    pthread_mutex_lock(&f->lock);
    f->counts.refused++;
    f->in_flight--;
    pthread_mutex_unlock(&f->lock);
    mmi_feed_bury(f, s, seq, seq);
    mmi_drop_count(&s->host, why, 0, 1);
    mmi_msg_unref(run->entries[run->sent]);
    mmi_finish_look(s);
    mmi_socket_note(s, MM_DRAINED);
}

/* One message of its own.  As mmi_api_feed_locked. */
static int
run_send_message(mmi_socket *s, mmi_msg *m)
{
    mmi_api_wait never = mmi_api_wait_of(0, 0);
    uint32_t levels = s->opts.priorities > 1 ? s->opts.priorities : 1;
    if (m->origin.attempt == FEED_SPENT) {
        mmi_feed_letter(s, m);
        return MM_OK;
    }
    m->priority = m->priority < levels ? m->priority : (uint8_t)(levels - 1);
    return run_expires(s, m) ? MM_OK : mmi_api_feed_locked(s, m, &never);
}

/* One more entry is sent, or cannot be.  MM_OK: go on; MM_EAGAIN: it waited; MM_ECLOSED. */
static int
run_send_one(mm_feed *f, mmi_socket *s, mmi_feed_form *run)
{
    mmi_api_wait slice = mmi_api_wait_of(FEED_SLICE_MS, 0);
    bool segment = run->entries[run->sent]->kind == MMI_MSG_SEGMENT_OUT;
    int rc =
        segment ? mmi_feed_form_send_segment(run, s) : run_send_message(s, run->entries[run->sent]);
    if (segment && rc == MM_ENOTSUP) {
        rc = mmi_feed_form_open(run);
        if (rc == MM_OK) {
            return rc;
        }
    }
    if (rc == MM_EMSGSIZE || rc == MM_ENOTSUP || rc == MM_EINVAL) {
        run_refused(f, s, run, rc == MM_EMSGSIZE ? MMI_DROP_TOO_LARGE : MMI_DROP_UNENCODABLE);
        rc = MM_OK;
    } else if (rc == MM_EAGAIN || rc == MM_ENOMEM) {
        rc = mmi_api_wait_for(s, &slice, MMI_ROOM | MM_PEERS, 0);
        return rc == MM_ECLOSED ? rc : MM_EAGAIN;
    }
    run->sent += rc == MM_OK;
    return rc;
}

static int
run_compare(const void *one, const void *other)
{
    uint64_t a, b;
    memcpy(&a, one, sizeof a);
    memcpy(&b, other, sizeof b);
    return a < b ? -1 : a > b;
}

/* Those were removed; what is in a row is lost at once. */
static void
run_lost_each(mm_feed *f, uint64_t *seqs, size_t count)
{
    qsort(seqs, count, sizeof *seqs, run_compare);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && seqs[next] == seqs[next - 1] + 1; next++) {
        }
        run_lost(f, MMI_DROP_REMOVED, seqs[i], seqs[next - 1]);
    }
}

/* Those that wait to be sent again, and were removed. */
static void
run_sweep(mm_feed *f, uint64_t first)
{
    uint64_t seqs[FEED_SWEEP];
    size_t count = FEED_SWEEP;
    while (f->swept < first && count == FEED_SWEEP) {
        pthread_mutex_lock(&f->lock);
        count = mmi_feed_take_below(f, first, seqs, FEED_SWEEP);
        pthread_mutex_unlock(&f->lock);
        run_lost_each(f, seqs, count);
    }
    f->swept = first;
}

/* What is done is passed over, and so is what was removed, which is told. */
static void
run_pass(mm_feed *f)
{
    mmi_spool_reader *r = &f->reader;
    mmi_spool_passed p;
    mmi_spool_shared_cursor_pass(f->shared, f->cursor, r->next_seq, &p);
    if (p.missed > 0) {
        run_missed(f, p.first);
    }
    run_sweep(f, p.first);
    mmi_feed_bare(f, p.first);
    if (p.next > r->next_seq) {
        mmi_spool_reader_seek(r, p.next);
    }
}

/* Did a full spool not keep some?  Then that is told as of a full queue. */
static void
run_look_unkept(mm_feed *f)
{
    mmi_socket *s;
    uint64_t count = f->of_group ? f->unkept : mmi_feed_unkept(f), more = count - f->unkept;
    if (more == 0 || mmi_api_enter(f->socket, &s) != MM_OK) {
        return;
    }
    f->unkept = count;
    mmi_drop_count(&s->host, MMI_DROP_UNKEPT, 0, more);
    (void)mmi_api_leave(s, MM_OK);
}

/* All of them, in their order; fewer when it is to stop.  false: the socket is gone. */
static bool
run_send(mm_feed *f, mmi_feed_form *run)
{
    while (run->sent < run->count && !run_stops(f)) {
        mmi_socket *s;
        int rc = mmi_api_enter(f->socket, &s);
        if (rc != MM_OK) {
            return false;
        }
        mmi_engine *e = s->engine;
        while (rc == MM_OK && run->sent < run->count) {
            rc = run_send_one(f, s, run);
        }
        (void)mmi_api_end(e, rc);
        if (rc == MM_ECLOSED) {
            return false;
        }
        run_pass(f); /* there may be no room for long, and files go meanwhile */
        run_look_unkept(f);
    }
    return true;
}

/* What was not sent goes again, or with the next life. */
static void
run_end(mm_feed *f, mmi_feed_form *run)
{
    pthread_mutex_lock(&f->lock);
    for (size_t i = run->sent; i < run->count; i++) {
        mmi_msg *m = run->entries[i];
        f->in_flight -= m->count;
        for (uint32_t k = 0; k < m->count; k++) {
            mmi_feed_add(f, (feed_later){ .seq = run->seqs[i] + k,
                                          .spent = m->origin.attempt == FEED_SPENT });
        }
        mmi_msg_unref(m);
    }
    pthread_mutex_unlock(&f->lock);
}

/* What receivers know that life of the spool by. */
static uint64_t
run_life(const mm_feed *f, uint32_t epoch)
{
    return mmi_route_life(f->shared->spool.uuid, epoch);
}

/* So many joined the run, and are in flight from now on; and these wait. */
static void
run_aside(mm_feed *f, size_t joined, const feed_later *waits, size_t count)
{
    pthread_mutex_lock(&f->lock);
    f->in_flight += joined;
    for (size_t i = 0; i < count; i++) {
        mmi_feed_add(f, waits[i]);
    }
    pthread_mutex_unlock(&f->lock);
}

/* What is harmed is left out: up to there. */
static void
run_skip(mm_feed *f, mmi_spool_reader *r, uint64_t last)
{
    run_lost(f, MMI_DROP_HARMED, r->next_seq, last);
    mmi_spool_reader_seek(r, last + 1);
}

/* What compaction removed is done.  From that number to before the one that the reader is at. */
static void
run_compacted(mm_feed *f, uint64_t first)
{
    if (first < f->reader.next_seq) {
        int rc = mmi_spool_shared_cursor_done(f->shared, f->cursor, first, f->reader.next_seq - 1);
        (void)rc; /* MM_ENOMEM, or it could not be saved: the spool's own thread passes it */
    }
}

/* Has the reader a batch?  1; 0: nothing there, for now; MM_ENOENT: it was removed; MM_EAGAIN:
 * it was harmed, which is told; MM_ENOMEM; else it failed, which is told. */
static int
run_load(mm_feed *f, mmi_spool_reader *r)
{
    mmi_spool_where where;
    uint64_t from = r->next_seq;
    int rc = mmi_spool_shared_load(f->shared, r, &where);
    uint64_t first = r->next_seq;
    bool ahead = r == &f->reader; /* else it is about that one message */
    if (ahead) {
        run_compacted(f, from);
    }
    uint64_t last = ahead ? r->lost_last : first;
    if (rc == MMI_SPOOL_HARMED && f->shared->spool.opts.gaps) {
        run_skip(f, r, last);
        return MM_EAGAIN;
    }
    if (rc < 0 && rc != MM_ENOENT && rc != MM_ENOMEM) {
        run_fails(f, rc, first, rc == MMI_SPOOL_HARMED ? last : first);
    }
    return rc;
}

/* May more be read?  MM_OK: from `next` on; MM_EAGAIN: too many wait; MM_ENOMEM. */
static int
run_begin(mm_feed *f)
{
    run_pass(f);
    pthread_mutex_lock(&f->lock);
    uint64_t floor = mmi_spool_shared_cursor_next(f->shared, f->cursor, 1);
    bool full =
        f->again_count >= FEED_AGAIN_MAX || f->reader.next_seq - floor >= (uint64_t)FEED_SPAN_MAX;
    int rc = full ? MM_EAGAIN : mmi_feed_reserve(f, FEED_RUN);
    f->blocked = full;
    pthread_mutex_unlock(&f->lock);
    return rc;
}

/* What was read and is not done joins the run, or waits.  MM_ENOMEM: there was none for one, and it
 * waits with what is behind it. */
static int
run_sort(mm_feed *f, mmi_feed_form *run, mmi_feed_read *read, uint64_t now_us)
{
    feed_later waits[FEED_RUN];
    size_t count = 0, before = run->messages;
    uint64_t life = run_life(f, f->reader.scan.batch.epoch);
    int rc = MM_OK;
    mmi_feed_form_shape(run, f, read, now_us);
    for (size_t i = 0; i < read->count; i++) {
        const mmi_spool_record *r = &read->records[i];
        uint64_t seq = read->seqs[i];
        bool later = r->due_us > now_us;
        if (read->done[i]) {
            continue;
        }
        rc = rc == MM_OK && !later ? mmi_feed_form_join(run, read, i, life) : rc;
        if (rc != MM_OK || later) {
            waits[count++] = (feed_later){ .due_us = later ? r->due_us : 0, .seq = seq };
        }
    }
    run_aside(f, run->messages - before, waits, count);
    return rc;
}

/* The next messages in their order.  1: go on; 0: there are none for now; MM_EAGAIN: too many
 * wait; MM_ENOMEM; or it failed. */
static int
run_read(mm_feed *f, mmi_feed_form *run, uint64_t now_us)
{
    mmi_spool_reader *r = &f->reader;
    mmi_feed_read read;
    size_t n = 0;
    int rc = run_begin(f);
    rc = rc == MM_OK ? run_load(f, r) : rc;
    if (rc != 1) { /* what was removed is passed over, once the cursor says so */
        return rc == MM_ENOENT || (rc == MM_EAGAIN && !f->blocked) ? 1 : rc;
    }
    while (n < FEED_RUN && (rc = mmi_spool_reader_next(r, &read.records[n], &read.seqs[n])) == 1) {
        run_compacted(f, read.seqs[n] + 1);
        n++;
    }
    read.count = mmi_spool_shared_cursor_take(f->shared, f->cursor, read.seqs, n, read.done);
    int sorted = run_sort(f, run, &read, now_us);
    if (read.count < n) { /* it was removed */
        mmi_spool_reader_seek(r, read.seqs[read.count]);
    } else if (rc < 0 && sorted == MM_OK) { /* else it is read again */
        run_fails(f, rc, r->next_seq, r->next_seq);
    }
    return sorted == MM_OK || run->count > 0 ? 1 : sorted;
}

/* One that is to be sent now, wherever it is.  MM_OK: it joined the run, or is gone, which was
 * told; MM_ENOMEM. */
static int
run_find(mm_feed *f, mmi_feed_form *run, uint64_t seq, bool spent)
{
    mmi_spool_reader *r = &f->seeker;
    mmi_spool_record record;
    uint64_t found = 0;
    mmi_spool_reader_seek(r, seq);
    int rc = run_load(f, r);
    rc = rc == 1 ? mmi_spool_reader_next(r, &record, &found) : rc;
    if (rc == 1 && found == seq) {
        rc = mmi_feed_form_add(run, &record, seq, run_life(f, r->scan.batch.epoch));
        if (rc == MM_OK && spent) {
            run->entries[run->count - 1]->origin.attempt = FEED_SPENT;
        }
        return rc;
    }
    if (rc == MM_ENOENT || ((rc == 1 || rc == 0) && r->next_seq > seq)) {
        run_lost(f, MMI_DROP_REMOVED, seq, seq);
    }
    return rc == MM_ENOMEM ? rc : MM_OK;
}

/* Those that are to be sent again, or whose time has come, as many as the run has room for.  1:
 * some were looked at; 0: there are none; MM_ENOMEM. */
static int
run_seek(mm_feed *f, mmi_feed_form *run, uint64_t now_us)
{
    uint64_t seqs[FEED_RUN], letters_at = 0;
    bool done[FEED_RUN], spent[FEED_RUN], letters = false;
    feed_later waits[FEED_RUN], one;
    size_t count = 0, at = 0, waiting = 0, before = run->messages;
    int rc = MM_OK;
    pthread_mutex_lock(&f->lock);
    while (run->messages + count < FEED_RUN && mmi_feed_take(f, now_us, &one)) {
        letters |= spent[count] = one.spent;
        seqs[count++] = one.seq;
    }
    pthread_mutex_unlock(&f->lock);
    letters_at = letters ? mmi_feed_letters_at(f) : 0;
    while (rc == MM_OK && at < count) {
        size_t end = at + mmi_spool_shared_cursor_take(f->shared, f->cursor, seqs + at, count - at,
                                                       done + at);
        for (; rc == MM_OK && at < end; at += rc == MM_OK) {
            if (!done[at] && spent[at] && letters_at > 0) {
                waits[waiting++] = (feed_later){ letters_at, seqs[at], true };
            } else {
                rc = done[at] ? MM_OK : run_find(f, run, seqs[at], spent[at]);
            }
        }
        if (rc == MM_OK && at < count) {
            run_lost(f, MMI_DROP_REMOVED, seqs[at], seqs[at]);
            at++;
        }
    }
    for (; at < count; at++) {
        waits[waiting++] = (feed_later){ .seq = seqs[at], .spent = spent[at] };
    }
    run_aside(f, run->messages - before, waits, waiting);
    return rc != MM_OK ? rc : count > 0;
}

/* Until there is something to do; rc: why nothing was. */
static void
run_rest(mm_feed *f, uint64_t wakes, int rc)
{
    uint64_t now = mmi_thread_now_ns(), wall_us = mmi_thread_wall_us(NULL);
    mmi_spool_wait wait = { .deadline_ns = rc == MM_ENOMEM ? now + FEED_RETRY_NS : UINT64_MAX };
    pthread_mutex_lock(&f->lock);
    if (f->again_count > 0) {
        uint64_t due = f->again[0].due_us, in_us = due > wall_us ? due - wall_us : 0;
        bool soon = in_us < FEED_LOOK_NS / FEED_NS_PER_US;
        uint64_t end = now + (soon ? in_us * FEED_NS_PER_US : FEED_LOOK_NS);
        wait.deadline_ns = end < wait.deadline_ns ? end : wait.deadline_ns;
    }
    bool reads = rc == 0 && f->counts.failed == MM_OK;
    pthread_mutex_unlock(&f->lock);
    uint64_t seq = reads ? f->reader.next_seq - 1 : UINT64_MAX;
    if (mmi_spool_shared_watch(f->shared, seq, wakes, &wait) == MM_EIO) {
        run_fails(f, MM_EIO, seq + 1, seq + 1); /* what was put behind it is not durable */
    }
}

void
mmi_feed_run(void *arg)
{
    mm_feed *f = arg;
    for (;;) {
        mmi_feed_form run;
        run.count = run.sent = run.messages = 0;
        run.shape.framing = NULL;
        uint64_t wakes = mmi_spool_shared_wakes(f->shared), now_us = mmi_feed_clock(f);
        if (run_stops(f)) {
            break;
        }
        bool failed = run_failed(f);
        run_look_unkept(f);
        int rc;
        while ((rc = run_seek(f, &run, now_us)) == 1) {
        }
        if (run.count == 0 && rc == 0 && !failed) {
            rc = run_read(f, &run, now_us);
        }
        bool there = run_send(f, &run);
        run_end(f, &run);
        if (!there) {
            break;
        }
        if (run.count == 0 && (rc == 0 || rc == MM_EAGAIN || rc == MM_ENOMEM)) {
            run_rest(f, wakes, rc);
        }
    }
}
