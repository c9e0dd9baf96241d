/*
 * spool/repair.c: see spool/repair.h.
 */
#include "spool/repair.h"

#include <string.h>

#include "spool/quarantine.h"

enum {
    REPAIR_LOOK = 64 * 1024, /* octets that are read at once */
    REPAIR_HARMED = 1        /* why a gap is there */
};

/* A spare for a new file; on a full disk one without room of its own, and what it takes to mend the
 * spool is there: so it can be read, and trimmed. */
static int
repair_room(mmi_spool *s, int *spare)
{
    int rc = mmi_spool_spare(&s->place, s->opts.file_bytes, spare);
    s->cramped = rc == MM_ENOSPC;
    if (s->cramped) {
        (void)mmi_spool_reserve_give(s); /* without one there may be room all the same */
        rc = mmi_spool_spare(&s->place, 0, spare);
    }
    return rc;
}

/* A new file of that base, begun in the spare; of that version, for what is not newer than that. */
static int
repair_begin(mmi_spool *s, uint64_t base, int spare, uint32_t version, uint64_t time_us,
             mmi_spool_file *out)
{
    uint64_t now = s->opts.now_us(s->opts.arg);
    mmi_spool_head head = { .base_seq = base,
                            .epoch = s->epoch,
                            .version = version,
                            .made_us = now > time_us ? now : time_us };
    memcpy(head.uuid, s->uuid, sizeof head.uuid);
    s->opts.random(s->opts.arg, &head.salt, sizeof head.salt);
    int rc = mmi_spool_file_begin(&s->place, out, spare, 0, &head);
    if (rc != MM_OK) {
        mmi_spool_file_close(&s->place, out);
        (void)s->place.files->unlink(s->place.files->self, s->place.dir, mmi_spool_spare_name);
    }
    return rc;
}

/* It is the last file from now on. */
static void
repair_use(mmi_spool *s, const mmi_spool_file *f, uint64_t next_seq, uint64_t time_us,
           uint64_t begun_us)
{
    s->file = *f;
    s->synced_end = f->end;
    s->begun_us = begun_us;
    s->clean_seq = s->clean_seq < f->head.base_seq ? s->clean_seq : f->head.base_seq;
    s->then_end = f->end;
    s->last_seq = s->written_seq = s->durable_seq = next_seq - 1;
    s->time_us = time_us;
}

/* What is no batch is kept.  On a full disk what is torn is left out, as it was never said to be
 * there; the reserve is for messages, and for what is harmed and does not stay where it is. */
static int
repair_keep(mmi_spool *s, const mmi_spool_file *f, const mmi_spool_found *found, bool stays,
            mmi_spool_report *report)
{
    uint64_t at = found->end, end = found->used;
    bool needed = found->harmed && !stays;
    int rc = mmi_spool_quarantine(&s->place, s->quarantine, f, at, end);
    if (rc == MM_ENOSPC && needed && mmi_spool_reserve_give(s)) {
        rc = mmi_spool_quarantine(&s->place, s->quarantine, f, at, end);
    }
    bool left = rc == MM_ENOSPC && !needed;
    report->torn_left = left ? end - at : 0;
    return left ? MM_OK : rc;
}

/* What is copied, and where to. */
typedef struct repair_copy {
    mmi_spool *s;
    mmi_spool_scan scan;
    mmi_spool_file to;
    uint64_t next_seq, time_us, begun_us, messages;
} repair_copy;

static int
repair_put(repair_copy *c, mmi_spool_batch *batch, const uint8_t *body)
{
    batch->durable_seq = c->to.head.base_seq - 1;
    return mmi_spool_file_write(&c->s->place, &c->to, batch, body, batch->body_size, 0);
}

static int
repair_gap(repair_copy *c, uint64_t last)
{
    uint8_t body[MMI_SPOOL_GAP_BODY];
    const mmi_spool_gap gap = { .last_seq = last, .why = REPAIR_HARMED };
    mmi_spool_batch batch = { .epoch = c->s->epoch,
                              .type = MMI_SPOOL_GAP,
                              .first_seq = c->next_seq,
                              .time_us = c->time_us,
                              .body_size = sizeof body };
    if (last < c->next_seq) {
        return MM_OK;
    }
    mmi_spool_gap_put(body, &gap);
    c->next_seq = last + 1;
    return repair_put(c, &batch, body);
}

