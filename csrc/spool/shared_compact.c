/*
 * spool/shared_compact.c: see spool/shared_compact.h.
 */
#include "spool/shared_compact.h"

#include <string.h>

#include "spool/fed.h"

static const uint64_t COMPACT_PPM = 1000000;

/* Names of cursors that sockets have, or had. */
typedef struct compact_feeds {
    char (*names)[MMI_CURSOR_NAME_MAX + 1];
    uint32_t count, cap;
    int rc;
} compact_feeds;

enum { FEEDS_FIRST = 8 /* that there is room for at first */ };

static void
feeds_each(void *arg, const mmi_entry *entry)
{
    compact_feeds *f = arg;
    if (entry->kind != MMI_ENTRY_FILE || f->rc != MM_OK ||
        mmi_cursor_check_name(entry->name) != MM_OK) {
        return;
    }
    if (f->count == f->cap) {
        uint32_t cap = f->cap > 0 ? 2 * f->cap : (uint32_t)FEEDS_FIRST;
        char (*grown)[MMI_CURSOR_NAME_MAX + 1] = mmi_realloc(f->names, cap * sizeof *grown);
        if (grown == NULL) {
            f->rc = MM_ENOMEM;
            return;
        }
        f->names = grown;
        f->cap = cap;
    }
    memcpy(f->names[f->count++], entry->name, strlen(entry->name) + 1);
}

/* All that cursor is done with, and a crash would not change that; with the lock, which is given up
 * for one that nobody has open.  UINT64_MAX: there is no such cursor. */
static uint64_t
hold_floor(mmi_spool_shared *h, const char *name)
{
    const mmi_spool_cursor *c = mmi_spool_cursors_find(h, name);
    if (c != NULL && c->moving) {
        return 0; /* what it says nobody knows now */
    }
    if (c != NULL) {
        bool lower = c->cursor.saved_floor < c->cursor.floor;
        return lower ? c->cursor.saved_floor : c->cursor.floor;
    }
    mmi_cursor look;
    const mmi_cursor_spool spool = { h->spool.uuid, mmi_spool_first(&h->spool), h->spool.last_seq };
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_cursor_look(&look, &h->files, h->dir, name, &spool);
    uint64_t floor = rc == MM_OK ? look.saved_floor : rc == MM_ENOENT ? UINT64_MAX : 0;
    if (rc == MM_OK) {
        mmi_cursor_close(&look);
    }
    pthread_mutex_lock(&h->lock);
    return floor;
}

/* The first number that is held; UINT64_MAX: none is.  Or an error. */
static int
hold_find(mmi_spool_shared *h, uint64_t *held)
{
    compact_feeds f = { .rc = MM_OK };
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_fed_list(&h->files, h->dir, feeds_each, &f);
    pthread_mutex_lock(&h->lock);
    rc = rc < 0 ? rc : f.rc;
    *held = UINT64_MAX;
    for (uint32_t i = 0; i < f.count && rc == MM_OK; i++) {
        uint64_t floor = hold_floor(h, f.names[i]);
        *held = floor < *held ? floor + 1 : *held;
    }
    mmi_free(f.names);
    for (const mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        uint64_t floor = c->fed ? hold_floor(h, c->name) : UINT64_MAX;
        *held = floor < *held ? floor + 1 : *held;
    }
    (void)mmi_spool_keep_end(&h->keep, mmi_thread_now_ns());
    uint64_t leased = mmi_spool_keep_leased(&h->keep);
    *held = leased < *held ? leased : *held;
    if (h->spool.producers.count > 0) { /* who put what goes is known without it */
        *held = h->spool.listed_seq < *held ? h->spool.listed_seq + 1 : *held;
    }
    *held = h->compaction.held_seq < *held ? h->compaction.held_seq : *held;
    return rc;
}

/* Is so much of the first files not clean? */
static bool
compact_due(const mmi_spool_shared *h, uint32_t files)
{
    const mmi_spool *s = &h->spool;
    uint64_t all = 0, dirty = 0;
    for (uint32_t i = 0; i < files; i++) {
        all += s->ends[i];
        dirty += s->bases[i + 1] > s->clean_seq ? s->ends[i] : 0;
    }
    return dirty > 0 &&
           (double)dirty * (double)COMPACT_PPM >= (double)all * (double)h->compaction.ratio_ppm;
}

