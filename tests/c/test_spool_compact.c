/*
 * test_spool_compact.c: what a pass of compaction takes from a spool, and what it leaves: the last
 * message of each key, what has no key, numbers as they were, and no harm where something is gone.
 *
 * Not here: crashes and faults (test_spool_compact_crash.c), threads (test_spool_compact_shared.c).
 */
#include "compact_rig.h"

enum { MOST = SPOOL_MESSAGES_MAX, SHARED_KEYS = 40 };

static bool there[MOST];

/* Every fifth has no key; of the keys one in sixteen messages is a tombstone. */
static keyed
mixed(uint64_t seq)
{
    uint32_t seed = (uint32_t)seq * 2654435761u + 17;
    int key = seq % 5 == 0 ? NO_KEY : (int)(check_random(&seed) % SHARED_KEYS);
    bool empty = check_random(&seed) % 16 == 0;
    return (keyed){ .key = key, .size = empty ? 0 : 1 + seq % KEYED_BODY };
}

/* One key, deleted by the fourth of all, and never used again. */
static keyed
buried(uint64_t seq)
{
    bool mine = seq <= 4;
    return (keyed){ .key = mine ? 7 : NO_KEY, .size = seq == 4 ? 0 : KEYED_BODY };
}

/* A key of its own for each. */
static keyed
single(uint64_t seq)
{
    return (keyed){ .key = (int)seq, .size = KEYED_BODY };
}

static keyed
same(uint64_t seq)
{
    return (keyed){ .key = 1, .size = 1 + seq % KEYED_BODY };
}

/* Of the numbers below `end`, is that one the last of its key, or without one? */
static bool
stays(keyed_of what, uint64_t seq, uint64_t end)
{
    int key = what(seq).key;
    for (uint64_t later = seq + 1; key != NO_KEY && later < end; later++) {
        if (what(later).key == key) {
            return false;
        }
    }
    return true;
}

static void
check_read(spool_rig *r, keyed_of what, uint64_t end)
{
    CHECK_INT(keyed_read(r, what, there, MOST), 0);
    for (uint64_t seq = 1; seq <= r->spool.last_seq; seq++) {
        CHECK_INT(there[seq], seq >= end || stays(what, seq, end));
    }
}

static void
keyed_started(spool_rig *r, uint64_t seed, keyed_of what, uint32_t files, int each)
{
    spool_rig_started(r, seed, MMI_SPOOL_DISK);
    keyed_files(r, what, files, each);
}

static void
opened_again(spool_rig *r)
{
    spool_rig_close(r);
    CHECK_INT(spool_rig_open(r), MM_OK);
    CHECK_INT(r->report.lost_first, 0);
}

static void
test_of_each_key_the_last_stays_and_so_does_what_has_none(void)
{
    for (int each = 1; each < 30; each += 7) {
        spool_rig r;
        mmi_compact c;
        keyed_started(&r, (uint64_t)each, mixed, 4, each);
        uint64_t end = r.spool.bases[3], bytes = r.spool.sealed_bytes;
        CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .tombstone_us = UINT64_MAX }, &c), MM_OK);
        CHECK_INT(r.spool.clean_seq, end);
        CHECK_INT(c.counts.written, 3);
        CHECK(c.counts.messages > end / 2 && r.spool.sealed_bytes < bytes);
        check_read(&r, mixed, end);
        opened_again(&r);
        CHECK_INT(r.spool.clean_seq, end);
        check_read(&r, mixed, end);
        spool_rig_free(&r);
    }
}

/* The next pass reads only what is new to know its keys, and takes from all files. */
static void
test_passes_follow_each_other(void)
{
    spool_rig r;
    mmi_compact c;
    keyed_started(&r, 3, mixed, 2, 9);
    for (uint32_t files = 3; files < 9; files++) {
        uint64_t end = r.spool.bases[r.spool.file_count - 1];
        CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .tombstone_us = UINT64_MAX }, &c), MM_OK);
        check_read(&r, mixed, end);
        CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .tombstone_us = UINT64_MAX }, &c), MM_OK);
        CHECK_INT(c.counts.written, 0); /* nothing is new */
        keyed_files(&r, mixed, files, 9);
    }
    spool_rig_free(&r);
}

