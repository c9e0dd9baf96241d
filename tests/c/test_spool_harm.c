/*
 * test_spool_harm.c: bits that turn, files that are cut, gone, swapped or foreign: it is told, or
 * does no harm; what is read is never another message, and none is left out without a word.
 *
 * Not here: crashes (test_spool_crash.c).  MESHMSG_SPOOL_STRIDE=1 turns every bit; the suite turns
 * some of them.
 */
#include "spool_rig.h"

enum {
    MESSAGES = 260,          /* over one file and a part of the next */
    A_BATCH = 5,             /* messages */
    SNAPSHOT_FILES = 8,
    STRIDE = 1009            /* bits */
};

/* The files of a folder as they were, but for one that has nothing but room. */
typedef struct snapshot {
    int count;
    char name[SNAPSHOT_FILES][MMI_SPOOL_NAME];
    uint8_t *data[SNAPSHOT_FILES];
    uint64_t size[SNAPSHOT_FILES];
} snapshot;

static void
snapshot_each(void *arg, const mmi_entry *entry)
{
    snapshot *s = arg;
    if (entry->kind == MMI_ENTRY_FILE && strcmp(entry->name, mmi_spool_reserve_name) != 0) {
        CHECK(s->count < SNAPSHOT_FILES);
        strcpy(s->name[s->count++], entry->name);
    }
}

static snapshot
snapshot_take(spool_rig *r)
{
    snapshot s = { .count = 0 };
    CHECK(CALL(&r->disk, list, r->disk.dir, snapshot_each, &s) > 0);
    for (int i = 0; i < s.count; i++) {
        int file;
        CHECK_INT(CALL(&r->disk, open, r->disk.dir, s.name[i], 0, &file), MM_OK);
        CHECK_INT(CALL(&r->disk, size, file, &s.size[i]), MM_OK);
        s.data[i] = malloc(s.size[i] + 1);
        CHECK_INT(CALL(&r->disk, read, file, 0, s.data[i], s.size[i]), s.size[i]);
        CALL(&r->disk, close, file);
    }
    return s;
}

typedef struct cleared {
    int count;
    char name[SNAPSHOT_FILES][MMI_FILE_NAME_MAX + 1];
} cleared;

static void
cleared_each(void *arg, const mmi_entry *entry)
{
    cleared *c = arg;
    if (c->count < SNAPSHOT_FILES) {
        strcpy(c->name[c->count++], entry->name);
    }
}

/* What was set aside goes as well, or each bit would add to it, as would names without a sync. */
static void
snapshot_clear_quarantine(spool_rig *r)
{
    cleared c = { .count = 0 };
    int dir;
    CHECK_INT(CALL(&r->disk, folder, r->disk.dir, "quarantine", &dir), MM_OK);
    CHECK(CALL(&r->disk, list, dir, cleared_each, &c) <= SNAPSHOT_FILES);
    for (int i = 0; i < c.count; i++) {
        CHECK_INT(CALL(&r->disk, unlink, dir, c.name[i]), MM_OK);
    }
    CHECK_INT(CALL(&r->disk, sync_folder, dir), MM_OK);
    CALL(&r->disk, close, dir);
}

static void
snapshot_clear(spool_rig *r)
{
    snapshot now = { .count = 0 };
    snapshot_clear_quarantine(r);
    CHECK(CALL(&r->disk, list, r->disk.dir, snapshot_each, &now) >= 0);
    for (int i = 0; i < now.count; i++) {
        CHECK_INT(CALL(&r->disk, unlink, r->disk.dir, now.name[i]), MM_OK);
    }
}

static void
snapshot_put_file(spool_rig *r, const char *name, const uint8_t *data, uint64_t size)
{
    int file = file_made(&r->disk.files, r->disk.dir, name);
    CHECK_INT(CALL(&r->disk, truncate, file, 0), MM_OK);
    CHECK_INT(file_put(&r->disk.files, file, 0, data, size), size);
    CALL(&r->disk, close, file);
}

static void
snapshot_restore(spool_rig *r, const snapshot *s)
{
    snapshot_clear(r);
    for (int i = 0; i < s->count; i++) {
        if (s->size[i] > 0) {
            snapshot_put_file(r, s->name[i], s->data[i], s->size[i]);
        }
    }
    CHECK_INT(CALL(&r->disk, sync_folder, r->disk.dir), MM_OK);
}