/* The sound batches from the one that the scan is of, to where they end. */
static int
repair_run(repair_copy *c, const mmi_spool_file *from)
{
    int rc;
    do {
        mmi_spool_batch batch = c->scan.batch;
        c->next_seq = c->scan.next_seq;
        c->time_us = batch.time_us > c->time_us ? batch.time_us : c->time_us;
        c->messages += batch.count;
        c->begun_us = c->begun_us == 0 && batch.count > 0 ? batch.time_us : c->begun_us;
        rc = batch.type == MMI_SPOOL_CLOSE ? MM_OK : repair_put(c, &batch, c->scan.body);
    } while (rc == MM_OK && (rc = mmi_spool_scan_next(&c->s->place, from, &c->scan)) == 1);
    return rc;
}

/* What is harmed is left out, and what is sound behind it goes on: as often as that is so. */
static int
repair_over(repair_copy *c, const mmi_spool_file *from, const mmi_spool_found *found)
{
    uint64_t at = found->end;
    int rc = MM_OK;
    while (rc == MM_OK && c->next_seq <= found->told_seq) {
        rc = mmi_spool_scan_find(&c->s->place, from, &c->scan, at);
        if (rc == 0) {
            return repair_gap(c, found->told_seq);
        }
        at = c->scan.at + mmi_spool_batch_size(c->scan.batch.body_size);
        if (rc == 1 && c->scan.batch.first_seq >= c->next_seq) {
            rc = repair_gap(c, c->scan.batch.first_seq - 1);
            rc = rc == MM_OK ? repair_run(c, from) : rc;
            at = c->scan.at + mmi_spool_batch_size(c->scan.batch.body_size);
        } else if (rc == 1) {
            rc = MM_OK;
        }
    }
    return rc;
}

/* Into a new file goes what was not proved, and, of what is harmed, what is sound behind it. */
static int
repair_rewrite(mmi_spool *s, mmi_spool_file *from, const mmi_spool_found *found,
               mmi_spool_report *report)
{
    repair_copy c = { .s = s, .to = { .file = -1 }, .time_us = found->time_us };
    const mmi_spool_place *p = &s->place;
    bool unproved = found->proved_end<found->end, some = found->used> found->end;
    int spare = -1, one = 0, rc = repair_room(s, &spare);
    if (rc == MM_OK && unproved) {
        one = mmi_spool_scan_at(p, from, &c.scan, found->proved_end);
        rc = one < 0 ? one : one == 0 ? MM_EIO : MM_OK; /* it was there a moment ago */
    }
    c.next_seq = one == 1 ? c.scan.batch.first_seq : found->next_seq;
    if (rc == MM_OK) {
        uint32_t version = from->head.version == MMI_SPOOL_AGAIN ? (uint32_t)MMI_SPOOL_VERSION
                                                                 : from->head.version;
        rc = repair_begin(s, c.next_seq, spare, version, found->time_us, &c.to);
    } else if (spare >= 0) {
        p->files->close(p->files->self, spare);
    }
    rc = rc == MM_OK && one == 1 ? repair_run(&c, from) : rc;
    if (rc == MM_OK && c.next_seq != found->next_seq) {
        rc = MM_EIO; /* likewise */
    }
    rc = rc == MM_OK && found->harmed ? repair_over(&c, from, found) : rc;
    bool stays = c.to.head.base_seq != from->head.base_seq;
    rc = rc == MM_OK && some ? repair_keep(s, from, found, stays, report) : rc; /* messages first */
    rc = rc == MM_OK ? mmi_spool_files_reserve(s, 1) : rc;
    rc = rc == MM_OK ? mmi_spool_file_name(p, &c.to) : rc;
    mmi_spool_scan_end(&c.scan);
    if (rc != MM_OK) {
        mmi_spool_file_close(p, &c.to);
        return rc;
    }
    if (stays) {
        if (!found->harmed && report->torn_left == 0) {
            /* The rest of its room is others', as of any file that is whole: else each life that is
             * killed keeps a file's room, which counts in max_bytes. */
            (void)p->files->truncate(p->files->self, from->file, found->end);
        }
        s->ends[s->file_count - 1] = found->end;
        s->sealed_bytes += found->end;
        s->bases[s->file_count++] = c.to.head.base_seq;
    }
    report->copied = c.messages;
    repair_use(s, &c.to, c.next_seq, c.time_us, c.begun_us);
    return MM_OK;
}

