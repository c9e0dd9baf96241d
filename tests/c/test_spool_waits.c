/*
 * test_spool_waits.c: a spool that threads share, on the system's files: what is written though
 * nobody waits, who waits no longer than asked, and what is not done under the lock.
 *
 * Not here: that each message is there, in its order (test_spool_shared.c).  Meant to run under
 * TSan as well.
 */
#include <sys/syscall.h>

#include "meshmsg_spool.h"
#include "spool_threads.h"

enum { BIG = 10000, A_FEW_FILES = 30, MANY = 40, SHORT_NS = 10000000 };

static int
put_many(threads_rig *r, size_t count, const mmi_spool_wait *wait, mmi_spool_did *did)
{
    static const uint8_t body[BIG];
    const uint64_t size = sizeof body;
    mmi_spool_record records[MANY];
    CHECK(count <= MANY);
    for (size_t i = 0; i < count; i++) {
        records[i] = (mmi_spool_record){ .frames = 1, .sizes = &size, .data = body, .size = size };
    }
    return mmi_spool_shared_put(&r->spool, records, count, true, wait, did);
}

static int
put_one(threads_rig *r, const mmi_spool_wait *wait)
{
    mmi_spool_did did;
    return put_many(r, 1, wait, &did);
}

static void
put_files(threads_rig *r)
{
    for (int i = 0; i < A_FEW_FILES; i++) {
        CHECK_INT(put_one(r, &PATIENTLY), MM_OK);
    }
}

static bool
is_kept(threads_rig *r, mmi_spool_level level)
{
    const mmi_spool *s = &r->spool.spool;
    pthread_mutex_lock(&r->spool.lock);
    bool is = (level == MMI_SPOOL_DISK ? s->durable_seq : s->written_seq) == s->last_seq;
    pthread_mutex_unlock(&r->spool.lock);
    return is;
}

/* Its thread sleeps when the message comes, and nobody calls behind it. */
static void
kept_by_itself(mmi_spool_level level, mmi_spool_level then)
{
    threads_rig r;
    threads_new(&r, level);
    threads_stop(&r.spool);
    threads_go_on(&r.spool);
    CHECK_INT(put_one(&r, &PATIENTLY), MM_OK);
    AWAIT(is_kept(&r, then));
    threads_free(&r);
}

static void
test_what_was_waited_for_at_level_os_is_synced_by_itself(void)
{
    kept_by_itself(MMI_SPOOL_OS, MMI_SPOOL_DISK);
}

static void
test_what_was_waited_for_at_level_buffered_is_written_by_itself(void)
{
    kept_by_itself(MMI_SPOOL_BUFFERED, MMI_SPOOL_OS);
}

static int
full_reserve(void *self, int file, uint64_t size)
{
    (void)self, (void)file, (void)size;
    return mmi_file_error(ENOSPC);
}

static void
test_a_full_disk_is_told_or_waited_for_no_longer_than_asked(void)
{
    threads_rig r;
    int rc = MM_OK;
    threads_new(&r, MMI_SPOOL_DISK);
    put_files(&r);
    threads_stop(&r.spool);
    int (*reserve)(void *, int, uint64_t) = r.spool.files.reserve;
    r.spool.files.reserve = full_reserve;
    threads_go_on(&r.spool);
    for (int i = 0; i < A_FEW_FILES && rc == MM_OK; i++) {
        rc = put_one(&r, &PATIENTLY);
    }
    CHECK_INT(rc, MM_ENOSPC);
    r.spool.overflow = MMI_SPOOL_BLOCK;
    const mmi_spool_wait some = { .deadline_ns = clock_ns() + SHORT_NS };
    CHECK_INT(put_one(&r, &some), MM_ETIMEDOUT);
    CHECK(clock_ns() >= some.deadline_ns);
    threads_stop(&r.spool);
    r.spool.files.reserve = reserve;
    threads_go_on(&r.spool);
    threads_free(&r);
}

/* Syncs end no sooner than that. */
static uint64_t late_ns;
static int (*real_sync_data)(void *, int);

static int
late_sync(void *self, int file)
{
    AWAIT(clock_ns() >= late_ns);
    return real_sync_data(self, file);
}

