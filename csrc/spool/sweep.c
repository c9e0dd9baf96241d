/*
 * spool/sweep.c: what the thread of a spool does beside writing: it saves cursors, and removes
 * files.
 *
 * Not here: what may go (spool/keep.h), how it goes (spool/trim.c).
 * Law: one thread, with the lock of the spool, which is given up while the disk works.
 */
#include "spool/shared_compact.h"

static const uint64_t SWEEP_LOOK_NS =
    UINT64_C(60000000000); /* until the wall clock is looked at again: it may be set */
static const uint64_t SWEEP_NS_PER_US = 1000;

/* Does anything go by itself? */
static bool
sweep_some(const mmi_spool_shared *h)
{
    const mmi_spool *s = &h->spool;
    return (h->keep.max_age_us > 0 || h->acked_by_count > 0) && !s->failed &&
           (s->file_count > 1 || mmi_spool_one_is_full(s));
}

/* When that cursor is to be saved; 0: at once; UINT64_MAX: it needs not. */
static uint64_t
sweep_save_at(const mmi_spool_shared *h, const mmi_spool_cursor *c)
{
    bool dirty = !c->moving && !c->saving && c->failed == MM_OK &&
                 mmi_cursor_dirty(&c->cursor, h->spool.durable_seq);
    if (!dirty) {
        return UINT64_MAX;
    }
    return mmi_spool_cursors_make_room(h, c) ? 0 : c->saved_ns + MMI_SPOOL_SAVE_NS;
}

/* When the last file is too old for more; UINT64_MAX: it is not to be, or another one is wanted. */
static uint64_t
sweep_age_at(const mmi_spool_shared *h, uint64_t now_ns)
{
    const mmi_spool *s = &h->spool;
    if (s->opts.segment_age_us == 0 || s->wants_roll) {
        return UINT64_MAX;
    }
    uint64_t in_us = mmi_spool_ages(s, s->opts.now_us(s->opts.arg));
    if (in_us == UINT64_MAX) {
        return UINT64_MAX;
    }
    if (in_us == 0) { /* again only so much later, where there was no room for it */
        uint64_t again = h->aged_ns > 0 ? h->aged_ns + MMI_SPOOL_SWEEP_NS : 0;
        return again > now_ns ? again : now_ns;
    }
    bool soon = in_us < SWEEP_LOOK_NS / SWEEP_NS_PER_US;
    return now_ns + (soon ? in_us * SWEEP_NS_PER_US : SWEEP_LOOK_NS);
}

/* What there is to do whatever may go: a file that is too old for more, compaction, and cursors
 * that stand before what it took. */
static uint64_t
sweep_more_at(const mmi_spool_shared *h, uint64_t now_ns)
{
    uint64_t at = sweep_age_at(h, now_ns), compact = mmi_spool_compact_at(h, now_ns);
    uint64_t passed = mmi_spool_hole_at(h, now_ns);
    at = compact < at ? compact : at;
    return passed < at ? passed : at;
}

static bool
sweep_more(mmi_spool_shared *h, uint64_t now_ns)
{
    if (sweep_age_at(h, now_ns) <= now_ns) {
        h->aged_ns = now_ns;
        h->spool.wants_roll = true;
        return true;
    }
    if (mmi_spool_hole_at(h, now_ns) <= now_ns) {
        return mmi_spool_hole_pass(h, now_ns);
    }
    return mmi_spool_compact_on(h, now_ns);
}

/* When files may go, or a cursor is to be saved. */
static uint64_t
sweep_at(mmi_spool_shared *h, uint64_t now_ns)
{
    uint64_t at = UINT64_MAX;
    for (const mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        uint64_t save_at = sweep_save_at(h, c);
        at = save_at < at ? save_at : at;
    }
    h->sweep_wanted |= mmi_spool_keep_end(&h->keep, now_ns);
    if (!sweep_some(h)) {
        return at;
    }
    if (h->sweep_wanted || h->swept_files != h->spool.file_count) {
        return now_ns;
    }
    uint64_t over = mmi_spool_keep_lease_end(&h->keep);
    uint64_t look = h->keep.max_age_us > 0 ? h->swept_ns + MMI_SPOOL_SWEEP_NS : UINT64_MAX;
    at = over < at ? over : at;
    return look < at ? look : at;
}