static void
snapshot_free(snapshot *s)
{
    for (int i = 0; i < s->count; i++) {
        free(s->data[i]);
    }
}

/* Numbers of the messages that are there. */
static uint64_t there_first, there_last;

/* A spool that was closed in order, with all of its files. */
static snapshot
filled(spool_rig *r)
{
    spool_rig_new(r, 1, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(r), MM_OK);
    for (int i = 1; i <= MESSAGES; i++) {
        CHECK_INT(spool_rig_put(r), MM_OK);
        if (i % A_BATCH == 0) {
            CHECK_INT(spool_rig_commit(r, false), MM_OK);
        }
    }
    CHECK_INT(r->spool.file_count, 2);
    there_first = 1;
    there_last = MESSAGES;
    CHECK_INT(mmi_spool_close(&r->spool), MM_OK);
    r->open = false;
    return snapshot_take(r);
}

static void
fill_files(spool_rig *r, uint32_t files)
{
    while (r->spool.file_count < files) {
        for (int i = 0; i < A_BATCH; i++) {
            CHECK_INT(spool_rig_put(r), MM_OK);
        }
        CHECK_INT(spool_rig_commit(r, false), MM_OK);
    }
}

/* Likewise, but the last file has the room of one that went, a part of which it has written
 * over. */
static snapshot
filled_again(spool_rig *r)
{
    spool_rig_new(r, 2, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(r), MM_OK);
    for (int i = 0; i < 2; i++) {
        fill_files(r, 3);
        CHECK_INT(spool_trim(&r->spool, r->spool.last_seq, 1), 1);
    }
    CHECK_INT(r->spool.file.head.version, MMI_SPOOL_AGAIN);
    while (r->spool.file.end < MMI_SPOOL_FILE_MIN / 2) {
        for (int i = 0; i < A_BATCH; i++) {
            CHECK_INT(spool_rig_put(r), MM_OK);
        }
        CHECK_INT(spool_rig_commit(r, false), MM_OK);
    }
    CHECK_INT(r->spool.file_count, 2);
    there_first = mmi_spool_first(&r->spool);
    there_last = r->spool.last_seq;
    CHECK_INT(mmi_spool_close(&r->spool), MM_OK);
    r->open = false;
    return snapshot_take(r);
}

typedef struct outcome {
    bool opened;
    uint64_t lost;     /* messages, of which all were told */
} outcome;

/* Opens what is there, and reads over what is harmed: what is read is right, and all of it was read
 * or told of. */
static outcome
look(spool_rig *r, bool gaps)
{
    outcome out = { .lost = 0 };
    uint64_t next = there_first;
    int rc;
    r->opts.gaps = gaps;
    rc = spool_rig_open(r);
    r->life = 1;
    out.opened = rc == MM_OK;
    if (rc != MM_OK) {
        CHECK(rc == MMI_SPOOL_HARMED || rc == MM_ENOTSUP || rc == MM_EPROTO);
        return out;
    }
    CHECK(r->spool.last_seq == there_last || r->report.lost_first > 0);
    while ((rc = spool_rig_read(r, next, &next)) != 0) {
        mmi_spool_where where;
        mmi_spool_reader reader;
        CHECK(rc == MMI_SPOOL_HARMED || rc == MM_ENOENT);
        mmi_spool_locate(&r->spool, next, &where);
        if (rc == MM_ENOENT) {
            out.lost += where.first - next;
            next = where.first;
            continue;
        }
        mmi_spool_reader_open(&reader, &r->disk.files, r->disk.dir, next);
        CHECK_INT(mmi_spool_reader_load(&reader, &where), MMI_SPOOL_HARMED);
        CHECK(reader.lost_last >= next);
        out.lost += reader.lost_last + 1 - next;
        next = reader.lost_last + 1;
        mmi_spool_reader_close(&reader);
    }
    out.lost += there_last + 1 - next;
    CHECK(next == there_last + 1 || r->report.lost_first > 0);
    mmi_spool_abandon(&r->spool);
    r->open = false;
    return out;
}

static uint64_t
stride(void)
{
    const char *told = getenv("MESHMSG_SPOOL_STRIDE");
    return told != NULL ? strtoull(told, NULL, 10) : STRIDE;
}