/* Who writes for all looks at the clock as well: what is behind the batch that was late stays. */
static void
test_a_long_put_ends_when_its_time_is_over(void)
{
    threads_rig r;
    mmi_spool_did did;
    threads_new(&r, MMI_SPOOL_DISK);
    threads_stop(&r.spool);
    late_ns = clock_ns() + SHORT_NS;
    real_sync_data = r.spool.files.sync_data;
    r.spool.files.sync_data = late_sync;
    threads_go_on(&r.spool);
    const mmi_spool_wait some = { .deadline_ns = late_ns };
    CHECK_INT(put_many(&r, MANY, &some, &did), MM_ETIMEDOUT);
    CHECK(did.done < MANY);
    CHECK_INT(did.last, did.done);
    threads_free(&r);
}

/* Whoever looks gets the lock while a file goes: if who removes it had it, nobody ever would. */
static mmi_spool_shared *looked_at;
static uint32_t removed;
static int (*real_unlink)(void *, int, const char *);

static int
unlink_looks(void *self, int dir, const char *name)
{
    AWAIT(pthread_mutex_trylock(&looked_at->lock) == 0);
    removed++;
    pthread_mutex_unlock(&looked_at->lock);
    return real_unlink(self, dir, name);
}

static void
test_the_lock_is_not_held_while_files_are_removed(void)
{
    threads_rig r;
    threads_new(&r, MMI_SPOOL_DISK);
    put_files(&r);
    threads_stop(&r.spool);
    looked_at = &r.spool;
    real_unlink = r.spool.files.unlink;
    r.spool.files.unlink = unlink_looks;
    threads_go_on(&r.spool);
    CHECK(mmi_spool_shared_trim(&r.spool, 20) > 0);
    CHECK(removed > 0);
    threads_free(&r);
}

static ino_t wanted_folder;
static bool folder_synced;

int
fsync(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_ino == wanted_folder) {
        __atomic_store_n(&folder_synced, true, __ATOMIC_RELAXED);
    }
    return (int)syscall(SYS_fsync, fd);
}

/* Whoever made it, and whether or not it lived to sync the name. */
static void
test_the_name_of_a_new_spools_folder_is_durable(void)
{
    mmi_spool_report report;
    struct stat st;
    threads_rig r;
    threads_prepare(&r, MMI_SPOOL_DISK);
    CHECK_INT(stat(r.place, &st), 0);
    wanted_folder = st.st_ino;
    CHECK_INT(mmi_spool_shared_open(&r.spool, r.path, &r.opts, &report), MM_OK);
    CHECK(report.made);
    CHECK(__atomic_load_n(&folder_synced, __ATOMIC_RELAXED));
    threads_free(&r);
}

static mmi_spool_shared *trimmed;
static int (*real_open)(void *, int, const char *, uint32_t, int *);

static int
open_trims(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    if (flags == 0) {
        (void)mmi_spool_shared_trim(trimmed, 20);
    }
    return real_open(self, dir, name, flags, file);
}

/* A file goes between a look and the opening of it. */
static void
test_the_first_number_that_is_told_is_there(void)
{
    static const uint8_t data[BIG];
    const mm_body body = { .data = data, .size = sizeof data };
    const mm_spool_opts opts = { .level = MM_SPOOL_DISK,
                                 .file_bytes = MMI_SPOOL_FILE_MIN,
                                 .sync_every_ms = 100 };
    threads_rig r;
    mm_spool_report report;
    mm_spool_info info;
    mm_spool *spool;
    mm_spool_reader *reader;
    mm_spool_did did;
    uint64_t goes_on;
    threads_prepare(&r, MMI_SPOOL_DISK);
    CHECK_INT(mm_spool_open(r.path, &opts, &report, &spool), MM_OK);
    for (int i = 0; i < A_FEW_FILES; i++) {
        CHECK_INT(mm_spool_append(spool, &body, 1, NULL, 0, 1, -1, 0, &did), MM_OK);
    }
    CHECK_INT(mm_spool_reader_open(spool, 2, &reader), MM_OK);
    trimmed = (mmi_spool_shared *)spool;   /* it begins with it */
    threads_stop(trimmed);
    real_open = trimmed->files.open;
    trimmed->files.open = open_trims;
    threads_go_on(trimmed);
    CHECK_INT(mm_spool_reader_load(reader, 0, 0, &goes_on), MM_ENOENT);
    mm_spool_inspect(spool, &info);
    CHECK(info.first_seq > 2);
    CHECK_INT(goes_on, info.first_seq);
    mm_spool_reader_close(reader);
    CHECK_INT(mm_spool_close(spool), MM_OK);
    threads_remove(r.place);
}

enum { PUTTERS = 3, READERS = 2, CROWD_PUTS = 1000 };
static bool crowd_ends;

