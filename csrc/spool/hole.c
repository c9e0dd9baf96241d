/*
 * spool/hole.c: cursors pass what compaction removed: their floor is not to stand before a number
 * that nobody can read any more, and so say that it is done.
 *
 * Who reads with a cursor passes it as he reads (_spool/cursor.py); this is for the others.
 * Law: only a cursor that stood there from one look to the next is looked up, and once for each
 * place and pass; a look reads so much of one file at most.
 */
#include "spool/shared_compact.h"

enum { HOLE_RUNS = 64 /* that are noted at once */ };

/* Numbers that are not there any more. */
typedef struct hole_runs {
    struct {
        uint64_t first, last;
    } run[HOLE_RUNS];
    uint32_t count;
} hole_runs;

/* Is there a number behind its floor that may have gone? */
static bool
hole_may(const mmi_spool_shared *h, const mmi_spool_cursor *c)
{
    const mmi_spool *s = &h->spool;
    if (c->moving || c->saving || c->failed != MM_OK) {
        return false;
    }
    uint64_t next = c->cursor.floor + 1;
    bool known = c->looked == next && c->looked_passes == h->compaction.ended;
    return !known && next < s->file.head.base_seq && next >= s->bases[0];
}

uint64_t
mmi_spool_hole_at(const mmi_spool_shared *h, uint64_t now_ns)
{
    uint64_t at = UINT64_MAX;
    for (const mmi_spool_cursor *c = h->cursors; c != NULL; c = c->next) {
        if (hole_may(h, c)) {
            uint64_t due = c->stood_ns > 0 ? c->stood_ns + MMI_SPOOL_SWEEP_NS : now_ns;
            due = due > now_ns ? due : now_ns;
            at = due < at ? due : at;
        }
    }
    return at;
}

/* Those are done, to that cursor. */
static void
hole_note(mmi_spool_shared *h, mmi_spool_cursor *c, hole_runs *runs)
{
    pthread_mutex_lock(&h->lock);
    for (uint32_t i = 0; i < runs->count; i++) {
        if (mmi_cursor_done(&c->cursor, runs->run[i].first, runs->run[i].last) != MM_OK) {
            c->looked = 0; /* too far above the floor, or no memory: later */
        }
    }
    runs->count = 0;
    pthread_mutex_unlock(&h->lock);
}

static void
hole_add(mmi_spool_shared *h, mmi_spool_cursor *c, hole_runs *runs, uint64_t first, uint64_t behind)
{
    if (first >= behind) {
        return;
    }
    if (runs->count == HOLE_RUNS) {
        hole_note(h, c, runs);
    }
    runs->run[runs->count].first = first;
    runs->run[runs->count++].last = behind - 1;
}

/* What is missing of a batch, from a number on. */
static void
hole_batch(mmi_spool_shared *h, mmi_spool_cursor *c, const mmi_spool_scan *scan, uint64_t from,
           uint64_t bound)
{
    mmi_spool_walk walk;
    mmi_spool_record record;
    hole_runs runs = { .count = 0 };
    uint64_t seq, next = scan->batch.first_seq, behind = scan->next_seq;
    int rc = mmi_spool_walk_begin(&walk, &scan->batch, scan->body, scan->next_seq);
    rc = rc == MM_OK ? 1 : rc;
    behind = behind < bound ? behind : bound;
    next = next > from ? next : from;
    while (rc == 1 && (rc = mmi_spool_walk_next(&walk, &record, &seq)) == 1 && seq < behind) {
        hole_add(h, c, &runs, next, seq);
        next = seq + 1 > next ? seq + 1 : next;
    }
    if (rc >= 0) {
        hole_add(h, c, &runs, next, behind);
    }
    hole_note(h, c, &runs);
}

/* Without the lock; the cursor is not closed meanwhile. */
static void
hole_file(mmi_spool_shared *h, mmi_spool_cursor *c, const mmi_spool_where *where, uint64_t from)
{
    const mmi_spool_place place = { &h->files, h->dir };
    mmi_spool_scan scan = { .chained = true };
    mmi_spool_file f;
    uint64_t octets = 0;
    if (mmi_spool_file_open(&place, where->base, false, &f) != MM_OK) {
        return; /* it went, or who reads it is told */
    }
    scan.next_seq = f.head.base_seq;
    scan.chain = f.head.crc;
    int rc = f.head.version == MMI_SPOOL_COMPACTED
                 ? mmi_spool_scan_at(&place, &f, &scan, MMI_SPOOL_FILE_HEAD)
                 : 0;
    while (rc == 1 && octets < MMI_COMPACT_STEP && scan.batch.first_seq < where->bound) {
        if (scan.batch.type == MMI_SPOOL_SPARSE && scan.next_seq > from) {
            hole_batch(h, c, &scan, from, where->bound);
        }
        octets += scan.next_seq > from ? mmi_spool_batch_size(scan.batch.body_size) : 0;
        rc = mmi_spool_scan_next(&place, &f, &scan);
    }
    mmi_spool_scan_end(&scan);
    mmi_spool_file_close(&place, &f);
}

bool
mmi_spool_hole_pass(mmi_spool_shared *h, uint64_t now_ns)
{
    mmi_spool_cursor *c = h->cursors;
    while (c != NULL &&
           (!hole_may(h, c) || (c->stood_ns > 0 && c->stood_ns + MMI_SPOOL_SWEEP_NS > now_ns))) {
        c = c->next;
    }
    if (c == NULL) {
        return false;
    }
    uint64_t from = c->cursor.floor + 1;
    bool stands = c->stood_ns > 0 && c->stood == from;
    c->stood = from;
    c->stood_ns = now_ns;
    if (!stands) {
        return true;
    }
    mmi_spool_where where;
    mmi_spool_locate(&h->spool, from, &where);
    c->looked = from;
    c->looked_passes = h->compaction.ended;
    c->saving = true;
    pthread_mutex_unlock(&h->lock);
    hole_file(h, c, &where, from);
    pthread_mutex_lock(&h->lock);
    c->saving = false;
    c->stood_ns = 0;
    pthread_cond_broadcast(&h->done);
    return true;
}
