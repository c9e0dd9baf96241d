/*
 * spool/compact.c: a pass of compaction: what it reads, and in which order.
 *
 * Not here: what is written (spool/compact_copy.c), what becomes of it (spool/compact_commit.c).
 */
#include "spool/compact.h"

#include <string.h>

int
mmi_compact_begin(mmi_compact *c, const mmi_spool *s, const mmi_compact_plan *plan)
{
    *c = (mmi_compact){ .place = s->place,
                        .arg = s->opts.arg,
                        .random = s->opts.random,
                        .plan = *plan,
                        .skipped_seq = UINT64_MAX,
                        .file = { .file = -1 },
                        .to = { .file = -1 } };
    memcpy(c->uuid, s->uuid, sizeof c->uuid);
    c->plan.keys_max = plan->keys_max > 0 ? plan->keys_max : (uint32_t)MMI_SPOOL_KEYS_MAX;
    c->keys.most = c->plan.keys_max;
    c->random(c->arg, c->keys.secret, sizeof c->keys.secret);
    c->bases = mmi_alloc((plan->count + 1) * sizeof *c->bases);
    if (c->bases == NULL) {
        return MM_ENOMEM;
    }
    memcpy(c->bases, plan->bases, plan->count * sizeof *c->bases);
    c->bases[plan->count] = plan->end;
    c->plan.bases = c->bases;
    /* Without anything new there may be tombstones whose time is over by now. */
    c->state = plan->clean_seq < plan->end ? MMI_COMPACT_MAP : MMI_COMPACT_LOOK;
    while (c->at + 1 < plan->count && c->bases[c->at + 1] <= plan->clean_seq) {
        c->at++; /* what is clean is not mapped */
    }
    c->at = c->state == MMI_COMPACT_MAP ? c->at : 0;
    c->mapped_seq = plan->clean_seq < plan->end ? plan->clean_seq : plan->end;
    c->mapped_seq -= c->mapped_seq > 0;
    return MM_OK;
}

static void
compact_close(mmi_compact *c)
{
    mmi_spool_file_close(&c->place, &c->file);
    c->begun = false;
}

void
mmi_compact_end(mmi_compact *c)
{
    mmi_compact_copy_drop(c);
    compact_close(c);
    mmi_spool_scan_end(&c->scan);
    mmi_spool_keys_clear(&c->keys);
    mmi_free(c->body);
    mmi_free(c->bases);
    c->body = NULL;
    c->bases = NULL;
    c->plan.bases = NULL;
    c->plan.count = 0;
    c->state = MMI_COMPACT_DONE;
}

uint64_t
mmi_compact_clean(const mmi_compact *c)
{
    uint64_t behind = c->mapped_seq + 1;
    return behind < c->skipped_seq ? behind : c->skipped_seq;
}

/* A file is left as it is. */
static void
compact_skip(mmi_compact *c, uint32_t file)
{
    c->skipped_seq = c->bases[file] < c->skipped_seq ? c->bases[file] : c->skipped_seq;
}

/* The file that is read is not there: the step ends, and whoever has the lock knows why. */
static void
compact_misses(mmi_compact *c, uint32_t skip, bool counts, uint64_t *left)
{
    c->absent.base = c->bases[c->at];
    c->absent.skip = c->bases[skip];
    c->absent.counts = counts;
    *left = 0;
}

void
mmi_compact_absent(mmi_compact *c, bool lost)
{
    if (lost) {
        c->skipped_seq = c->absent.skip < c->skipped_seq ? c->absent.skip : c->skipped_seq;
        c->counts.skipped += c->absent.counts;
    }
    c->absent.base = 0;
}

/* The next batch of the file that is read: of its own numbers, and no CLOSE.  1; 0: it is at its
 * end; MM_EPROTO: and that is not all of it, or it cannot be read; MM_ENOENT: it went; or an
 * error. */