uint64_t
mmi_spool_sweep_at(mmi_spool_shared *h, uint64_t now_ns)
{
    uint64_t at = sweep_at(h, now_ns), more = sweep_more_at(h, now_ns);
    return more < at ? more : at;
}

/* All of them are done with it, and a crash would not change that; a cursor that is not there is
 * done with nothing. */
static uint64_t
sweep_acked(const mmi_spool_shared *h)
{
    uint64_t acked = UINT64_MAX;
    for (uint32_t i = 0; i < h->acked_by_count; i++) {
        const mmi_spool_cursor *c = mmi_spool_cursors_find(h, h->acked_by[i]);
        uint64_t floor = 0;
        if (c != NULL && !c->moving) {
            floor = mmi_spool_cursor_acked(c);
        }
        acked = floor < acked ? floor : acked;
    }
    return h->acked_by_count > 0 ? acked : 0;
}

/* Up to which number files are too old.  Their heads say when they were begun. */
static uint64_t
sweep_old(mmi_spool_shared *h)
{
    uint64_t bases[MMI_SPOOL_SWEEP_FILES], made_us[MMI_SPOOL_SWEEP_FILES];
    const mmi_spool *s = &h->spool;
    const mmi_spool_place place = s->place;
    uint32_t count = 0;
    for (; count < MMI_SPOOL_SWEEP_FILES && count + 1 < s->file_count; count++) {
        bases[count] = s->bases[count + 1];
        made_us[count] = count + 2 == s->file_count ? s->file.head.made_us : 0;
    }
    uint64_t wall_us = h->keep.wall_us, age_us = h->keep.max_age_us;
    bool young = false; /* the rest is younger still, and need not be read */
    pthread_mutex_unlock(&h->lock);
    for (uint32_t i = 0; i < count && !young; i++) {
        mmi_spool_file f;
        if (made_us[i] == 0 && mmi_spool_file_open(&place, bases[i], false, &f) == MM_OK) {
            made_us[i] = f.head.made_us;
            mmi_spool_file_close(&place, &f);
        }
        young = made_us[i] >= wall_us || (made_us[i] > 0 && wall_us - made_us[i] <= age_us);
    }
    pthread_mutex_lock(&h->lock);
    return mmi_spool_keep_old(&h->keep, bases, made_us, count);
}

/* Up to that number, but for what is leased: how many files, and *messages. */
static uint32_t
sweep_drop(mmi_spool_shared *h, uint64_t seq, uint32_t most, uint64_t *messages)
{
    uint64_t first = mmi_spool_first(&h->spool);
    uint32_t files = seq > 0 && most > 0 ? mmi_spool_shared_drop(h, seq, most, true) : 0;
    *messages += files > 0 ? mmi_spool_first(&h->spool) - first : 0;
    return files;
}

static void
sweep_files(mmi_spool_shared *h, uint64_t now_ns)
{
    mmi_spool *s = &h->spool;
    mmi_spool_counts *counts = &h->counts;
    uint64_t wall_us = s->opts.now_us(s->opts.arg);
    h->sweep_wanted = false;
    h->swept_ns = now_ns;
    mmi_spool_keep_clock(&h->keep, wall_us, now_ns, s->bases[s->file_count / 2]);
    mmi_spool_shared_rest(h); /* a cursor that is sent back meanwhile counts */
    uint32_t acked = sweep_drop(h, sweep_acked(h), MMI_SPOOL_SWEEP_FILES, &counts->acked_messages);
    uint32_t left = MMI_SPOOL_SWEEP_FILES - acked;
    uint64_t old = h->keep.max_age_us > 0 ? sweep_old(h) : 0;
    uint32_t expired = sweep_drop(h, old, left, &counts->expired_messages);
    counts->acked_files += acked;
    counts->expired_files += expired;
    h->sweep_wanted |= acked + expired == MMI_SPOOL_SWEEP_FILES; /* there may be more */
    h->swept_files = s->file_count;
}

bool
mmi_spool_sweep(mmi_spool_shared *h, uint64_t now_ns)
{
    for (mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        if (sweep_save_at(h, c) <= now_ns) {
            (void)mmi_spool_cursors_save(h, c); /* whoever has it is told */
            return true;
        }
    }
    if (sweep_some(h) && sweep_at(h, now_ns) <= now_ns) {
        sweep_files(h, now_ns);
        return true;
    }
    return sweep_more(h, now_ns);
}