static void
check_bits(snapshot (*fill)(spool_rig *r))
{
    spool_rig r;
    snapshot s = fill(&r);
    uint64_t refused = 0, harmless = 0, lost = 0;
    for (int i = 0; i < s.count; i++) {
        bool segment = strcmp(s.name[i] + MMI_SPOOL_NAME - 5, ".seg") == 0;
        for (uint64_t bit = 0; bit < s.size[i] * 8; bit += stride()) {
            s.data[i][bit / 8] ^= (uint8_t)(1u << bit % 8);
            snapshot_restore(&r, &s);
            outcome plain = look(&r, false);
            refused += !plain.opened;
            harmless += plain.opened && plain.lost == 0;
            lost += plain.lost > 0;
            CHECK(segment || (plain.opened && plain.lost == 0));
            if (!plain.opened) {
                snapshot_restore(&r, &s);
                outcome gaps = look(&r, true);
                CHECK(gaps.opened);
                CHECK(bit / 8 < MMI_SPOOL_FILE_HEAD || gaps.lost <= A_BATCH);
            }
            s.data[i][bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    printf("  %" PRIu64 " refused, %" PRIu64 " harmless, %" PRIu64 " told when read\n", refused,
           harmless, lost);
    CHECK(refused > 0 && harmless > 0 && lost > 0);
    snapshot_free(&s);
    spool_rig_free(&r);
}

static void
test_a_bit_that_turns_is_told_or_does_no_harm(void)
{
    check_bits(filled);
}

static void
test_so_is_one_of_a_file_that_has_the_room_of_another(void)
{
    check_bits(filled_again);
}

static void
check_cuts(snapshot (*fill)(spool_rig *r))
{
    spool_rig r;
    snapshot s = fill(&r);
    uint64_t cuts = 0;
    for (int i = 0; i < s.count; i++) {
        uint64_t size = s.size[i];
        for (uint64_t cut = 0; cut < size; cut += stride() / 8 + 1) {
            s.size[i] = cut;
            snapshot_restore(&r, &s);
            outcome plain = look(&r, false);
            cuts++;
            if (!plain.opened) {
                snapshot_restore(&r, &s);
                CHECK(look(&r, true).opened);
            }
        }
        s.size[i] = size;
    }
    printf("  %" PRIu64 " cuts of %d files\n", cuts, s.count);
    snapshot_free(&s);
    spool_rig_free(&r);
}

static void
test_a_file_that_is_cut_anywhere_is_told(void)
{
    check_cuts(filled);
    check_cuts(filled_again);
}

static void
test_a_file_that_is_gone_is_told(void)
{
    spool_rig r;
    snapshot s = filled(&r);
    for (int i = 0; i < s.count; i++) {
        uint64_t size = s.size[i];
        s.size[i] = 0; /* which is not restored */
        snapshot_restore(&r, &s);
        s.size[i] = size;
        outcome plain = look(&r, false);
        bool segment = strcmp(s.name[i] + MMI_SPOOL_NAME - 5, ".seg") == 0;
        CHECK(!segment || !plain.opened || plain.lost > 0);
        CHECK(segment || (plain.opened && plain.lost == 0));
    }
    snapshot_free(&s);
    spool_rig_free(&r);
}

/* The files of one spool in the place of another's, and of each other's. */
static void
test_a_file_of_another_place_is_told(void)
{
    spool_rig r;
    snapshot s = filled(&r);
    int segments[2], n = 0;
    for (int i = 0; i < s.count; i++) {
        if (strcmp(s.name[i] + MMI_SPOOL_NAME - 5, ".seg") == 0 && n < 2) {
            segments[n++] = i;
        }
    }
    CHECK_INT(n, 2);
    for (int i = 0; i < 2; i++) {
        int to = segments[i], from = segments[1 - i];
        snapshot_restore(&r, &s);
        snapshot_put_file(&r, s.name[to], s.data[from], s.size[from]);
        outcome plain = look(&r, false);
        CHECK(!plain.opened || plain.lost > 0);
    }
    snapshot_free(&s);
    spool_rig_free(&r);
}

int
main(void)
{
    RUN(test_a_bit_that_turns_is_told_or_does_no_harm);
    RUN(test_so_is_one_of_a_file_that_has_the_room_of_another);
    RUN(test_a_file_that_is_cut_anywhere_is_told);
    RUN(test_a_file_that_is_gone_is_told);
    RUN(test_a_file_of_another_place_is_told);
    return 0;
}
