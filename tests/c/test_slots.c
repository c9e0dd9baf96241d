/*
 * test_slots.c: two slots: what comes back, rot of each bit, failures of the disk.
 *
 * Not here: crashes (test_slots_crash.c), what is kept in them.
 */
#include "spool/slots.h"

#include "base/octets.h"
#include "slots_rig.h"
#include "spool/crc32c.h"

enum {
    SMALL = 21, /* octets */
    BITS = 8
};

static void
test_what_was_written_last_is_there(files_world *w)
{
    mmi_slots s;
    uint32_t id;
    CHECK_INT(open_in(&s, &w->files, w->dir, false, &id), MM_ENOENT);
    CHECK_INT(open_in(&s, &w->files, w->dir, true, &id), MM_OK);
    CHECK(id == 0 && !s.older && s.number == 1);
    mmi_slots_close(&s);
    mmi_slots_close(&s);
    for (uint32_t last = 0; last < 20; last++) {
        CHECK_INT(opened(&s, &w->files, w->dir), last);
        CHECK(!s.older);
        CHECK_INT(write_id(&s, last + 1), MM_OK);
        mmi_slots_close(&s);
    }
    for (uint32_t last = 20; last < 60; last += 2) {
        CHECK_INT(opened(&s, &w->files, w->dir), last);
        CHECK_INT(write_id(&s, last + 1), MM_OK);
        CHECK_INT(write_id(&s, last + 2), MM_OK);
        mmi_slots_close(&s);
    }
    int file = file_made(&w->files, w->dir, "slots");
    CHECK_INT(file_size(&w->files, file), BOTH);
    CALL(w, close, file);
}

static void
test_all_sizes_that_there_may_be(files_world *w)
{
    const uint32_t sizes[] = { 1, MMI_SLOT_DATA_MAX, 0, MMI_SLOT_DATA_MAX - 1, 3 };
    static uint8_t data[MMI_SLOT_DATA_MAX + 1];
    mmi_slots s;
    made(&w->files, w->dir, 0);
    for (size_t i = 0; i < MMI_COUNT_OF(sizes); i++) {
        uint32_t size;
        memset(data, (int)i + 1, sizeof data);
        opened(&s, &w->files, w->dir);
        CHECK_INT(mmi_slots_write(&s, data, MMI_SLOT_DATA_MAX + 1), MM_EMSGSIZE);
        CHECK_INT(mmi_slots_write(&s, data, sizes[i]), MM_OK);
        mmi_slots_close(&s);
        CHECK_INT(mmi_slots_open(&s, &w->files, w->dir, "slots", false, buffer, &size), MM_OK);
        CHECK_INT(size, sizes[i]);
        CHECK(memcmp(buffer, data, size) == 0);
        mmi_slots_close(&s);
    }
}

static void
test_a_slot_is_these_octets(files_world *w)
{
    const uint8_t three[MMI_SLOT_HEAD + 3] = "MMSLOT1\0\3\0\0\0\0\0\0\0\3\0\0\0\x86\x3a\xb7\x15"
                                             "abc";
    const uint8_t four[MMI_SLOT_HEAD] = "MMSLOT1\0\4\0\0\0\0\0\0\0\0\0\0\0\x9d\xe5\xa7\xee";
    uint8_t read[MMI_SLOT_HEAD + 4];
    mmi_slots s;
    made(&w->files, w->dir, 1);
    opened(&s, &w->files, w->dir);
    CHECK_INT(mmi_slots_write(&s, (const uint8_t *)"abc", 3), MM_OK);
    CHECK_INT(mmi_slots_write(&s, NULL, 0), MM_OK);
    CHECK_INT(CALL(w, read, s.file, MMI_SLOT, read, sizeof three), sizeof three);
    CHECK(memcmp(read, three, sizeof three) == 0);
    CHECK_INT(CALL(w, read, s.file, 0, read, sizeof four), sizeof four);
    CHECK(memcmp(read, four, sizeof four) == 0);
    mmi_slots_close(&s);
}

static void
turn(files_world *w, uint64_t at, uint8_t bits)
{
    int file = file_made(&w->files, w->dir, "slots");
    uint8_t octet;
    CHECK_INT(CALL(w, read, file, at, &octet, 1), 1);
    octet ^= bits;
    CHECK_INT(file_put(&w->files, file, at, &octet, 1), 1);
    CALL(w, close, file);
}

