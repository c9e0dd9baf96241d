/*
 * test_spool_torn.c: what is torn, and how much of it is kept: of a batch whose head is torn in the
 * room of a file that went, which has old octets behind it, and of one that is larger than what is
 * left of the disk.  Neither keeps a spool on a full disk from opening.
 *
 * Not here: what is believed of it (test_spool_crash.c), full disks otherwise (test_spool_full.c).
 */
#include "spool_steps.h"

enum {
    FILE_BYTES = 2 * 1024 * 1024,      /* octets of a segment file */
    BODY = 60 * 1024,                  /* octets of a message */
    LARGE = 1536 * 1024,               /* of one that is more than the reserve */
    CAPACITY = 6 * FILE_BYTES,         /* of the disk */
    KEPT_MAX = 64 * 1024               /* octets that may be of a batch whose head is torn */
};

static uint8_t body[LARGE];

static void
put(spool_rig *r, uint64_t size)
{
    uint64_t seq;
    for (uint64_t i = 0; i < size; i++) {
        body[i] = (uint8_t)check_random(&r->seed) | 1;
    }
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    CHECK_INT(mmi_spool_put(&r->spool, &record, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(r, false), MM_OK);
}

/* A spool whose last file is not half full; in the room of another, if that is asked for. */
static void
begun(spool_rig *r, uint64_t seed, bool again)
{
    spool_rig_new(r, seed, &(mmi_disk_opts){ .capacity = CAPACITY });
    r->opts.level = MMI_SPOOL_OS;
    r->opts.file_bytes = FILE_BYTES;
    r->opts.batch_bytes = FILE_BYTES / MMI_SPOOL_BATCHES_A_FILE;
    CHECK_INT(spool_rig_open(r), MM_OK);
    while (r->spool.file_count < 3) {
        put(r, BODY);
    }
    CHECK_INT(spool_trim(&r->spool, r->spool.last_seq, 1), 1);
    while (r->spool.file.stale == 0 && again) {
        put(r, BODY);
    }
    put(r, BODY);
    CHECK_INT(r->spool.file.head.version, again ? MMI_SPOOL_AGAIN : MMI_SPOOL_VERSION);
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
}

/* A batch is there but for one octet in its middle. */
static void
tear_body(spool_rig *r)
{
    const uint8_t other = 0;
    uint64_t at = r->spool.file.end + LARGE / 2, base = r->spool.file.head.base_seq;
    put(r, LARGE);
    CHECK_INT(r->spool.file.head.base_seq, base);
    CHECK_INT(file_put(&r->disk.files, r->spool.file.file, at, &other, sizeof other), 1);
}

static char kept_names[8][MMI_FILE_ENTRY_MAX + 1];
static uint32_t kept_count;

static void
kept_each(void *arg, const mmi_entry *entry)
{
    (void)arg;
    CHECK(kept_count < MMI_COUNT_OF(kept_names));
    memcpy(kept_names[kept_count++], entry->name, sizeof entry->name);
}

/* Octets that are in quarantine. */
static uint64_t
quarantined(spool_rig *r)
{
    uint64_t all = 0, size;
    int dir, file;
    kept_count = 0;
    CHECK_INT(CALL(&r->disk, folder, r->disk.dir, "quarantine", &dir), MM_OK);
    CHECK(CALL(&r->disk, list, dir, kept_each, NULL) >= 0);
    for (uint32_t i = 0; i < kept_count; i++) {
        CHECK_INT(CALL(&r->disk, open, dir, kept_names[i], 0, &file), MM_OK);
        CHECK_INT(CALL(&r->disk, size, file, &size), MM_OK);
        all += size;
        CALL(&r->disk, close, file);
    }
    CALL(&r->disk, close, dir);
    return all;
}

/* Opened, with those numbers, and it can be trimmed. */
static void
check_opened(spool_rig *r, uint64_t last)
{
    CHECK_INT(spool_rig_open(r), MM_OK);
    CHECK_INT(r->report.unclean, 1);
    CHECK_INT(r->report.lost_first, 0);
    CHECK_INT(r->spool.last_seq, last);
    CHECK(r->report.torn_bytes > 0 && r->report.torn_left <= r->report.torn_bytes);
    CHECK_INT(quarantined(r), r->report.torn_bytes - r->report.torn_left);
}

/* What another file left there goes on for nearly all of it, and is not taken for this one's. */
static void
test_of_a_torn_head_only_what_may_be_new_is_kept(void)
{
    spool_rig r;
    begun(&r, 1, true);
    uint64_t last = r.spool.last_seq;
    CHECK(r.spool.file.stale - r.spool.file.end > 2 * KEPT_MAX);
    spool_rig_tear_head(&r);
    spool_rig_stop(&r, false);
    check_opened(&r, last);
    CHECK_INT(r.report.torn_bytes, KEPT_MAX);
    CHECK_INT(r.report.torn_left, 0);
    spool_rig_free(&r);
}

/* On a full disk, and once more in the next life. */
static void
test_what_is_torn_keeps_no_spool_on_a_full_disk_from_opening(void)
{
    uint32_t left = 0;
    for (int tears = 0; tears < 4; tears++) {
        spool_rig r;
        begun(&r, 2, tears < 2);
        uint64_t last = r.spool.last_seq;
        if (tears % 2 == 0) {
            spool_rig_tear_head(&r);
        } else {
            tear_body(&r);
        }
        if (r.spool.spare >= 0) {
            CHECK_INT(CALL(&r.disk, unlink, r.disk.dir, mmi_spool_spare_name), MM_OK);
        }
        spool_rig_stop(&r, false);
        spool_rig_hog(&r, "hog", 0);
        check_opened(&r, last);
        left += r.report.torn_left > 0;
        CHECK(r.spool.cramped && !r.spool.failed);
        CHECK_INT(spool_rig_put(&r), MM_ENOSPC);
        CHECK_INT(spool_trim(&r.spool, last, 1), 1);
        spool_rig_stop(&r, false);
        CHECK_INT(spool_rig_open(&r), MM_OK);
        CHECK_INT(r.report.torn_bytes, 0);
        CHECK_INT(r.spool.last_seq, last);
        spool_rig_free(&r);
    }
    CHECK(left > 0);
}

/* There is room for the mending, and not for what is torn: no part of that is there then, and the
 * reserve is. */
static void
test_what_finds_no_room_is_told_and_takes_none(void)
{
    spool_rig r;
    begun(&r, 3, false);
    uint64_t last = r.spool.last_seq;
    tear_body(&r);
    spool_rig_stop(&r, false);
    spool_rig_hog(&r, "hog", LARGE / 2); /* beside that of the spare */
    check_opened(&r, last);
    CHECK_INT(r.report.torn_left, r.report.torn_bytes);
    CHECK(r.report.torn_bytes >= LARGE);
    CHECK(r.spool.reserved && !r.spool.cramped);
    CHECK_INT(spool_rig_put(&r), MM_OK);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_of_a_torn_head_only_what_may_be_new_is_kept);
    RUN(test_what_is_torn_keeps_no_spool_on_a_full_disk_from_opening);
    RUN(test_what_finds_no_room_is_told_and_takes_none);
    return 0;
}