/* Messages say how long they are, and end with an octet that follows from that. */
static void *
crowd_put(void *arg)
{
    threads_rig *r = arg;
    uint8_t body[700];
    for (int i = 0; i < CROWD_PUTS; i++) {
        uint64_t size = 8 + (uint64_t)(i * 37 % 690);
        mmi_spool_did did;
        memset(body, (int)(size % 251), sizeof body);
        memcpy(body, &size, 8);
        const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
        CHECK_INT(mmi_spool_shared_put(&r->spool, &record, 1, i % 7 == 0, &PATIENTLY, &did), MM_OK);
        if (i % 200 == 0) {
            CHECK_INT(mmi_spool_shared_wait(&r->spool, UINT64_MAX, MMI_SPOOL_DISK, &PATIENTLY),
                      MM_OK);
        }
        if (i % 300 == 0) {
            mmi_spool_shared_trim(&r->spool, did.last > 500 ? did.last - 500 : 0);
        }
    }
    return NULL;
}

static void
check_batch(mmi_spool_reader *reader, const mmi_spool_where *where)
{
    mmi_spool_record got;
    uint64_t seq, wanted = reader->next_seq;
    for (; mmi_spool_reader_next(reader, &got, &seq) == 1; wanted++) {
        uint64_t size;
        CHECK_INT(seq, wanted);
        CHECK(seq <= where->visible);
        memcpy(&size, got.data, 8);
        CHECK_INT(got.size, size);
        CHECK(size == 8 || got.data[size - 1] == size % 251);
    }
}

/* Follows, goes back now and then, and over what was trimmed. */
static void *
crowd_read(void *arg)
{
    threads_rig *r = arg;
    mmi_spool_reader reader;
    mmi_spool_where where;
    uint64_t round = 0;
    mmi_spool_reader_open(&reader, &r->spool.files, r->spool.dir, 1);
    while (!__atomic_load_n(&crowd_ends, __ATOMIC_RELAXED)) {
        mmi_spool_shared_locate(&r->spool, reader.next_seq, &where);
        int rc = mmi_spool_reader_load(&reader, &where);
        if (rc == MM_ENOENT) {
            mmi_spool_shared_locate(&r->spool, reader.next_seq, &where);
            if (where.base == 0) {
                mmi_spool_reader_seek(&reader, where.first);
            }
            continue;
        }
        CHECK(rc == 0 || rc == 1);
        if (rc == 1) {
            check_batch(&reader, &where);
        }
        if (++round % 50 == 0 && reader.next_seq > 100) {
            mmi_spool_reader_seek(&reader, reader.next_seq - 100);
        }
    }
    mmi_spool_reader_close(&reader);
    return NULL;
}

/* Threads put, flush, trim, drop the oldest and read all at once: what is read is right. */
static void
test_a_crowd_at_level_disk(void)
{
    threads_rig r;
    pthread_t putters[PUTTERS], readers[READERS];
    threads_prepare(&r, MMI_SPOOL_DISK);
    r.opts.overflow = MMI_SPOOL_DROP_OLDEST;
    r.opts.spool.max_bytes = 5 * (uint64_t)MMI_SPOOL_FILE_MIN;
    threads_open(&r);
    for (int i = 0; i < READERS; i++) {
        CHECK_INT(pthread_create(&readers[i], NULL, crowd_read, &r), 0);
    }
    for (int i = 0; i < PUTTERS; i++) {
        CHECK_INT(pthread_create(&putters[i], NULL, crowd_put, &r), 0);
    }
    for (int i = 0; i < PUTTERS; i++) {
        pthread_join(putters[i], NULL);
    }
    __atomic_store_n(&crowd_ends, true, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    CHECK_INT(mmi_spool_shared_close(&r.spool), MM_OK);
    threads_open(&r);
    CHECK_INT(r.spool.spool.last_seq, PUTTERS * CROWD_PUTS);
    threads_free(&r);
}

int
main(void)
{
    RUN(test_what_was_waited_for_at_level_os_is_synced_by_itself);
    RUN(test_what_was_waited_for_at_level_buffered_is_written_by_itself);
    RUN(test_a_full_disk_is_told_or_waited_for_no_longer_than_asked);
    RUN(test_a_long_put_ends_when_its_time_is_over);
    RUN(test_the_lock_is_not_held_while_files_are_removed);
    RUN(test_the_name_of_a_new_spools_folder_is_durable);
    RUN(test_the_first_number_that_is_told_is_there);
    RUN(test_a_crowd_at_level_disk);
    return 0;
}
