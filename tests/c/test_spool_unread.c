/*
 * test_spool_unread.c: sectors that the disk does not give: readers are told which messages that
 * takes, and go on behind them; an opening calls none of them torn.
 *
 * Not here: what reads and is not what it was (test_spool_harm.c).
 */
#include <errno.h>

#include "spool_steps.h"

enum {
    EACH = 3,            /* messages of a batch */
    BATCHES_MAX = 200,
    ALL_MAX = EACH * BATCHES_MAX
};

/* Where each batch of a file begins, and one more: where the last ends. */
typedef struct places {
    uint64_t base;
    uint64_t at[BATCHES_MAX + 1];
    int count;
} places;

/* Batches until there are so many files, or so many batches; of the last file but one if it is
 * sealed, else of the last. */
static places
put_batches(spool_rig *r, uint32_t files, int batches)
{
    places now = { .base = 1 }, before = now;
    for (int i = 0; i < batches && r->spool.file_count < files; i++) {
        uint32_t count = r->spool.file_count;
        uint64_t first = r->spool.last_seq + 1, end = r->spool.file.end;
        spool_rig_batches(r, 1, EACH);
        if (r->spool.file_count > count) {
            now.at[now.count] = end;
            before = now;
            now = (places){ .base = first };
            end = MMI_SPOOL_FILE_HEAD;
        }
        CHECK(now.count < BATCHES_MAX);
        now.at[now.count++] = end;
        now.at[now.count] = r->spool.file.end;
    }
    return r->spool.file_count > 1 ? before : now;
}

static void
spoil(spool_rig *r, uint64_t base, uint64_t from, uint64_t end)
{
    char name[MMI_SPOOL_NAME];
    int file;
    mmi_spool_name(base, name);
    CHECK_INT(CALL(&r->disk, open, r->disk.dir, name, 0, &file), MM_OK);
    for (uint64_t at = from; at < end; at += MMI_FILE_SECTOR) {
        CHECK_INT(mmi_disk_spoil(r->disk.disk, file, at), MM_OK);
    }
    CHECK_INT(mmi_disk_spoil(r->disk.disk, file, end - 1), MM_OK);
    CALL(&r->disk, close, file);
}

/* Which messages a spoiled range takes: of the batches that have a part of a spoiled sector. */
static void
spoiled(const places *p, uint64_t from, uint64_t end, uint64_t *first, uint64_t *last)
{
    from -= from % MMI_FILE_SECTOR;
    end += (MMI_FILE_SECTOR - end % MMI_FILE_SECTOR) % MMI_FILE_SECTOR;
    *first = *last = 0;
    for (int b = 0; b < p->count; b++) {
        if (p->at[b] < end && p->at[b + 1] > from) {
            *first = *first == 0 ? p->base + (uint64_t)b * EACH : *first;
            *last = p->base + (uint64_t)b * EACH + EACH - 1;
        }
    }
}

/* Reads all, over what is harmed: the only range that is told is this one. */
static void
check_told(spool_rig *r, uint64_t first, uint64_t last)
{
    uint64_t next = 1;
    uint32_t told = 0;
    int rc;
    while ((rc = spool_rig_read(r, next, &next)) != 0) {
        mmi_spool_where where;
        mmi_spool_reader reader;
        CHECK_INT(rc, MMI_SPOOL_HARMED);
        mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, next);
        for (int again = 0; again < 2; again++) {
            mmi_spool_locate(&r->spool, next, &where);
            CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
        }
        CHECK_INT(next, first);
        CHECK_INT(reader.lost_last, last);
        next = reader.lost_last + 1;
        mmi_spool_reader_close(&reader);
        told++;
    }
    CHECK_INT(next, r->spool.last_seq + 1);
    CHECK_INT(told, last >= first && first > 0);
}

/* Of a file that is not the last, and of the last one while it is open. */
static void
test_a_reader_is_told_what_a_sector_takes(void)
{
    for (uint32_t files = 2; files <= 3; files++) {
        spool_rig r;
        spool_rig_started(&r, files, MMI_SPOOL_DISK);
        places p = put_batches(&r, files - 1, 40);
        p = files == 2 ? put_batches(&r, 9, 20) : put_batches(&r, files, BATCHES_MAX);
        spool_rig_free(&r);
        for (int b = 0; b < p.count; b += 3) {
            for (int part = 0; part < 3; part++) { /* a head, a body, and several sectors */
                uint64_t first, last, from = p.at[b] + (part == 1 ? MMI_SPOOL_BATCH_HEAD + 9 : 0);
                uint64_t end = part == 2 ? from + 5 * (uint64_t)MMI_FILE_SECTOR : from + 1;
                end = end < p.at[p.count] ? end : p.at[p.count];
                spool_rig_started(&r, files, MMI_SPOOL_DISK);
                places q = put_batches(&r, files - 1, 40);
                q = files == 2 ? put_batches(&r, 9, 20) : put_batches(&r, files, BATCHES_MAX);
                CHECK(q.base == p.base && q.count == p.count);
                spoil(&r, p.base, from, end);
                spoiled(&p, from, end, &first, &last);
                check_told(&r, first, last);
                spool_rig_free(&r);
            }
        }
    }
}