/* All up to there is clean, and the state says so: without that it is found out again. */
static void
compact_note(mmi_spool_shared *h, uint64_t clean_seq)
{
    mmi_spool *s = &h->spool;
    while (s->busy) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    if (s->failed || s->clean_seq == clean_seq) {
        return;
    }
    s->clean_seq = clean_seq;
    s->busy = true;
    uint64_t durable_seq = s->durable_seq;
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_spool_note(s, durable_seq);
    pthread_mutex_lock(&h->lock);
    s->busy = false;
    s->noted_seq = rc == MM_OK ? durable_seq : s->noted_seq;
    s->failed = s->failed || rc != MM_OK; /* what the state says nobody knows now */
}

/* A pass is over, or none was needed. */
static void
compact_over(mmi_spool_shared *h, int rc)
{
    mmi_spool_compaction *c = &h->compaction;
    if (c->active) {
        const mmi_compact *p = &c->pass;
        uint64_t clean = mmi_compact_clean(p);
        if (rc == MM_OK && (p->skipped_seq != UINT64_MAX || clean > h->spool.clean_seq)) {
            compact_note(h, clean);
        }
        c->did = (mmi_spool_compacted){ .messages = p->counts.messages,
                                        .tombstones = p->counts.tombstones,
                                        .written = p->counts.written,
                                        .merged = p->counts.merged,
                                        .skipped = p->counts.skipped,
                                        .held = c->files_held,
                                        .bytes = c->bytes };
        h->counts.compacted_messages += p->counts.messages;
        h->counts.compacted_files += p->counts.written + p->counts.merged;
        mmi_compact_end(&c->pass);
    } else {
        c->did = (mmi_spool_compacted){ .held = c->files_held };
    }
    c->ended += c->active || c->asked; /* else it was looked at, and none was due */
    c->active = false;
    c->rc = rc;
    pthread_cond_broadcast(&h->done);
    pthread_cond_signal(&h->work); /* cursors may stand where something went */
}

/* Begins a pass, if there is something to do; asked: also to look for tombstones alone.  Nobody
 * else is at it. */
static void
compact_begin(mmi_spool_shared *h, bool asked)
{
    mmi_spool_compaction *c = &h->compaction;
    mmi_spool *s = &h->spool;
    uint64_t held;
    c->stepping = true;
    c->held_seq = UINT64_MAX;
    int rc = hold_find(h, &held);
    uint32_t sealed = s->file_count - 1, files = 0;
    while (files < sealed && s->bases[files + 1] <= held) {
        files++;
    }
    c->looked_base = s->file.head.base_seq;
    c->files_held = sealed - files;
    c->limited = files < sealed;
    c->asked = asked;
    c->bytes = 0;
    const mmi_compact_plan plan = { .bases = s->bases,
                                    .count = files,
                                    .end = s->bases[files],
                                    .clean_seq = s->clean_seq,
                                    .merge_bytes = s->opts.file_bytes / MMI_SPOOL_FILES_A_LIMIT,
                                    .now_us = s->opts.now_us(s->opts.arg),
                                    .tombstone_us = c->tombstone_us };
    bool some = rc == MM_OK && !s->failed && files > 0 && (asked || compact_due(h, files));
    if (some) {
        rc = mmi_compact_begin(&c->pass, s, &plan);
        c->active = true;
    }
    if (!some || rc != MM_OK) {
        compact_over(h, s->failed ? MM_EIO : rc);
    }
    c->stepping = false;
}

/* What was written takes its place, unless it is held by now, or was trimmed. */
static int
compact_commit(mmi_spool_shared *h)
{
    mmi_spool_compaction *c = &h->compaction;
    mmi_spool *s = &h->spool;
    mmi_compact_names names = { .named = false };
    uint32_t at;
    while (s->busy) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    uint64_t behind = c->pass.bases[c->pass.group.first + c->pass.group.count];
    uint64_t leased = mmi_spool_keep_leased(&h->keep);
    uint64_t held = leased < c->held_seq ? leased : c->held_seq;
    if (behind > held || !mmi_compact_commit_plan(&c->pass, s, &at)) {
        bool gone = behind <= mmi_spool_first(s);
        pthread_mutex_unlock(&h->lock);
        mmi_compact_committed(&c->pass, gone ? MMI_COMPACT_GONE : MMI_COMPACT_LEFT);
        pthread_mutex_lock(&h->lock);
        return MM_OK;
    }
    s->busy = h->dropping = true;
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_compact_commit_run(&c->pass, &names);
    pthread_mutex_lock(&h->lock);
    uint64_t before = s->sealed_bytes;
    mmi_compact_commit_done(&c->pass, s, at, &names);
    c->bytes += before > s->sealed_bytes ? before - s->sealed_bytes : 0;
    s->busy = h->dropping = false;
    s->wants_spare |= s->no_spare;
    c->failed = rc;
    pthread_mutex_unlock(&h->lock);
    mmi_compact_committed(&c->pass,
                          names.named && rc == MM_OK ? MMI_COMPACT_TAKEN : MMI_COMPACT_LEFT);
    pthread_mutex_lock(&h->lock);
    pthread_cond_signal(&h->work);
    pthread_cond_broadcast(&h->done);
    mmi_spool_watches_tell(h);
    return rc;
}

