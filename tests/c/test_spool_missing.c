/*
 * test_spool_missing.c: a segment file of an open spool is not there: somebody removed it.
 * A reader is told of harm then, of the numbers of that file; and that nothing is harmed where the
 * spool itself removed it, or compaction gave its numbers to another one.
 *
 * Not here: a spool that is opened without one of its files (test_spool_harm.c).
 */
#include "cursor_steps.h"
#include "spool/shared_compact.h"

enum { FILES = 6, LOST = 2 /* the file that somebody removes */ };

static void
lose(threads_rig *r, uint64_t base)
{
    char name[MMI_SPOOL_NAME];
    mmi_spool_name(base, name);
    CHECK_INT(r->spool.files.unlink(r->spool.files.self, r->spool.dir, name), MM_OK);
}

/* So many messages come, and then no more of what is ready. */
static void
reads(threads_rig *r, mmi_spool_reader *reader, uint64_t first, uint64_t last)
{
    mmi_spool_where where;
    mmi_spool_record got;
    uint64_t seq;
    for (uint64_t next = first; next <= last; next++) {
        CHECK_INT(mmi_spool_shared_load(&r->spool, reader, &where), 1);
        CHECK_INT(mmi_spool_reader_next(reader, &got, &seq), 1);
        CHECK_INT(seq, next);
    }
}

/* It says so whenever it is asked, and nothing of what is behind; then it goes on there. */
static void
tells(threads_rig *r, mmi_spool_reader *reader, uint64_t first, uint64_t last)
{
    mmi_spool_where where;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mmi_spool_shared_load(&r->spool, reader, &where), MMI_SPOOL_HARMED);
        CHECK_INT(reader->next_seq, first);
        CHECK_INT(reader->lost_last, last);
        CHECK_INT(where.first, 1);
    }
    mmi_spool_reader_seek(reader, last + 1);
}

static void
open_at(threads_rig *r, mmi_spool_reader *reader, uint64_t seq)
{
    mmi_spool_reader_open(reader, &r->spool.files, r->spool.dir, seq);
}