static int
compact_batch(mmi_compact *c)
{
    const uint64_t bound = c->bases[c->at + 1];
    int rc = MM_OK;
    if (c->file.file < 0) {
        rc = mmi_spool_file_open(&c->place, c->bases[c->at], false, &c->file);
        if (rc == MM_OK && memcmp(c->file.head.uuid, c->uuid, sizeof c->uuid) != 0) {
            rc = MM_EPROTO;
        }
        if (rc != MM_OK) {
            return rc == MM_EIO || rc == MM_ENOTSUP ? MM_EPROTO : rc;
        }
    }
    if (!c->begun) {
        c->scan.next_seq = c->file.head.base_seq;
        c->scan.chain = c->file.head.crc;
        c->scan.chained = true;
        rc = mmi_spool_scan_at(&c->place, &c->file, &c->scan, MMI_SPOOL_FILE_HEAD);
        c->begun = rc == 1;
    } else {
        rc = mmi_spool_scan_next(&c->place, &c->file, &c->scan);
    }
    while (rc == 1 && c->scan.batch.type == MMI_SPOOL_CLOSE) {
        rc = mmi_spool_scan_next(&c->place, &c->file, &c->scan);
    }
    if (rc < 0) {
        return rc == MM_ENOMEM ? rc : MM_EPROTO;
    }
    bool all = c->scan.next_seq >= bound; /* what is behind it is the next file's */
    if (rc == 1 && c->scan.batch.first_seq < bound) {
        return 1;
    }
    bool gone = !all && mmi_spool_file_gone(&c->place, c->bases[c->at]);
    return all ? 0 : gone ? MM_ENOENT : MM_EPROTO;
}

/* Where its keys are.  1: go on; 0: the table is full; or an error. */
static int
map_batch(mmi_compact *c)
{
    mmi_spool_walk walk;
    mmi_spool_record record;
    uint64_t seq, hash[2];
    const uint64_t bound = c->bases[c->at + 1];
    if (c->scan.batch.type == MMI_SPOOL_GAP) {
        return 1;
    }
    int rc = mmi_spool_walk_begin(&walk, &c->scan.batch, c->scan.body, c->scan.next_seq);
    rc = rc == MM_OK ? 1 : rc;
    while (rc == 1 && (rc = mmi_spool_walk_next(&walk, &record, &seq)) == 1 && seq < bound) {
        if (seq < c->plan.clean_seq || !mmi_spool_keys_of(&c->keys, &record, hash)) {
            continue;
        }
        int put = mmi_spool_keys_put(&c->keys, hash, seq);
        if (put != MM_OK) {
            c->mapped_seq = seq - 1;
            return put == MM_EAGAIN ? 0 : put;
        }
    }
    return rc < 0 ? rc : 1;
}

static void
compact_look_begins(mmi_compact *c)
{
    compact_close(c);
    c->state = MMI_COMPACT_LOOK;
    c->at = 0;
    c->group.count = c->next.count = 0;
}

/* One batch more, or the next file.  As mmi_compact_step. */
static int
compact_map(mmi_compact *c, uint64_t *left)
{
    int rc = compact_batch(c);
    if (rc == 1) {
        uint64_t takes = mmi_spool_batch_size(c->scan.batch.body_size);
        *left -= takes < *left ? takes : *left;
        rc = map_batch(c);
        if (rc == 1) {
            return 1;
        }
        if (rc == 0) {
            compact_look_begins(c);
            return 1;
        }
    }
    if (rc < 0 && rc != MM_ENOENT && rc != MM_EPROTO) {
        return rc;
    }
    if (rc == MM_EPROTO) {
        compact_skip(c, c->at); /* also if looking can read it: not all of its keys are known */
    } else if (rc == MM_ENOENT) {
        compact_misses(c, c->at, false, left);
    }
    compact_close(c);
    c->at++;
    if (c->at == c->plan.count) {
        c->mapped_seq = c->plan.end - 1;
        compact_look_begins(c);
    }
    return 1;
}