/* Of the newer one: the older is there, and it says so.  Behind the data nothing counts. */
static void
test_each_bit_of_the_newer_slot_counts(files_world *w)
{
    static uint8_t data[SMALL];
    for (uint8_t last = 0; last < 2; last++) {
        mmi_slots s;
        made(&w->files, w->dir, 0);
        opened(&s, &w->files, w->dir);
        for (uint8_t i = 0; i <= 4 + last; i++) {
            memset(data, i, sizeof data);
            CHECK_INT(mmi_slots_write(&s, data, sizeof data), MM_OK);
        }
        uint64_t number = s.number, at = (number & 1) * (uint64_t)MMI_SLOT;
        mmi_slots_close(&s);
        for (uint64_t bit = 0; bit < (MMI_SLOT_HEAD + SMALL + 1) * BITS; bit++) {
            bool behind = bit >= (MMI_SLOT_HEAD + SMALL) * BITS;
            uint32_t size;
            turn(w, at + bit / BITS, (uint8_t)(1 << bit % BITS));
            CHECK_INT(mmi_slots_open(&s, &w->files, w->dir, "slots", false, buffer, &size), MM_OK);
            CHECK_INT(s.older, !behind);
            CHECK_INT(s.number, behind ? number : number - 1);
            memset(data, behind ? 4 + last : 3 + last, sizeof data);
            CHECK_INT(size, SMALL);
            CHECK(memcmp(buffer, data, SMALL) == 0);
            mmi_slots_close(&s);
            turn(w, at + bit / BITS, (uint8_t)(1 << bit % BITS));
        }
        CALL(w, unlink, w->dir, "slots");
    }
}

static void
test_after_rot_of_the_newer_the_next_write_takes_its_place(files_world *w)
{
    mmi_slots s;
    made(&w->files, w->dir, 7);
    turn(w, 0, 1); /* number 8 */
    CHECK_INT(opened(&s, &w->files, w->dir), 6);
    CHECK(s.older && s.number == 7);
    CHECK_INT(write_id(&s, 70), MM_OK);
    mmi_slots_close(&s);
    CHECK_INT(opened(&s, &w->files, w->dir), 70);
    CHECK(!s.older && s.number == 8);
    mmi_slots_close(&s);
    turn(w, MMI_SLOT + MMI_SLOT_HEAD, 1); /* the older one: it cannot be told from a torn write */
    CHECK_INT(opened(&s, &w->files, w->dir), 70);
    CHECK(s.older);
    mmi_slots_close(&s);
}

static void
test_of_two_harmed_slots_nothing_is_believed_and_nothing_is_written(files_world *w)
{
    mmi_slots s;
    uint32_t id;
    made(&w->files, w->dir, 7);
    turn(w, MMI_SLOT_HEAD, 4);
    turn(w, MMI_SLOT + MMI_SLOT_HEAD + 1, 8);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(open_in(&s, &w->files, w->dir, true, &id), MM_EPROTO);
        CHECK(s.file < 0);
    }
    turn(w, MMI_SLOT_HEAD, 4);
    CHECK_INT(opened(&s, &w->files, w->dir), 7);
    mmi_slots_close(&s);
}

/* A head with that number and size, its CRC right, in the slot at that place. */
static int
forged(files_world *w, uint64_t at, uint64_t number, uint32_t size, uint32_t *id)
{
    uint8_t head[MMI_SLOT_HEAD] = "MMSLOT1";
    mmi_slots s;
    mmi_le64_put(head + 8, number);
    mmi_le32_put(head + 16, size);
    mmi_le32_put(head + 20, mmi_crc32c(0, head + 8, 12));
    made(&w->files, w->dir, 0);
    int file = file_made(&w->files, w->dir, "slots");
    CHECK_INT(file_put(&w->files, file, at, head, sizeof head), sizeof head);
    CALL(w, close, file);
    int rc = open_in(&s, &w->files, w->dir, false, id);
    uint64_t got = rc == MM_OK ? s.number : 0;
    CHECK(got != 1 || s.older == (at == 0)); /* if it was not made anew */
    mmi_slots_close(&s);
    CALL(w, unlink, w->dir, "slots");
    return (int)(got < INT32_MAX ? got : INT32_MAX);
}