static void
test_a_sealed_file_that_is_missing_is_harm_of_its_numbers(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    mmi_spool_where where;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    uint64_t one = base_of(&r, LOST), other = base_of(&r, LOST + 1), end = base_of(&r, LOST + 2);
    lose(&r, one);
    lose(&r, other);
    open_at(&r, &reader, 1);
    reads(&r, &reader, 1, one - 1);
    tells(&r, &reader, one, other - 1);
    tells(&r, &reader, other, end - 1);
    reads(&r, &reader, end, last_of(&r));
    CHECK_INT(mmi_spool_shared_load(&r.spool, &reader, &where), 0);
    mmi_spool_reader_seek(&reader, one + 1); /* within it, from behind */
    tells(&r, &reader, one + 1, other - 1);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

static void
test_the_first_file_and_the_last_are_missing(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    uint64_t second = base_of(&r, 1), tail = base_of(&r, FILES - 1), last = last_of(&r);
    lose(&r, 1);
    lose(&r, tail);
    open_at(&r, &reader, 1);
    tells(&r, &reader, 1, second - 1);
    reads(&r, &reader, second, tail - 1);
    tells(&r, &reader, tail, last); /* as far as it may be read */
    put_some(&r, 1, true);
    tells(&r, &reader, last + 1, last + 1);
    put_files(&r, FILES + 1);
    uint64_t next = base_of(&r, FILES);
    tells(&r, &reader, last + 2, next - 1);
    reads(&r, &reader, next, next);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

/* Who has it open reads it to its end. */
static void
test_a_file_that_is_read_as_it_goes_missing_is_read(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    uint64_t base = base_of(&r, LOST), end = base_of(&r, LOST + 1);
    open_at(&r, &reader, base);
    reads(&r, &reader, base, base);
    lose(&r, base);
    reads(&r, &reader, base + 1, end);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

/* Harmed, too, so that its name is looked at: what is behind the harm cannot be read either. */
static void
test_a_file_that_is_harmed_and_missing_is_harm_to_its_end(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    mmi_spool_file f;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    const mmi_spool_place place = { &r.spool.files, r.spool.dir };
    uint64_t base = base_of(&r, LOST), end = base_of(&r, LOST + 1);
    open_at(&r, &reader, base);
    reads(&r, &reader, base, base);
    CHECK_INT(mmi_spool_file_open(&place, base, true, &f), MM_OK);
    CHECK_INT(r.spool.files.truncate(r.spool.files.self, f.file, MMI_SPOOL_FILE_HEAD), MM_OK);
    mmi_spool_file_close(&place, &f);
    lose(&r, base);
    tells(&r, &reader, base + 1, end - 1);
    reads(&r, &reader, end, end);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

/* Below the first number of the spool all is trimmed, whoever removed it. */
static void
test_what_is_trimmed_is_no_harm_though_its_file_was_missing(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    mmi_spool_where where;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    uint64_t base = base_of(&r, LOST), end = base_of(&r, LOST + 1);
    lose(&r, base);
    open_at(&r, &reader, base);
    CHECK_INT(mmi_spool_shared_load(&r.spool, &reader, &where), MMI_SPOOL_HARMED);
    CHECK_INT(mmi_spool_shared_trim(&r.spool, end - 1), LOST + 1);
    CHECK_INT(mmi_spool_shared_load(&r.spool, &reader, &where), MM_ENOENT);
    CHECK_INT(where.first, end);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

static mmi_spool_shared *meant;
static int (*real_open)(void *, int, const char *, uint32_t, int *);
static void (*meanwhile)(void);

/* Once, between a look at the list and the opening of a file. */
static int
open_late(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    void (*first)(void) = meanwhile;
    meanwhile = NULL;
    if (first != NULL) {
        first();
    }
    return real_open(self, dir, name, flags, file);
}

static void
delay(threads_rig *r, void (*what)(void))
{
    threads_stop(&r->spool);
    meant = &r->spool;
    real_open = r->spool.files.open;
    r->spool.files.open = open_late;
    meanwhile = what;
    threads_go_on(&r->spool);
}

/* What loading a file says while something is done between the two. */
static int
load_late(threads_rig *r, void (*what)(void), mmi_spool_where *where, uint64_t *next_seq)
{
    mmi_spool_reader reader;
    uint64_t base = base_of(r, LOST);
    delay(r, what);
    open_at(r, &reader, base);
    int rc = mmi_spool_shared_load(&r->spool, &reader, where);
    *next_seq = reader.next_seq;
    mmi_spool_reader_close(&reader);
    return rc;
}

static void
trim_all(void)
{
    CHECK_INT(mmi_spool_shared_trim(meant, UINT64_MAX), FILES - 1);
}

static void
test_a_file_that_the_spool_removes_meanwhile_is_trimmed(void)
{
    threads_rig r;
    mmi_spool_where where;
    uint64_t next_seq;
    threads_new(&r, MMI_SPOOL_OS);
    put_files(&r, FILES);
    uint64_t tail = base_of(&r, FILES - 1);
    CHECK_INT(load_late(&r, trim_all, &where, &next_seq), MM_ENOENT);
    CHECK_INT(where.first, tail);
    threads_free(&r);
}

/* All of one key, so that of the sealed files one is left, with their last message. */
static void
put_same(threads_rig *r, uint32_t files)
{
    while (files_of(r) < files) {
        put_keyed(r, 7);
    }
}

static mmi_spool_compacted did_compact;

static void
compact_all(void)
{
    uint64_t until = 0;
    CHECK_INT(mmi_spool_shared_compact(meant, &PATIENTLY, &until, &did_compact), MM_OK);
}

static void
test_a_file_whose_numbers_compaction_gave_to_another_is_no_harm(void)
{
    threads_rig r;
    mmi_spool_where where;
    uint64_t next_seq;
    threads_new(&r, MMI_SPOOL_OS);
    put_same(&r, FILES);
    uint64_t tail = base_of(&r, FILES - 1);
    CHECK_INT(load_late(&r, compact_all, &where, &next_seq), 1);
    CHECK_INT(did_compact.merged, FILES - 2);
    CHECK_INT(next_seq, tail - 1);
    threads_free(&r);
}

/* It is counted as one that cannot be read, and its numbers are told of afterwards as before. */
static void
test_compaction_leaves_the_numbers_of_a_missing_file(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    threads_new(&r, MMI_SPOOL_OS);
    put_same(&r, FILES);
    uint64_t base = base_of(&r, LOST), end = base_of(&r, LOST + 1);
    lose(&r, base);
    meant = &r.spool;
    compact_all();
    CHECK_INT(did_compact.skipped, 1);
    CHECK(did_compact.messages > 0);
    threads_stop(&r.spool);
    CHECK(r.spool.spool.clean_seq <= base);
    threads_go_on(&r.spool);
    open_at(&r, &reader, base);
    tells(&r, &reader, base, end - 1);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

static void
trim_some(void)
{
    pthread_mutex_lock(&meant->lock);
    uint64_t base = meant->spool.bases[LOST];
    pthread_mutex_unlock(&meant->lock);
    CHECK_INT(mmi_spool_shared_trim(meant, base - 1), LOST);
}

static void
test_compaction_skips_nothing_that_is_trimmed_meanwhile(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_OS);
    put_same(&r, FILES);
    uint64_t tail = base_of(&r, FILES - 1);
    delay(&r, trim_some);
    compact_all();
    CHECK(meanwhile == NULL);
    CHECK_INT(did_compact.skipped, 0);
    CHECK_INT(did_compact.merged, FILES - 2 - LOST);
    threads_stop(&r.spool);
    CHECK_INT(r.spool.spool.clean_seq, tail);
    threads_go_on(&r.spool);
    threads_free(&r);
}

static int (*real_rename)(void *, int, const char *, int, const char *);
static uint64_t taken;

/* As what compaction wrote takes its place, somebody removes a file that it was made of. */
static int
rename_loses(void *self, int dir, const char *name, int to, const char *other)
{
    int rc = real_rename(self, dir, name, to, other);
    if (taken > 0) {
        char lost[MMI_SPOOL_NAME];
        mmi_spool_name(taken, lost);
        CHECK_INT(meant->files.unlink(meant->files.self, dir, lost), MM_OK);
        taken = 0;
    }
    return rc;
}

static void
test_a_file_that_was_copied_may_be_missing_by_then(void)
{
    threads_rig r;
    mmi_spool_reader reader;
    threads_new(&r, MMI_SPOOL_OS);
    put_same(&r, FILES);
    uint64_t tail = base_of(&r, FILES - 1);
    taken = base_of(&r, LOST);
    threads_stop(&r.spool);
    meant = &r.spool;
    real_rename = r.spool.files.rename;
    r.spool.files.rename = rename_loses;
    threads_go_on(&r.spool);
    compact_all();
    CHECK_INT(taken, 0);
    CHECK_INT(files_of(&r), 2);
    open_at(&r, &reader, tail - 1);
    reads(&r, &reader, tail - 1, tail);
    mmi_spool_reader_close(&reader);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_a_sealed_file_that_is_missing_is_harm_of_its_numbers);
    RUN(test_the_first_file_and_the_last_are_missing);
    RUN(test_a_file_that_is_read_as_it_goes_missing_is_read);
    RUN(test_a_file_that_is_harmed_and_missing_is_harm_to_its_end);
    RUN(test_what_is_trimmed_is_no_harm_though_its_file_was_missing);
    RUN(test_a_file_that_the_spool_removes_meanwhile_is_trimmed);
    RUN(test_a_file_whose_numbers_compaction_gave_to_another_is_no_harm);
    RUN(test_compaction_leaves_the_numbers_of_a_missing_file);
    RUN(test_compaction_skips_nothing_that_is_trimmed_meanwhile);
    RUN(test_a_file_that_was_copied_may_be_missing_by_then);
    return 0;
}