/* Was a file trimmed that was not there, or did somebody else remove it?  The list says so, once
 * nobody removes files. */
static void
compact_absent(mmi_spool_shared *h)
{
    mmi_compact *c = &h->compaction.pass;
    if (c->absent.base == 0) {
        return;
    }
    while (h->dropping) {
        mmi_thread_wait(&h->done, &h->lock, UINT64_MAX);
    }
    mmi_compact_absent(c, c->absent.base >= mmi_spool_first(&h->spool));
}

/* One step of the pass that goes on; nobody else is at it. */
static void
compact_step(mmi_spool_shared *h)
{
    mmi_spool_compaction *c = &h->compaction;
    c->stepping = true;
    pthread_mutex_unlock(&h->lock);
    int rc = mmi_compact_step(&c->pass);
    pthread_mutex_lock(&h->lock);
    compact_absent(h);
    if (rc >= 0 && c->pass.state == MMI_COMPACT_COMMIT) {
        rc = compact_commit(h);
    }
    if (rc < 0 || c->pass.state == MMI_COMPACT_DONE) {
        compact_over(h, rc < 0 ? rc : MM_OK);
    }
    c->stepping = false;
    pthread_cond_broadcast(&h->done); /* whoever waits for its turn */
}

int
mmi_spool_shared_compact(mmi_spool_shared *h, const mmi_spool_wait *wait, uint64_t *until,
                         mmi_spool_compacted *did)
{
    mmi_spool_compaction *c = &h->compaction;
    uint64_t slice_end = wait->slice_ns > 0 ? mmi_thread_now_ns() + wait->slice_ns : UINT64_MAX;
    int rc = MM_OK;
    pthread_mutex_lock(&h->lock);
    if (*until == 0) { /* what goes on began before this call */
        *until = c->ended + (c->active || c->stepping ? 2 : 1);
    }
    while (c->ended < *until && rc == MM_OK) {
        uint64_t end = slice_end < wait->deadline_ns ? slice_end : wait->deadline_ns;
        if (c->failed != MM_OK || h->spool.failed) {
            rc = MM_EIO;
            break;
        }
        if (c->stepping) {
            mmi_thread_wait(&h->done, &h->lock, end);
        } else if (c->active) {
            compact_step(h);
        } else {
            compact_begin(h, true);
        }
        uint64_t now = mmi_thread_now_ns();
        rc = c->ended >= *until         ? MM_OK
             : now >= wait->deadline_ns ? MM_ETIMEDOUT
             : now >= slice_end         ? MM_EINTR
                                        : MM_OK;
    }
    if (c->ended >= *until) {
        *did = c->did;
        rc = c->rc;
    }
    if (c->active) {
        pthread_cond_signal(&h->work); /* the spool's own thread goes on with it */
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

/* When it is to be looked at whether a pass is due. */
static uint64_t
compact_look_at(const mmi_spool_shared *h)
{
    const mmi_spool_compaction *c = &h->compaction;
    const mmi_spool *s = &h->spool;
    if (c->ratio_ppm == 0 || c->failed != MM_OK || s->failed || s->file_count < 2 || c->stepping) {
        return UINT64_MAX;
    }
    bool news = s->file.head.base_seq != c->looked_base;
    bool due = (news || c->limited) && compact_due(h, s->file_count - 1);
    return !due ? UINT64_MAX : news ? 0 : c->looked_ns + MMI_SPOOL_SWEEP_NS;
}

uint64_t
mmi_spool_compact_at(const mmi_spool_shared *h, uint64_t now_ns)
{
    const mmi_spool_compaction *c = &h->compaction;
    if (c->active) {
        return c->stepping ? UINT64_MAX : now_ns;
    }
    uint64_t at = compact_look_at(h);
    return at < now_ns ? now_ns : at;
}

bool
mmi_spool_compact_on(mmi_spool_shared *h, uint64_t now_ns)
{
    if (mmi_spool_compact_at(h, now_ns) > now_ns) {
        return false;
    }
    if (h->compaction.active) {
        compact_step(h);
    } else {
        h->compaction.looked_ns = now_ns;
        compact_begin(h, false);
    }
    return true;
}

void
mmi_spool_compact_end(mmi_spool_shared *h)
{
    if (h->compaction.active) {
        mmi_compact_end(&h->compaction.pass);
        h->compaction.active = false;
    }
}