static void
test_what_a_slot_says_that_cannot_be(files_world *w)
{
    uint32_t id;
    CHECK_INT(forged(w, 0, 10, 0, &id), 10);
    CHECK_INT(forged(w, 0, 11, 0, &id), 1);          /* an odd number in the first slot */
    CHECK_INT(forged(w, MMI_SLOT, 10, 0, &id), 1);   /* an even one in the second */
    CHECK_INT(forged(w, 0, 0, 0, &id), 1);
    CHECK_INT(forged(w, 0, 10, MMI_SLOT_DATA_MAX + 1, &id), 1);
    CHECK_INT(forged(w, 0, 10, UINT32_MAX, &id), 1);
    CHECK_INT(forged(w, 0, UINT64_MAX - 1, 0, &id), INT32_MAX);
    CHECK_INT(forged(w, MMI_SLOT, UINT64_MAX, 0, &id), 1); /* no number would come behind it */
}

static void
test_a_file_that_was_cut(files_world *w)
{
    const struct {
        uint64_t size;
        int64_t id;
    } cases[] = {
        { BOTH, 8 },          { BOTH - 1, 8 },
        { MMI_SLOT + 30, 8 }, { MMI_SLOT, 7 },
        { MMI_SLOT / 2, 7 },  { MMI_SLOT_HEAD - 1, MM_EPROTO },
        { 1, MM_EPROTO },     { 0, 0 },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        mmi_slots s;
        uint32_t id;
        made(&w->files, w->dir, 0);
        opened(&s, &w->files, w->dir);
        const uint8_t seven[4] = { 7 }, eight[4] = { 8 };
        CHECK_INT(mmi_slots_write(&s, seven, 4), MM_OK);
        CHECK_INT(mmi_slots_write(&s, eight, 4), MM_OK);
        CHECK_INT(CALL(w, truncate, s.file, cases[i].size), MM_OK);
        mmi_slots_close(&s);
        int rc = mmi_slots_open(&s, &w->files, w->dir, "slots", false, buffer, &id);
        CHECK_INT(rc == MM_OK ? (id > 0 ? buffer[0] : 0) : rc, cases[i].id);
        mmi_slots_close(&s);
        CALL(w, unlink, w->dir, "slots");
    }
}

/* After that failure of a write each later one says MM_EIO, and asks nothing of the disk. */
static void
fail_once(mmi_disk_op op, int error, int wanted)
{
    disk_rig r = rig_plain(1);
    mmi_slots s;
    made(&r.files, r.dir, 3);
    CHECK_INT(opened(&s, &r.files, r.dir), 3);
    mmi_disk_fail(r.disk, op, 1, error);
    CHECK_INT(write_id(&s, 4), wanted);
    uint64_t operations = rig_space(&r).operations;
    for (uint32_t i = 5; i < 8; i++) {
        CHECK_INT(write_id(&s, i), MM_EIO);
    }
    CHECK_INT(rig_space(&r).operations, operations);
    mmi_slots_close(&s);
    uint32_t id = opened(&s, &r.files, r.dir);
    CHECK(id == 3 || id == 4);
    CHECK_INT(write_id(&s, 8), MM_OK);
    mmi_slots_close(&s);
    CHECK_INT(opened(&s, &r.files, r.dir), 8);
    mmi_slots_close(&s);
    rig_close(&r);
}

static void
test_after_a_failure_nothing_is_written_until_it_is_opened_again(void)
{
    fail_once(MMI_DISK_WRITE, EIO, MM_EIO);
    fail_once(MMI_DISK_WRITE, ENOSPC, MM_ENOSPC);
    fail_once(MMI_DISK_SYNC, EIO, MM_EIO);
}

