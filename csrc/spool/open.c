/*
 * spool/open.c: opening a spool, and closing it in order.
 *
 * Not here: what is copied after a crash (spool/repair.c).
 * Law: nothing is served before it is durable: what is read may be in the cache alone.  What was
 * found harmed is left as it is, unless gaps are asked for.
 */
#include <errno.h>
#include <string.h>

#include "spool/compact.h"
#include "spool/repair.h"

enum { OPEN_EPOCH_STEP = 16384 };   /* epochs that a life may be ahead of the one before */

static const char open_lock_name[] = "LOCK", open_quarantine_name[] = "quarantine",
                  open_new_name[] = "quarantine.new";

static bool
open_opts_valid(mmi_spool_opts *o)
{
    o->file_bytes = o->file_bytes > 0 ? o->file_bytes : MMI_SPOOL_FILE_DEFAULT;
    uint32_t batch = o->level == MMI_SPOOL_OS ? MMI_SPOOL_BATCH_OS : MMI_SPOOL_BATCH_DEFAULT;
    o->batch_bytes = o->batch_bytes > 0 ? o->batch_bytes : batch;
    if (o->batch_bytes > o->file_bytes / MMI_SPOOL_BATCHES_A_FILE) {
        o->batch_bytes = (uint32_t)(o->file_bytes / MMI_SPOOL_BATCHES_A_FILE);
    }
    return o->file_bytes >= MMI_SPOOL_FILE_MIN && o->file_bytes <= MMI_FILE_SIZE_MAX / 2 &&
           o->batch_bytes <= MMI_SPOOL_BODY_MAX && o->level <= MMI_SPOOL_DISK;
}

/* One that has a second name is another spool's as well (a snapshot of hard links): it goes, if the
 * folder's own lock keeps others out. */
static int
open_lock_file(mmi_spool *s, bool kept)
{
    const mmi_files *f = s->place.files;
    const uint32_t flags = MMI_FILE_WRITE | MMI_FILE_CREATE;
    int rc = f->open(f->self, s->place.dir, open_lock_name, flags, &s->lock);
    if (rc == MM_EPERM && errno == EMLINK && kept) {
        (void)f->unlink(f->self, s->place.dir, open_lock_name);
        rc = f->open(f->self, s->place.dir, open_lock_name, flags, &s->lock);
    }
    s->lock = rc == MM_OK ? s->lock : -1;
    return rc;
}

/* Ours from now on, or whose it is.  The folder is locked as well: a file can be removed and made
 * anew while somebody has it locked.  Not all file systems lock folders (NFS). */
static int
open_lock(mmi_spool *s, mmi_spool_report *report)
{
    const mmi_files *f = s->place.files;
    int folder = f->lock(f->self, s->place.dir), rc = open_lock_file(s, folder == MM_OK);
    if (rc != MM_OK) {
        return folder == MM_EAGAIN ? folder : rc;
    }
    rc = folder == MM_ENOTSUP ? MM_OK : folder;
    rc = rc == MM_OK ? f->lock(f->self, s->lock) : rc;
    if (rc != MM_OK) {
        int64_t got = f->read(f->self, s->lock, 0, report->owner, MMI_SPOOL_OWNER);
        report->owner[got > 0 ? got : 0] = '\0';
        return rc;
    }
    const char *owner = s->opts.owner != NULL ? s->opts.owner : "";
    size_t size = strlen(owner);
    mmi_iov piece = { .data = (void *)owner,
                      .size = size < MMI_SPOOL_OWNER ? size : (size_t)MMI_SPOOL_OWNER };
    (void)f->truncate(f->self, s->lock,
                      0); /* what it says is for people; without room it is empty */
    (void)f->write(f->self, s->lock, 0, &piece, piece.size > 0 ? 1 : 0);
    return MM_OK;
}

/* What was trimmed, and came back with a crash of the machine. */
static void
open_forget(mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    char name[MMI_SPOOL_NAME];
    uint32_t gone = 0;
    while (gone + 1 < s->file_count && s->bases[gone + 1] <= s->start_seq) {
        mmi_spool_name(s->bases[gone++], name);
        (void)f->unlink(f->self, s->place.dir, name);
    }
    s->file_count -= gone;
    memmove(s->bases, s->bases + gone, s->file_count * sizeof *s->bases);
}