static void
test_a_head_that_cannot_be_read_takes_its_file(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    places p = put_batches(&r, 3, BATCHES_MAX);
    spoil(&r, p.base, 0, 1);
    check_told(&r, p.base, r.spool.bases[2] - 1);
    spool_rig_free(&r);
}

/* In the last file: opening tells, and with gaps goes on around it; no number is given again. */
static void
test_an_opening_tells_of_a_sector_or_goes_on_around_it(void)
{
    enum { COUNT = 25 };
    for (int b = 0; b < COUNT; b++) {
        for (int known = 0; known < 2; known++) {
            spool_rig r;
            uint64_t first, last;
            spool_rig_started(&r, (uint64_t)b + 1, MMI_SPOOL_DISK);
            places p = put_batches(&r, 9, COUNT);
            uint64_t from = p.at[b] + (b % 2 == 0 ? 0 : MMI_SPOOL_BATCH_HEAD + 9),
                     all = COUNT * EACH;
            spoiled(&p, from, from + 1, &first, &last);
            if (known == 1) { /* its state says that all was durable */
                CHECK_INT(mmi_spool_note(&r.spool, all), MM_OK);
            }
            spoil(&r, 1, from, from + 1);
            spool_rig_stop(&r, false);
            for (int again = 0; again < 2; again++) {
                CHECK_INT(spool_rig_open(&r), MMI_SPOOL_HARMED);
                CHECK_INT(r.report.lost_first, first);
                CHECK(r.report.lost_last >= last);
                CHECK(last == all || r.report.lost_last == last);
            }
            r.opts.gaps = true;
            CHECK_INT(spool_rig_open(&r), MM_OK);
            r.life = 1;
            CHECK(r.spool.last_seq >= all);
            check_told(&r, first, last == all ? r.spool.last_seq : last);
            spool_rig_stop(&r, true);
            r.opts.gaps = false;
            CHECK_INT(spool_rig_open(&r), MM_OK);
            r.life = 1;
            check_told(&r, first, last == all ? r.spool.last_seq : last);
            spool_rig_free(&r);
        }
    }
}

/* A head of the last file: all of it may be gone, and is told. */
static void
test_an_opening_tells_of_a_head_that_cannot_be_read(void)
{
    spool_rig r;
    spool_rig_started(&r, 1, MMI_SPOOL_DISK);
    places p = put_batches(&r, 9, 10);
    CHECK_INT(p.base, 1);
    spoil(&r, 1, 0, 1);
    spool_rig_stop(&r, false);
    CHECK_INT(spool_rig_open(&r), MMI_SPOOL_HARMED);
    CHECK_INT(r.report.lost_first, 1);
    CHECK(r.report.lost_last >= 10 * EACH);
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK(r.spool.last_seq >= 10 * EACH);
    spool_rig_free(&r);
}

enum { ONCE = 25 };

/* A spool whose last opening saw the nth read fail.  What that said. */
static int
opened_once(spool_rig *r, uint64_t nth, bool torn, bool gaps)
{
    static const uint8_t noise[600] = { 9 };
    spool_rig_started(r, nth, nth % 2 == 0 ? MMI_SPOOL_DISK : MMI_SPOOL_OS);
    (void)put_batches(r, 9, ONCE);
    if (torn) {
        uint64_t at = r->spool.file.end + 64;
        CHECK_INT(file_put(&r->disk.files, r->spool.file.file, at, noise, sizeof noise),
                  sizeof noise);
    }
    spool_rig_stop(r, false);
    r->opts.gaps = gaps;
    mmi_disk_fail(r->disk.disk, MMI_DISK_READ, nth, EIO);
    int rc = spool_rig_open(r);
    mmi_disk_fail(r->disk.disk, MMI_DISK_READ, 0, 0);
    spool_rig_stop(r, false);
    return rc;
}

/* For all n, whatever is behind the last batch: nothing that is there is called torn or harmed, and
 * the next opening finds all of it. */
static void
test_a_read_that_fails_once_takes_nothing(void)
{
    enum { READS = 120 };
    uint32_t failed = 0, fine = 0;
    for (int how = 0; how < 4; how++) {
        for (uint64_t nth = 1; nth <= READS; nth++) {
            spool_rig r;
            int rc = opened_once(&r, nth, how % 2 != 0, how / 2 != 0);
            CHECK(rc == MM_OK || rc == MM_EIO);
            failed += rc != MM_OK;
            fine += rc == MM_OK;
            CHECK_INT(spool_rig_open(&r), MM_OK);
            r.life = 1;
            CHECK_INT(r.spool.last_seq, ONCE * EACH);
            check_told(&r, 0, 0);
            spool_rig_free(&r);
        }
    }
    CHECK(failed > 0 && fine > 0);
}

int
main(void)
{
    RUN(test_a_reader_is_told_what_a_sector_takes);
    RUN(test_a_head_that_cannot_be_read_takes_its_file);
    RUN(test_an_opening_tells_of_a_sector_or_goes_on_around_it);
    RUN(test_an_opening_tells_of_a_head_that_cannot_be_read);
    RUN(test_a_read_that_fails_once_takes_nothing);
    return 0;
}