/* What would become of the messages of a batch. */
static int
look_batch(mmi_compact *c)
{
    mmi_spool_walk walk;
    mmi_spool_record record;
    uint64_t seq, octets = 0;
    bool notes, waits = false;
    const uint64_t bound = c->bases[c->at + 1], clean_us = mmi_compact_clean_us(c, &notes);
    if (c->scan.batch.type == MMI_SPOOL_GAP) {
        c->next.octets += mmi_spool_batch_size(c->scan.batch.body_size);
        return MM_OK;
    }
    int rc = mmi_spool_walk_begin(&walk, &c->scan.batch, c->scan.body, c->scan.next_seq);
    rc = rc == MM_OK ? 1 : rc;
    while (rc == 1) {
        const uint8_t *at = walk.at;
        rc = mmi_spool_walk_next(&walk, &record, &seq);
        if (rc != 1 || seq >= bound) {
            break;
        }
        mmi_compact_fate fate = mmi_compact_fate_of(c, &record, seq, clean_us);
        bool stays = fate <= MMI_COMPACT_WAITS;
        c->next.gone += !stays;
        c->next.tombstones += fate == MMI_COMPACT_BURIED;
        octets += stays ? (uint64_t)(walk.at - at) + 1 : 0;
        waits |= fate == MMI_COMPACT_WAITS;
    }
    c->next.noted += waits && notes;
    c->next.octets += octets > 0 ? mmi_spool_batch_size((uint32_t)octets) : 0;
    return rc < 0 ? rc : MM_OK;
}

/* Is that group to be written?  Then it is, else it is left. */
static int
look_closes(mmi_compact *c)
{
    const mmi_compact_group *g = &c->group;
    if (g->count == 0 || (g->gone == 0 && g->noted == 0 && g->count == 1)) {
        c->group.count = 0;
        return 1;
    }
    c->state = MMI_COMPACT_COPY;
    c->resume = c->at;
    c->at = g->first;
    int rc = mmi_compact_copy_begin(c);
    return rc == MM_OK ? 1 : rc;
}

/* A whole file was looked at: it goes with those before it, or they are written first. */
static int
look_joins(mmi_compact *c)
{
    mmi_compact_group *g = &c->group, *n = &c->next;
    if (g->count > 0 && g->octets + n->octets <= c->plan.merge_bytes) {
        g->count++;
        g->octets += n->octets;
        g->gone += n->gone;
        g->tombstones += n->tombstones;
        g->noted += n->noted;
        n->count = 0;
        return 1;
    }
    if (g->count > 0) {
        return look_closes(c);
    }
    *g = *n;
    n->count = 0;
    return 1;
}

/* Nothing is left to look at. */
static int
look_ends(mmi_compact *c)
{
    if (c->group.count > 0) {
        return look_closes(c);
    }
    if (c->mapped_seq + 1 >= c->plan.end) {
        c->state = MMI_COMPACT_DONE;
        return 0;
    }
    c->plan.clean_seq =
        mmi_compact_clean(c) > c->plan.clean_seq ? mmi_compact_clean(c) : c->plan.clean_seq;
    if (c->skipped_seq != UINT64_MAX) { /* with what is behind it no more can be done for now */
        c->state = MMI_COMPACT_DONE;
        return 0;
    }
    mmi_spool_keys_clear(&c->keys);
    c->state = MMI_COMPACT_MAP;
    c->at = 0;
    while (c->at + 1 < c->plan.count && c->bases[c->at + 1] <= c->plan.clean_seq) {
        c->at++;
    }
    return 1;
}