static void
test_opening_fails_as_the_disk_does_and_leaves_nothing_open(void)
{
    const mmi_disk_op ops[] = { MMI_DISK_OPEN, MMI_DISK_READ, MMI_DISK_WRITE, MMI_DISK_SYNC };
    for (uint32_t last = 0; last < 2; last++) {
        for (size_t i = 0; i < MMI_COUNT_OF(ops); i++) {
            disk_rig r = rig_plain(1);
            mmi_slots s;
            uint32_t id;
            if (last > 0) {
                made(&r.files, r.dir, last);
            }
            uint32_t handles = rig_space(&r).handles;
            mmi_disk_fail(r.disk, ops[i], 1, EIO);
            CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_EIO);
            CHECK_INT(rig_space(&r).handles, handles);
            CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_OK);
            CHECK_INT(id, last);
            mmi_slots_close(&s);
            rig_close(&r);
        }
    }
}

static void
test_no_memory_is_said(void)
{
    disk_rig r = rig_plain(1);
    mmi_slots s;
    uint32_t id;
    mm_test_alloc_fail(1);
    CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_ENOMEM);
    mm_test_alloc_fail(0);
    CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_OK);
    mmi_slots_close(&s);
    rig_close(&r);
}

/* It has its room from the first day on. */
static void
test_a_full_disk_stops_no_write(void)
{
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .capacity = BOTH + 16 * 1024 });
    mmi_slots s;
    made(&r.files, r.dir, 0);
    int other = file_made(&r.files, r.dir, "other");
    while (file_put(&r.files, other, file_size(&r.files, other), buffer, 4096) == 4096) {
    }
    opened(&s, &r.files, r.dir);
    for (uint32_t id = 1; id < 40; id++) {
        CHECK_INT(write_id(&s, id), MM_OK);
    }
    mmi_slots_close(&s);
    CHECK_INT(opened(&s, &r.files, r.dir), 39);
    mmi_slots_close(&s);
    rig_close(&r);
}

/* What there is room for goes, and the next write says why the rest does not. */
static void
test_a_disk_that_is_nearly_full_is_full(void)
{
    disk_rig r = rig_open(1, &(mmi_disk_opts){ .capacity = BOTH + 16 * 1024 });
    mmi_slots s;
    uint32_t id;
    int other = file_made(&r.files, r.dir, "other");
    while (rig_space(&r).used < BOTH + 8 * 1024) {
        CHECK_INT(file_put(&r.files, other, file_size(&r.files, other), buffer, 4096), 4096);
    }
    CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_ENOSPC);
    CHECK_INT(open_in(&s, &r.files, r.dir, false, &id), MM_ENOENT);
    CALL(&r, close, other);
    CHECK_INT(CALL(&r, unlink, r.dir, "other"), MM_OK);
    CHECK_INT(open_in(&s, &r.files, r.dir, true, &id), MM_OK);
    mmi_slots_close(&s);
    rig_close(&r);
}

/* The rest goes with the next one. */
static void
test_a_short_write_is_no_failure(void)
{
    disk_rig r = rig_plain(1);
    mmi_slots s;
    made(&r.files, r.dir, 3);
    CHECK_INT(opened(&s, &r.files, r.dir), 3);
    mmi_disk_fail(r.disk, MMI_DISK_WRITE, 1, 0);
    CHECK_INT(write_id(&s, 4), MM_OK);
    mmi_slots_close(&s);
    CHECK_INT(opened(&s, &r.files, r.dir), 4);
    mmi_slots_close(&s);
    rig_close(&r);
}

int
main(void)
{
    static files_test *const tests[] = {
        test_what_was_written_last_is_there,
        test_all_sizes_that_there_may_be,
        test_a_slot_is_these_octets,
        test_each_bit_of_the_newer_slot_counts,
        test_after_rot_of_the_newer_the_next_write_takes_its_place,
        test_of_two_harmed_slots_nothing_is_believed_and_nothing_is_written,
        test_what_a_slot_says_that_cannot_be,
        test_a_file_that_was_cut,
    };
    files_run(tests, MMI_COUNT_OF(tests));
    RUN(test_after_a_failure_nothing_is_written_until_it_is_opened_again);
    RUN(test_opening_fails_as_the_disk_does_and_leaves_nothing_open);
    RUN(test_no_memory_is_said);
    RUN(test_a_full_disk_stops_no_write);
    RUN(test_a_disk_that_is_nearly_full_is_full);
    RUN(test_a_short_write_is_no_failure);
    return 0;
}