static void
test_a_full_table_makes_parts_of_a_pass(void)
{
    for (uint32_t most = 1; most <= SHARED_KEYS; most += 13) {
        spool_rig r;
        mmi_compact c;
        keyed_started(&r, most, mixed, 4, 11);
        uint64_t end = r.spool.bases[3];
        const mmi_compact_plan plan = { .tombstone_us = UINT64_MAX, .keys_max = most };
        CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
        CHECK_INT(r.spool.clean_seq, end);
        check_read(&r, mixed, end);
        opened_again(&r);
        check_read(&r, mixed, end);
        spool_rig_free(&r);
    }
}

static void
test_a_tombstone_goes_when_its_time_is_over_and_not_before(void)
{
    enum { AGE = 1000 };
    spool_rig r;
    mmi_compact c;
    keyed_started(&r, 5, buried, 3, 2);
    mmi_compact_plan plan = { .now_us = 5000000, .tombstone_us = AGE };
    CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
    CHECK_INT(c.counts.messages, 3);
    CHECK_INT(c.counts.tombstones, 0);
    CHECK_INT(keyed_read(&r, buried, there, MOST), 0);
    CHECK(!there[1] && !there[2] && !there[3] && there[4] && there[5]);
    plan.now_us += AGE - 1;
    CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
    CHECK_INT(c.counts.written, 0);
    plan.now_us += 1;
    CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
    CHECK_INT(c.counts.messages, 1);
    CHECK_INT(c.counts.tombstones, 1);
    CHECK_INT(keyed_read(&r, buried, there, MOST), 0);
    CHECK(!there[4] && there[5]);
    opened_again(&r);
    CHECK_INT(keyed_read(&r, buried, there, MOST), 0);
    CHECK(!there[4] && there[5]);
    spool_rig_free(&r);
}

/* Files of which little is left go together, and their number is bounded by what they have. */
static void
test_small_files_go_together(void)
{
    spool_rig r;
    mmi_compact c;
    keyed_started(&r, 6, same, 7, 20);
    uint64_t end = r.spool.bases[6], made_us = 0;
    const mmi_compact_plan plan = { .merge_bytes = MMI_SPOOL_FILE_MIN / 4 };
    mmi_spool_file first;
    CHECK_INT(mmi_spool_file_open(&r.spool.place, 1, false, &first), MM_OK);
    made_us = first.head.made_us;
    mmi_spool_file_close(&r.spool.place, &first);
    CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
    CHECK_INT(c.counts.written, 1);
    CHECK_INT(c.counts.merged, 5);
    CHECK_INT(r.spool.file_count, 2);
    CHECK_INT(r.spool.bases[1], end);
    check_read(&r, same, end);
    CHECK_INT(mmi_spool_file_open(&r.spool.place, 1, false, &first), MM_OK);
    CHECK_INT(first.head.made_us, made_us); /* it is as old as it was */
    CHECK_INT(first.head.version, MMI_SPOOL_COMPACTED);
    mmi_spool_file_close(&r.spool.place, &first);
    opened_again(&r);
    CHECK_INT(r.spool.file_count, 2);
    check_read(&r, same, end);
    spool_rig_free(&r);
}

/* Whatever number a reader is at as its file is replaced, and wherever it goes on. */
static void
test_who_reads_meanwhile_reads_on(void)
{
    for (uint64_t at = 1; at < 600; at += 7) {
        spool_rig r;
        mmi_compact c;
        mmi_spool_reader reader;
        mmi_spool_where where;
        mmi_spool_record got;
        uint64_t seq = 0, before = 0;
        keyed_started(&r, at, mixed, 5, 13);
        uint64_t end = r.spool.bases[4];
        mmi_spool_reader_open(&reader, &r.disk.files, r.disk.dir, at);
        mmi_spool_locate(&r.spool, at, &where);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        const mmi_compact_plan plan = { .merge_bytes = at % 2 * MMI_SPOOL_FILE_MIN };
        CHECK_INT(keyed_pass(&r, plan, &c), MM_OK);
        for (;;) {
            int rc = mmi_spool_reader_next(&reader, &got, &seq);
            CHECK(rc >= 0);
            if (rc == 1) {
                CHECK(seq > before && got.size == mixed(seq).size);
                for (uint64_t i = before > 0 ? before + 1 : at; i < seq; i++) {
                    CHECK(!stays(mixed, i, end) || mixed(i).size == 0);
                }
                before = seq;
                continue;
            }
            mmi_spool_locate(&r.spool, reader.next_seq, &where);
            rc = mmi_spool_reader_load(&reader, &where);
            if (rc == 0) {
                break;
            }
            CHECK(rc == 1 || rc == MMI_SPOOL_PASSED);
        }
        CHECK_INT(before, r.spool.last_seq);
        mmi_spool_reader_close(&reader);
        spool_rig_free(&r);
    }
}