/* One batch more, or what is to be done with the file.  As mmi_compact_step. */
static int
compact_look(mmi_compact *c, uint64_t *left)
{
    if (c->next.count > 0 && c->next.first < c->at) { /* looked at, and not in a group yet */
        return look_joins(c);
    }
    if (c->at >= c->plan.count || c->bases[c->at] > c->mapped_seq) {
        return look_ends(c);
    }
    if (c->next.count == 0) {
        c->next = (mmi_compact_group){ .first = c->at, .count = 1 };
    }
    int rc = compact_batch(c);
    if (rc == 1) {
        uint64_t takes = mmi_spool_batch_size(c->scan.batch.body_size);
        *left -= takes < *left ? takes : *left;
        rc = look_batch(c);
        if (rc == MM_OK) {
            return 1;
        }
    }
    if (rc < 0 && rc != MM_ENOENT && rc != MM_EPROTO) {
        return rc;
    }
    if (rc == MM_ENOENT) {
        compact_misses(c, c->at, true, left);
    }
    compact_close(c);
    c->at++;
    if (rc == 0) {
        return 1;
    }
    c->next.count = 0;
    if (rc == MM_EPROTO) {
        compact_skip(c, c->at - 1);
        c->counts.skipped++;
    }
    return c->group.count > 0 ? look_closes(c) : 1;
}

/* One batch more is written.  As mmi_compact_step. */
static int
compact_copy(mmi_compact *c, uint64_t *left)
{
    int rc = compact_batch(c);
    if (rc == 1) {
        uint64_t takes = mmi_spool_batch_size(c->scan.batch.body_size);
        *left -= takes < *left ? takes : *left;
        rc = mmi_compact_copy_batch(c);
        if (rc == MM_OK) {
            return 1;
        }
    }
    if (rc == MM_ENOENT) {
        compact_misses(c, c->group.first, false, left);
    }
    compact_close(c);
    if (rc == MM_EPROTO || rc == MM_ENOENT) { /* a moment ago it could be read, or was there */
        mmi_compact_committed(c, rc == MM_ENOENT ? MMI_COMPACT_GONE : MMI_COMPACT_LEFT);
        return 1;
    }
    if (rc < 0) {
        return rc;
    }
    c->at++;
    if (c->at < c->group.first + c->group.count) {
        return 1;
    }
    rc = mmi_compact_copy_end(c);
    c->state = rc == MM_OK ? MMI_COMPACT_COMMIT : c->state;
    return rc;
}

/* The files of the group are one. */
static void
compact_joined(mmi_compact *c)
{
    const uint32_t first = c->group.first, gone = c->group.count - 1;
    uint64_t *behind = c->bases + first + 1;
    memmove(behind, behind + gone, (c->plan.count - first - gone) * sizeof *behind);
    c->plan.count -= gone;
    c->resume -= gone;
    c->next.first -= c->next.count > 0 ? gone : 0;
}

void
mmi_compact_committed(mmi_compact *c, mmi_compact_end_of what)
{
    const mmi_compact_group *g = &c->group;
    if (what == MMI_COMPACT_TAKEN) {
        compact_joined(c);
        c->counts.messages += g->gone;
        c->counts.tombstones += g->tombstones;
        c->counts.written++;
        c->counts.merged += g->count - 1;
    } else if (what == MMI_COMPACT_LEFT) {
        compact_skip(c, g->first);
    }
    compact_close(c);
    mmi_compact_copy_drop(c);
    c->at = c->resume;
    c->group.count = 0;
    c->state = MMI_COMPACT_LOOK;
}

int
mmi_compact_step(mmi_compact *c)
{
    uint64_t left = MMI_COMPACT_STEP;
    int rc = 1;
    while (rc == 1 && left > 0) {
        switch (c->state) {
        case MMI_COMPACT_MAP: rc = compact_map(c, &left); break;
        case MMI_COMPACT_LOOK: rc = compact_look(c, &left); break;
        case MMI_COMPACT_COPY: rc = compact_copy(c, &left); break;
        default: return 0;
        }
    }
    if (rc == 1 && c->to.file >= 0) { /* so that its last sync is short */
        int synced = c->place.files->sync_data(c->place.files->self, c->to.file);
        rc = synced == MM_OK ? rc : synced;
    }
    return rc;
}