/* A new file of that base, with nothing in it, and no name yet; room to know of it is there. */
static int
repair_new(mmi_spool *s, uint64_t base, mmi_spool_file *f)
{
    int spare, rc = mmi_spool_files_reserve(s, 1);
    *f = (mmi_spool_file){ .file = -1 };
    rc = rc == MM_OK ? repair_room(s, &spare) : rc;
    return rc == MM_OK ? repair_begin(s, base, spare, MMI_SPOOL_VERSION, 0, f) : rc;
}

/* It has its name from now on, and is the last. */
static int
repair_name(mmi_spool *s, mmi_spool_file *f)
{
    int rc = mmi_spool_file_name(&s->place, f);
    if (rc != MM_OK) {
        mmi_spool_file_close(&s->place, f);
        return rc;
    }
    s->bases[s->file_count++] = f->head.base_seq;
    repair_use(s, f, f->head.base_seq, 0, 0);
    return MM_OK;
}

static int
repair_first(mmi_spool *s, mmi_spool_report *report)
{
    mmi_spool_file f;
    uint64_t base = s->opts.known_seq + 1;
    report->made = base == 1;
    if (base > 1) {
        report->lost_first = 1;
        report->lost_last = base - 1;
    }
    if (report->lost_first > 0 && !s->opts.gaps) {
        return MMI_SPOOL_HARMED;
    }
    int rc = repair_new(s, base, &f);
    return rc == MM_OK ? repair_name(s, &f) : rc;
}

/* The last file goes on. */
static void
repair_stay(mmi_spool *s, mmi_spool_file *f, const mmi_spool_found *found)
{
    /* A CLOSE whose sync failed reads, and may be gone: the next batch goes in its place. */
    f->end = f->zeroed = found->closed ? found->end - mmi_spool_batch_size(0) : found->end;
    f->chain = found->closed ? found->close_chain : found->chain;
    f->stale = found->stale;
    repair_use(s, f, found->next_seq, found->time_us, found->first_us);
}

/* One that was begun on a full disk, or is a copy, may not have its whole room: if there is none
 * now, nothing more goes into it. */
static int
repair_go_on(mmi_spool *s, mmi_spool_file *f, const mmi_spool_found *found)
{
    const mmi_files *x = s->place.files;
    uint64_t was;
    int rc = x->size(x->self, f->file, &was);
    rc = rc == MM_OK ? mmi_spool_room(&s->place, f->file, was, s->opts.file_bytes) : rc;
    s->cramped = rc == MM_ENOSPC;
    if (rc != MM_OK && !s->cramped) {
        return rc;
    }
    if (s->cramped) {
        (void)x->truncate(x->self, f->file, was); /* a part of it is of no use */
    }
    repair_stay(s, f, found);
    return MM_OK;
}

/* There is no room for the head of a new file, and nothing that it would have: the last one goes
 * on.  If its name may not be durable it is given again, as to a new one; before that the state
 * says that all before it was durable.  Nothing more goes into it where something torn stands,
 * which a new file takes the place of, or cuts, when there is room; or where the name is the only
 * one. */