/* Where a file is harmed it stays, what is older of its keys goes all the same, and a tombstone
 * behind it stays: something older may be in it. */
static void
test_what_is_harmed_is_left_and_no_tombstone_behind_it_goes(void)
{
    spool_rig r;
    mmi_compact c;
    int file;
    char name[MMI_SPOOL_NAME];
    keyed_started(&r, 8, mixed, 5, 13);
    uint64_t second = r.spool.bases[1], end = r.spool.bases[4];
    mmi_spool_name(second, name);
    const mmi_files *f = &r.disk.files;
    CHECK_INT(f->open(f->self, r.disk.dir, name, 0, &file), MM_OK);
    CHECK_INT(mmi_disk_rot(r.disk.disk, file, MMI_SPOOL_FILE_HEAD + 30000), MM_OK);
    f->close(f->self, file);
    CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .tombstone_us = 0 }, &c), MM_OK);
    CHECK_INT(c.counts.skipped, 1);
    CHECK_INT(c.counts.written, 3);
    CHECK_INT(r.spool.clean_seq, second);
    uint64_t at;
    bool tombs = false;
    CHECK_INT(keyed_read(&r, mixed, there, MOST), MMI_SPOOL_HARMED);
    mmi_spool_reader reader;
    mmi_spool_where where;
    for (at = r.spool.bases[2]; at < end; at++) { /* those behind it */
        if (!stays(mixed, at, end)) {
            continue;
        }
        mmi_spool_record got;
        uint64_t seq;
        mmi_spool_reader_open(&reader, f, r.disk.dir, at);
        mmi_spool_locate(&r.spool, at, &where);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), 1);
        CHECK_INT(mmi_spool_reader_next(&reader, &got, &seq), 1);
        CHECK_INT(seq, at);
        tombs |= got.size == 0;
        mmi_spool_reader_close(&reader);
    }
    CHECK(tombs);
    spool_rig_free(&r);
}

/* The last files are gone: one that was compacted is the last, is sound, and goes on. */
static void
test_a_compacted_file_may_be_the_last(void)
{
    spool_rig r;
    mmi_compact c;
    char name[MMI_SPOOL_NAME];
    keyed_started(&r, 9, same, 3, 20);
    uint64_t end = r.spool.bases[2];
    mmi_spool_name(end, name);
    CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .merge_bytes = MMI_SPOOL_FILE_MIN }, &c), MM_OK);
    spool_rig_close(&r);
    const mmi_files *f = &r.disk.files;
    CHECK_INT(f->unlink(f->self, r.disk.dir, name), MM_OK);
    CHECK_INT(f->unlink(f->self, r.disk.dir, "META"), MM_OK);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.report.lost_first, 0);
    CHECK_INT(r.spool.last_seq, end - 1);
    keyed_files(&r, same, 3, 20);
    opened_again(&r);
    CHECK_INT(keyed_read(&r, same, there, MOST), 0);
    CHECK(!there[1] && there[end - 1] && there[end] && there[end + 1]);
    spool_rig_free(&r);
}

/* What was lost is told of still. */
static void
test_a_gap_stays_a_gap(void)
{
    spool_rig r;
    mmi_compact c;
    int file;
    char name[MMI_SPOOL_NAME];
    keyed_started(&r, 10, single, 1, 13);
    for (int i = 0; i < 40; i++) {
        CHECK_INT(keyed_put(&r, single), MM_OK);
        CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    }
    spool_rig_close(&r);
    mmi_spool_name(1, name);
    const mmi_files *f = &r.disk.files;
    CHECK_INT(f->open(f->self, r.disk.dir, name, 0, &file), MM_OK);
    CHECK_INT(mmi_disk_rot(r.disk.disk, file, MMI_SPOOL_FILE_HEAD + 3000), MM_OK);
    f->close(f->self, file);
    r.opts.gaps = true;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    uint64_t lost = r.report.lost_first;
    CHECK(lost > 1);
    keyed_files(&r, same, 4, 20);
    CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .merge_bytes = 1 << 20 }, &c), MM_OK);
    CHECK(c.counts.written == 1 && c.counts.skipped == 0);
    mmi_spool_reader reader;
    mmi_spool_where where;
    mmi_spool_reader_open(&reader, f, r.disk.dir, lost);
    mmi_spool_locate(&r.spool, lost, &where);
    CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
    CHECK_INT(reader.lost_last, r.report.lost_last);
    mmi_spool_reader_close(&reader);
    spool_rig_free(&r);
}