static int
open_list(mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    uint64_t *bases;
    uint32_t count;
    int rc = mmi_spool_list(&s->place, &bases, &count);
    rc = rc == MM_OK ? mmi_spool_files_reserve(s, count) : rc;
    if (rc == MM_OK && count > 0) {
        memcpy(s->bases, bases, count * sizeof *bases);
        s->file_count = count;
        open_forget(s);
    }
    mmi_free(bases);
    (void)f->unlink(f->self, s->place.dir, mmi_compact_name); /* what a crash cut off */
    (void)f->unlink(f->self, s->place.dir, mmi_spool_again_name);
    for (uint32_t i = 0; i + 1 < s->file_count; i++) {
        char name[MMI_SPOOL_NAME];
        int file;
        mmi_spool_name(s->bases[i], name);
        s->ends[i] = 0;
        if (f->open(f->self, s->place.dir, name, 0, &file) == MM_OK) {
            (void)f->size(f->self, file, &s->ends[i]); /* harmed: whoever reads it is told */
            f->close(f->self, file);
        }
        s->sealed_bytes += s->ends[i];
    }
    return rc;
}

static void
open_ignore(void *arg, const mmi_entry *entry)
{
    (void)arg;
    (void)entry;
}

/* The folder for what is set aside.  One that has nothing yet is made anew: if a sync of its name
 * failed before, one that says OK now says nothing of it.  Where there is none, and no room for
 * one, there is none in this life: what has to be set aside finds no room then. */
static int
open_quarantine(mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    int dir = s->place.dir, rc = f->folder(f->self, dir, open_quarantine_name, &s->quarantine);
    bool there = rc == MM_OK;
    if (!there && rc != MM_ENOENT) {
        return rc;
    }
    int count = there ? f->list(f->self, s->quarantine, open_ignore, NULL) : 0;
    if (count != 0) {
        return count < 0 ? count : MM_OK;
    }
    rc = f->mkdir(f->self, dir, open_new_name);
    if (!there && rc == MM_ENOSPC && mmi_spool_reserve_give(s)) {
        rc = f->mkdir(f->self, dir, open_new_name);
    }
    if (rc == MM_ENOSPC) {
        s->quarantine = there ? s->quarantine : -1;
        return MM_OK; /* the one that is there was made before the disk was full */
    }
    if (there) {
        f->close(f->self, s->quarantine);
        s->quarantine = -1;
    }
    rc = rc == MM_EEXIST ? MM_OK : rc;
    rc = rc == MM_OK ? f->rename(f->self, dir, open_new_name, dir, open_quarantine_name) : rc;
    rc = rc == MM_OK ? f->sync_folder(f->self, dir) : rc;
    return rc == MM_OK ? f->folder(f->self, dir, open_quarantine_name, &s->quarantine) : rc;
}

/* How much higher its epoch is than the last that is known.  Each life has its own: a number
 * that is given twice differs in it.  The step is random, so that two lives that begin with
 * copies of one folder differ as well.  A slot that is harmed may have been of one life more. */
static uint32_t
open_step(const mmi_spool *s, bool known)
{
    uint16_t dice;
    if (!known && s->epoch == 0) {
        return 1;
    }
    s->opts.random(s->opts.arg, &dice, sizeof dice);
    return 1 + dice % OPEN_EPOCH_STEP + (s->state.older ? OPEN_EPOCH_STEP : 0);
}

/* Of one that is made, or whose state is lost: then its files say what it is called. */
static void
open_name(mmi_spool *s)
{
    if (s->opts.uuid != NULL) {
        memcpy(s->uuid, s->opts.uuid, sizeof s->uuid);
        s->opts.uuid = NULL; /* its caller's */
    } else {
        s->opts.random(s->opts.arg, s->uuid, sizeof s->uuid);
    }
    s->epoch = 0;
}