static int
repair_full(mmi_spool *s, mmi_spool_file *f, const mmi_spool_found *found, bool named,
            mmi_spool_report *report)
{
    const mmi_files *x = s->place.files;
    char name[MMI_SPOOL_NAME];
    int dir = s->place.dir, rc = MM_OK;
    bool again = !named && s->file_count > 1;
    if (again) {
        mmi_spool_name(f->head.base_seq, name);
        rc = mmi_spool_note(s, f->head.base_seq - 1);
        rc = rc == MM_OK ? x->rename(x->self, dir, name, dir, mmi_spool_spare_name) : rc;
        rc = rc == MM_OK ? mmi_spool_file_name(&s->place, f) : rc;
    }
    if (rc != MM_OK) {
        return rc;
    }
    if (found->used == found->end && (named || again)) {
        return repair_go_on(s, f, found);
    }
    s->cramped = true;
    report->torn_left = report->torn_bytes;
    repair_stay(s, f, found);
    return MM_OK;
}

/* The last file, whose head is sound. */
static int
repair_last(mmi_spool *s, mmi_spool_file *f, mmi_spool_report *report)
{
    mmi_spool_found found;
    s->epoch = f->head.epoch > s->epoch ? f->head.epoch : s->epoch;
    int rc = mmi_spool_look(&s->place, f, s->opts.known_seq, &found);
    if (rc != MM_OK) {
        return rc;
    }
    report->unclean = !found.closed;
    s->epoch = found.epoch > s->epoch ? found.epoch : s->epoch;
    report->torn_bytes = found.used - found.end;
    if (found.harmed && found.lost_last >= found.next_seq) {
        report->lost_first = found.next_seq;
        report->lost_last = found.lost_last;
        report->harmed_at = found.end;
        report->harmed_file = f->head.base_seq;
        if (!s->opts.gaps) {
            return MMI_SPOOL_HARMED;
        }
    }
    /* A file in which nothing is proved may have a name that is not durable, though a sync of
     * the folder says OK now, if one failed before: it is made again. */
    bool named = found.closed || found.proved_end > MMI_SPOOL_FILE_HEAD;
    bool fits = found.end <= s->opts.file_bytes;
    if (!found.harmed && found.used == found.end && found.proved_end == found.end && fits &&
        named) {
        return repair_go_on(s, f, &found);
    }
    rc = repair_rewrite(s, f, &found, report);
    if (rc == MM_ENOSPC && !found.harmed && found.proved_end == found.end) {
        return repair_full(s, f, &found, named, report);
    }
    mmi_spool_file_close(&s->place, f);
    return rc;
}