/* Numbers that are not the file's own are the next one's, also where a merge was cut off. */
static void
test_a_file_that_came_back_counts_for_its_own_numbers(void)
{
    spool_rig r;
    mmi_compact c;
    keyed_started(&r, 11, mixed, 4, 13);
    uint64_t second = r.spool.bases[1], end = r.spool.bases[3];
    mmi_compact_plan plan = { .merge_bytes = 1 << 20,
                              .bases = r.spool.bases,
                              .count = 3,
                              .end = end,
                              .now_us = 1,
                              .tombstone_us = UINT64_MAX };
    CHECK_INT(mmi_compact_begin(&c, &r.spool, &plan), MM_OK);
    while (c.state != MMI_COMPACT_COMMIT) {
        CHECK(mmi_compact_step(&c) >= 0);
    }
    CHECK_INT(c.group.count, 3);
    const mmi_files *f = &r.disk.files;
    char name[MMI_SPOOL_NAME];
    mmi_spool_name(1, name); /* named, and no more: the others stay */
    CHECK_INT(f->rename(f->self, r.disk.dir, mmi_compact_name, r.disk.dir, name), MM_OK);
    CHECK_INT(f->sync_folder(f->self, r.disk.dir), MM_OK);
    mmi_compact_end(&c);
    spool_rig_stop(&r, true);
    CHECK_INT(spool_rig_open(&r), MM_OK);
    CHECK_INT(r.spool.file_count, 4);
    CHECK_INT(r.spool.bases[1], second);
    CHECK_INT(keyed_read(&r, mixed, there, MOST), 0);
    for (uint64_t seq = 1; seq <= r.spool.last_seq; seq++) {
        CHECK(there[seq] || !stays(mixed, seq, end));
    }
    CHECK_INT(keyed_pass(&r, (mmi_compact_plan){ .tombstone_us = UINT64_MAX }, &c), MM_OK);
    check_read(&r, mixed, end);
    spool_rig_free(&r);
}

/* A pass is cut in steps, each of which reads a bounded part. */
static void
test_a_step_is_bounded(void)
{
    spool_rig r;
    mmi_compact c;
    uint32_t steps = 0;
    spool_rig_new(&r, 12, &(mmi_disk_opts){ .capacity = 0 });
    r.opts.file_bytes = UINT64_C(8) * MMI_COMPACT_STEP;
    r.opts.batch_bytes = 64 * 1024;
    CHECK_INT(spool_rig_open(&r), MM_OK);
    uint8_t *body = mmi_alloc(60000);
    uint64_t size = 60000, seq;
    const uint8_t meta[] = { MMI_META_KEY, 0, 1, 9 };
    const mmi_spool_record record = { .meta = meta,
                                      .meta_size = sizeof meta,
                                      .frames = 1,
                                      .sizes = &size,
                                      .data = body,
                                      .size = size };
    while (r.spool.file_count < 3) {
        CHECK_INT(mmi_spool_put(&r.spool, &record, &seq), MM_OK);
        CHECK_INT(spool_rig_commit(&r, false), MM_OK);
    }
    const mmi_compact_plan plan = {
        .bases = r.spool.bases, .count = 2, .end = r.spool.bases[2], .now_us = 1
    };
    CHECK_INT(mmi_compact_begin(&c, &r.spool, &plan), MM_OK);
    while (c.state == MMI_COMPACT_MAP) {
        uint64_t at = c.scan.at;
        uint32_t file = c.at;
        CHECK(mmi_compact_step(&c) >= 0);
        CHECK(c.at != file || c.scan.at - at < MMI_COMPACT_STEP + UINT64_C(70000));
        steps++;
    }
    CHECK(steps >= 15);
    mmi_compact_end(&c);
    mmi_free(body);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_of_each_key_the_last_stays_and_so_does_what_has_none);
    RUN(test_passes_follow_each_other);
    RUN(test_a_full_table_makes_parts_of_a_pass);
    RUN(test_a_tombstone_goes_when_its_time_is_over_and_not_before);
    RUN(test_small_files_go_together);
    RUN(test_who_reads_meanwhile_reads_on);
    RUN(test_what_is_harmed_is_left_and_no_tombstone_behind_it_goes);
    RUN(test_a_compacted_file_may_be_the_last);
    RUN(test_a_gap_stays_a_gap);
    RUN(test_a_file_that_came_back_counts_for_its_own_numbers);
    RUN(test_a_step_is_bounded);
    return 0;
}