static int
open_log(mmi_spool *s, mmi_spool_report *report)
{
    const mmi_files *f = s->place.files;
    bool known;
    int rc = open_quarantine(s);
    rc = rc == MM_OK ? mmi_spool_state_open(s, &known) : rc;
    rc = rc == MM_OK ? open_list(s) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    if (!known) {
        open_name(s);
    }
    rc = mmi_spool_mend(s, known, report);
    s->epoch += rc == MM_OK ? open_step(s, known) : 0;
    rc = rc == MM_OK ? mmi_spool_producers_open(s, known) : rc;
    rc = rc == MM_OK ? mmi_spool_note(s, s->durable_seq) : rc;
    s->noted_seq = s->durable_seq;
    if (rc == MM_OK) {
        rc = mmi_spool_reserve_make(s);
        s->reserved = rc == MM_OK;
        rc = rc == MM_ENOSPC ? MM_OK : rc; /* it is made when there is room again */
    }
    return rc == MM_OK ? f->sync_folder(f->self, s->place.dir) : rc;
}

void
mmi_spool_abandon(mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    mmi_spool_file_close(&s->place, &s->file);
    mmi_slots_close(&s->state);
    int *const files[] = { &s->spare, &s->quarantine, &s->lock };
    for (size_t i = 0; i < MMI_COUNT_OF(files); i++) {
        if (*files[i] >= 0) {
            f->close(f->self, *files[i]);
            *files[i] = -1;
        }
    }
    mmi_free(s->bases);
    mmi_free(s->ends);
    mmi_free(s->pending.body);
    mmi_free(s->writing.body);
    mmi_producers_fini(&s->producers);
    s->bases = s->ends = NULL;
    s->pending = s->writing = (mmi_spool_pending){ .body = NULL };
}

int
mmi_spool_open(mmi_spool *s, const mmi_files *files, int dir, const mmi_spool_opts *opts,
               mmi_spool_report *report)
{
    *report = (mmi_spool_report){ .made = false };
    *s = (mmi_spool){ .opts = *opts, .place = { files, dir }, .lock = -1, .quarantine = -1 };
    s->state.file = s->file.file = s->spare = s->again = -1;
    if (!open_opts_valid(&s->opts)) {
        return MM_EINVAL;
    }
    int rc = mmi_spool_folder_check(&s->place, s->opts.remote);
    rc = rc == MM_OK ? open_lock(s, report) : rc;
    rc = rc == MM_OK ? open_log(s, report) : rc;
    if (rc != MM_OK) {
        mmi_spool_abandon(s);
    }
    return rc;
}

int
mmi_spool_close(mmi_spool *s)
{
    const mmi_files *f = s->place.files;
    int rc = s->failed ? MM_EIO : MM_OK;
    bool fits = s->file.end + mmi_spool_batch_size(0) <= s->opts.file_bytes && !s->cramped;
    bool all = !s->busy && s->pending.count == 0 && s->written_seq == s->last_seq;
    rc = rc == MM_OK && all ? f->sync_data(f->self, s->file.file) : rc;
    if (rc == MM_OK && all && s->producers.count > 0 && s->listed_seq != s->last_seq) {
        (void)mmi_spool_producers_list(s); /* or the next opening reads more */
    }
    if (rc == MM_OK && all && !fits) {
        rc = mmi_spool_note(s, s->last_seq);
    } else if (rc == MM_OK && all) {
        mmi_spool_batch end = { .epoch = s->epoch,
                                .type = MMI_SPOOL_CLOSE,
                                .first_seq = s->last_seq + 1,
                                .time_us = s->time_us,
                                .durable_seq = s->last_seq };
        rc = mmi_spool_file_write(&s->place, &s->file, &end, NULL, 0, 0);
        rc = rc == MM_OK ? f->sync_data(f->self, s->file.file) : rc;
        s->durable_seq = rc == MM_OK ? s->last_seq : s->durable_seq;
        rc = rc == MM_OK ? mmi_spool_note(s, s->last_seq) : rc;
    }
    if (s->spare >= 0) {
        (void)f->unlink(f->self, s->place.dir, mmi_spool_spare_name);
    }
    (void)f->unlock(f->self, s->lock); /* a child that was forked may have it open */
    (void)f->unlock(f->self, s->place.dir);
    mmi_spool_abandon(s);
    return rc;
}