static bool
repair_blank(const uint8_t *data, size_t size)
{
    return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

/* Of a file whose head is harmed: up to which number it may have had messages, as heads of batches
 * say that nothing can be checked by.  Those numbers are not given again.  *blank: it is zeros. */
static int
repair_guess(mmi_spool *s, uint64_t base, bool *blank)
{
    const mmi_files *x = s->place.files;
    const uint64_t most = base + MMI_FILE_SIZE_MAX; /* a message takes more than an octet */
    char name[MMI_SPOOL_NAME];
    uint8_t *look = mmi_alloc(REPAIR_LOOK);
    int file;
    mmi_spool_name(base, name);
    int rc = look == NULL ? MM_ENOMEM : x->open(x->self, s->place.dir, name, 0, &file);
    if (rc != MM_OK) {
        mmi_free(look);
        return rc;
    }
    uint64_t last = base, at = 0;
    int64_t got;
    *blank = true;
    while ((got = mmi_spool_read_over(&s->place, file, at, look, REPAIR_LOOK)) > 0) {
        *blank = *blank && repair_blank(look, (size_t)got);
        for (int64_t i = 0; i + MMI_SPOOL_BATCH_HEAD <= got; i += MMI_SPOOL_ALIGN) {
            uint64_t first, behind;
            mmi_spool_batch_guess(look + i, &first, &behind);
            bool head = mmi_spool_batch_begins(look + i) && first >= base && behind < most;
            last = head && behind > last ? behind : last;
        }
        if (got < REPAIR_LOOK) {
            break;
        }
        at += (uint64_t)got - MMI_SPOOL_BATCH_HEAD;
    }
    x->close(x->self, file);
    mmi_free(look);
    s->opts.known_seq = last - 1 > s->opts.known_seq ? last - 1 : s->opts.known_seq;
    return got < 0 ? (int)got : MM_OK;
}

/* What it is called, if the state is lost, and the head of the last file: as those before say. */
static void
repair_called(mmi_spool *s)
{
    mmi_spool_file f;
    for (uint32_t i = s->file_count - 1; i-- > 0;) {
        if (mmi_spool_file_open(&s->place, s->bases[i], false, &f) == MM_OK) {
            memcpy(s->uuid, f.head.uuid, sizeof s->uuid);
            mmi_spool_file_close(&s->place, &f);
            return;
        }
    }
}

/* The last file is zeros, and nothing says that there was anything in it: it goes, and the one
 * before is the last. */
static int
repair_without(mmi_spool *s, bool known, mmi_spool_report *report)
{
    const mmi_files *x = s->place.files;
    char name[MMI_SPOOL_NAME];
    uint64_t base = s->bases[s->file_count - 1];
    mmi_spool_name(base, name);
    int rc = x->unlink(x->self, s->place.dir, name);
    if (rc != MM_OK) {
        return rc;
    }
    s->file_count--;
    s->sealed_bytes -= s->ends[s->file_count - 1];
    report->lost_first = report->lost_last = report->harmed_file = 0;
    rc = mmi_spool_mend(s, known, report);
    if (rc == MM_OK && report->lost_first == 0) { /* that it was so is told */
        report->lost_first = report->harmed_file = base;
        report->lost_last = base - 1;
    }
    report->unclean = true;
    return rc;
}

/* The head of the last file is harmed, and so nothing in it can be told from what is not. */
static int
repair_headless(mmi_spool *s, bool known, mmi_spool_report *report)
{
    const mmi_files *x = s->place.files;
    uint64_t base = s->bases[s->file_count - 1];
    char name[MMI_SPOOL_NAME];
    mmi_spool_file f;
    bool blank = false;
    report->unclean = true;
    report->lost_first = report->harmed_file = base;
    int rc = repair_guess(s, base, &blank);
    report->lost_last = s->opts.known_seq;
    if (rc != MM_OK || !s->opts.gaps) {
        return rc != MM_OK ? rc : MMI_SPOOL_HARMED;
    }
    if (!known) {
        repair_called(s);
    }
    if (blank && s->opts.known_seq < base && s->file_count > 1) {
        return repair_without(s, known, report);
    }
    /* Whatever cuts this off, the state has the numbers that are not given again. */
    rc = repair_new(s, s->opts.known_seq + 1, &f);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_spool_name(base, name);
    rc = s->quarantine < 0 ? MM_ENOSPC : mmi_spool_note(s, s->opts.known_seq);
    rc = rc == MM_OK ? x->rename(x->self, s->place.dir, name, s->quarantine, name) : rc;
    rc = rc == MM_OK ? x->sync_folder(x->self, s->quarantine) : rc;
    if (rc != MM_OK) {
        mmi_spool_file_close(&s->place, &f);
        return rc;
    }
    s->file_count--;
    return repair_name(s, &f);
}

int
mmi_spool_mend(mmi_spool *s, bool known, mmi_spool_report *report)
{
    mmi_spool_file f;
    if (s->file_count == 0) {
        return repair_first(s, report);
    }
    uint64_t base = s->bases[s->file_count - 1];
    int rc = mmi_spool_file_open(&s->place, base, true, &f);
    if (rc == MM_EIO && (rc = mmi_spool_file_open(&s->place, base, true, &f)) == MM_OK) {
        mmi_spool_file_close(&s->place, &f);
        return MM_EIO; /* a disk that fails now and then is no harm */
    }
    if (rc == MM_OK && known && memcmp(f.head.uuid, s->uuid, sizeof s->uuid) != 0) {
        mmi_spool_file_close(&s->place, &f);
        rc = MM_EPROTO; /* another spool's */
    }
    if (rc == MM_OK) {
        memcpy(s->uuid, f.head.uuid, sizeof s->uuid); /* if the state is lost */
        rc = repair_last(s, &f, report);
        if (rc != MM_OK) {
            mmi_spool_file_close(&s->place, &f);
        }
        return rc;
    }
    return rc == MM_EPROTO || rc == MM_EIO ? repair_headless(s, known, report) : rc;
}
