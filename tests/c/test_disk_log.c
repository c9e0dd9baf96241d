/*
 * test_disk_log.c: a small write-ahead log over file.h, crashed at every step of its life on the
 * simulated disk, over thousands of seeds: what it said was durable is there, in order, unharmed.
 *
 * Not here: the spool's log, of which this is only the skeleton: one segment, no batches.
 * Law: the sound log never loses what it acknowledged; each log with one flaw is caught by some
 * seed, so that the disk is known to be hard enough to tell them apart.
 */
#include "disk_rig.h"

enum {
    RECORD_MAX = 1200,   /* octets of a body: one to four sectors with its head */
    RECORDS_A_LIFE = 8,
    LIVES = 4,           /* each but the last ends in a crash */
    STEPS = 40,          /* of the first life, at each of which it is crashed */
    TRIES = 30,          /* to recover on a disk with faults */
    CRASH_WITHIN = 60    /* operations, of the lives in between */
};
static const uint32_t LOG_MAGIC = 0x314c4f47, LOG_SALT = 2166136261u, LOG_PRIME = 16777619u;

typedef enum log_flaw {
    SOUND,
    NO_SYNC,                /* of what was appended */
    NO_SYNC_OF_NAMES,       /* of the folder, after the rename */
    NO_SYNC_BEFORE_RENAME,  /* of the file that is renamed */
    SYNC_AGAIN,             /* after one that failed, and believes it */
    IN_PLACE,               /* serves what recovery read from the cache, without a new file */
    NO_CHECKSUM,
    FLAWS
} log_flaw;

typedef struct log_head {
    uint32_t magic, seq, size, sum; /* the sum is of the others, and of the body */
} log_head;

typedef struct small_log {
    mmi_files files;
    log_flaw flaw;
    int dir, file;
    uint64_t end;     /* where the next record goes */
    uint32_t count;   /* records, and so the last one's seq */
    bool torn, bad;   /* as recovery found it; a body that was never written was taken for one */
} small_log;

static uint32_t
log_sum(const log_head *head, const uint8_t *body)
{
    uint32_t sum = LOG_SALT ^ head->magic ^ head->seq * LOG_PRIME ^ head->size << 8;
    for (uint32_t i = 0; i < head->size; i++) {
        sum = (sum ^ body[i]) * LOG_PRIME;
    }
    return sum;
}

/* The body of a record follows from its number, so that what comes back can be judged. */
static uint32_t
log_body(uint32_t seq, uint8_t body[RECORD_MAX])
{
    uint32_t seed = seq * 2654435761u + 1, size = 1 + check_random(&seed) % RECORD_MAX;
    for (uint32_t i = 0; i < size; i++) {
        body[i] = (uint8_t)check_random(&seed);
    }
    return size;
}

/* Its octets; or why it is not written, whole and synced. */
static int64_t
log_append(small_log *l, int file, uint64_t at, uint32_t seq)
{
    uint8_t body[RECORD_MAX];
    log_head head = { .magic = LOG_MAGIC, .seq = seq, .size = log_body(seq, body) };
    head.sum = log_sum(&head, body);
    const mmi_iov pieces[] = { { &head, sizeof head }, { body, head.size } };
    int64_t size = (int64_t)sizeof head + head.size;
    int64_t n = CALL(l, write, file, at, pieces, 2);
    return n == size ? n : n < 0 ? n : MM_EIO;
}

/* The size of the record at that place; 0: there is none, or it is not whole. */
static int64_t
log_read(small_log *l, int file, uint64_t at, uint32_t seq)
{
    log_head head = { 0 };
    uint8_t body[RECORD_MAX], wanted[RECORD_MAX];
    int64_t n = CALL(l, read, file, at, &head, sizeof head);
    if (n < 0) {
        return n;
    }
    if (n < (int64_t)sizeof head || head.magic != LOG_MAGIC || head.seq != seq || head.size == 0 ||
        head.size > RECORD_MAX) {
        return 0;
    }
    n = CALL(l, read, file, at + sizeof head, body, head.size);
    bool whole = n == (int64_t)head.size && head.sum == log_sum(&head, body);
    if (n < 0 || (!whole && l->flaw != NO_CHECKSUM)) {
        return n < 0 ? n : 0;
    }
    l->bad = l->bad || log_body(seq, wanted) != head.size || memcmp(body, wanted, head.size) != 0;
    return (int64_t)(sizeof head + head.size);
}

/* How many whole records there are, from the first on, and where they end. */
static int
log_scan(small_log *l, int file, uint32_t *count, uint64_t *end)
{
    uint64_t size = 0;
    int64_t n = CALL(l, size, file, &size);
    *count = 0;
    *end = 0;
    while (n >= 0 && (n = log_read(l, file, *end, *count + 1)) > 0) {
        *end += (uint64_t)n;
        (*count)++;
    }
    l->torn = *end < size;
    return n < 0 ? (int)n : MM_OK;
}

static int
log_sync(small_log *l, int file)
{
    int rc = CALL(l, sync_data, file);
    return rc == MM_EIO && l->flaw == SYNC_AGAIN ? CALL(l, sync_data, file) : rc;
}

/* All that was found goes into a new file, as what is read may be in the cache alone. */
static int
log_copy(small_log *l, uint32_t count, int *file)
{
    uint64_t at = 0;
    int rc = CALL(l, open, l->dir, "tmp", MMI_FILE_WRITE | MMI_FILE_CREATE, file);
    if (rc != MM_OK) {
        return rc;
    }
    int64_t n = CALL(l, truncate, *file, 0);
    for (uint32_t seq = 1; n >= 0 && seq <= count; seq++) {
        n = log_append(l, *file, at, seq);
        at += n > 0 ? (uint64_t)n : 0;
    }
    n = n >= 0 && l->flaw != NO_SYNC_BEFORE_RENAME ? CALL(l, sync, *file) : n;
    n = n >= 0 ? CALL(l, rename, l->dir, "tmp", l->dir, "log") : n;
    n = n >= 0 && l->flaw != NO_SYNC_OF_NAMES ? CALL(l, sync_folder, l->dir) : n;
    if (n < 0) {
        CALL(l, close, *file);
    }
    return n < 0 ? (int)n : MM_OK;
}

static int
log_recover(small_log *l)
{
    int old;
    int rc = CALL(l, open, l->dir, "log", MMI_FILE_WRITE, &old);
    l->count = 0;
    l->end = 0;
    if (rc == MM_ENOENT) {
        return log_copy(l, 0, &l->file);
    }
    rc = rc == MM_OK ? log_scan(l, old, &l->count, &l->end) : rc;
    if (rc == MM_OK && l->flaw == IN_PLACE) {
        l->file = old;
        rc = CALL(l, truncate, old, l->end);
        return rc == MM_OK ? CALL(l, sync, old) : rc;
    }
    rc = rc == MM_OK ? log_copy(l, l->count, &l->file) : rc;
    CALL(l, close, old);
    return rc;
}

/* What a world came to. */
typedef struct tally {
    int lost, bad, torn, acked, crashes;
} tally;

/* Appends until the life is over, or the disk is off; *acked is the last record that is durable. */
static void
log_live(disk_rig *r, log_flaw flaw, uint32_t *acked, tally *t)
{
    small_log l = { .files = r->files, .flaw = flaw };
    if (CALL(&l, root, "/", &l.dir) != MM_OK) {
        return;
    }
    int rc = MM_EIO;
    for (int tries = 0, done = 0; tries < TRIES && done < RECORDS_A_LIFE; tries++) {
        rc = log_recover(&l);
        if (rc == MM_OK) {
            t->torn += l.torn;
            t->bad += l.bad;
            t->lost += l.count < *acked;
            *acked = l.count;
        }
        while (rc == MM_OK && done < RECORDS_A_LIFE) {
            int64_t n = log_append(&l, l.file, l.end, l.count + 1);
            rc = n < 0 ? (int)n : flaw != NO_SYNC ? log_sync(&l, l.file) : MM_OK;
            if (rc == MM_OK) {
                l.end += (uint64_t)n;
                *acked = ++l.count;
                t->acked++;
                done++;
            }
        }
        mmi_disk_kill(r->disk);   /* whatever it was, it begins anew: nothing is trusted */
        if (CALL(&l, root, "/", &l.dir) != MM_OK) {
            return;
        }
    }
}

/* Several lives of a log, the first of which is crashed at that operation. */
static void
world_of(uint64_t seed, uint64_t crash_at, log_flaw flaw, const mmi_disk_opts *opts, tally *t)
{
    disk_rig r = { .disk = mmi_disk_new(seed, opts) };
    uint32_t acked = 0, chance = (uint32_t)(seed * 2 + 1);
    CHECK(r.disk != NULL);
    mmi_disk_files(r.disk, &r.files);
    for (int life = 0; life < LIVES; life++) {
        mmi_disk_crash_in(r.disk, life == 0 ? crash_at : 1 + check_random(&chance) % CRASH_WITHIN);
        log_live(&r, flaw, &acked, t);
        mmi_disk_crash(r.disk);
        mmi_disk_reboot(r.disk);
        t->crashes++;
    }
    mmi_disk_faults(r.disk, &(mmi_disk_opts){ .capacity = 0 });
    mmi_disk_crash_in(r.disk, 0);
    log_live(&r, flaw, &acked, t);
    rig_close(&r);
}

static tally
worlds_of(log_flaw flaw, const mmi_disk_opts *opts, uint64_t seeds)
{
    tally t = { 0 };
    for (uint64_t seed = 0; seed < seeds; seed++) {
        for (uint64_t step = 1; step <= STEPS; step++) {
            world_of(seed * STEPS + step, step, flaw, opts, &t);
        }
    }
    printf("flaw %d: %d acknowledged, %d lost, %d wrong, %d torn tails, %d crashes\n", (int)flaw,
           t.acked, t.lost, t.bad, t.torn, t.crashes);
    return t;
}

static const mmi_disk_opts healthy = { .writeback_ppm = 100000 };
static const mmi_disk_opts failing = {
    .writeback_ppm = 100000,
    .read_eio_ppm = 5000,
    .write_eio_ppm = 20000,
    .short_write_ppm = 20000,
    .sync_eio_ppm = 80000,
    .capacity = 20 * 1024,
};

static void
test_a_sound_log_keeps_what_it_acknowledged_whenever_it_is_crashed(void)
{
    tally t = worlds_of(SOUND, &healthy, 100);   /* 4,000 worlds */
    CHECK_INT(t.lost, 0);
    CHECK_INT(t.bad, 0);
    CHECK(t.torn > 100 && t.acked > 10000);
}

static void
test_a_sound_log_keeps_it_on_a_disk_that_fails_as_well(void)
{
    tally t = worlds_of(SOUND, &failing, 100);
    CHECK_INT(t.lost, 0);
    CHECK_INT(t.bad, 0);
    CHECK(t.torn > 100 && t.acked > 10000);
}

/* Without this, that the sound log loses nothing would say nothing. */
static void
test_each_flaw_is_caught_by_some_seed(void)
{
    CHECK(worlds_of(NO_SYNC, &healthy, 10).lost > 0);
    CHECK(worlds_of(NO_SYNC_OF_NAMES, &healthy, 10).lost > 0);
    CHECK(worlds_of(NO_SYNC_BEFORE_RENAME, &healthy, 10).lost > 0);
    CHECK(worlds_of(SYNC_AGAIN, &failing, 20).lost > 0);
    CHECK(worlds_of(IN_PLACE, &failing, 20).lost > 0);
    CHECK(worlds_of(NO_CHECKSUM, &healthy, 10).bad > 0);
}

static void
test_the_same_log_lives_on_the_files_of_the_system(void)
{
    files_world w = files_open("posix");
    small_log l = { .files = w.files, .dir = w.dir };
    CHECK_INT(log_recover(&l), MM_OK);
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < RECORDS_A_LIFE; i++) {
            int64_t n = log_append(&l, l.file, l.end, l.count + 1);
            CHECK(n > 0);
            CHECK_INT(log_sync(&l, l.file), MM_OK);
            l.end += (uint64_t)n;
            l.count++;
        }
        CHECK_INT(file_put(&l.files, l.file, l.end, "torn", 4), 4);
        CALL(&l, close, l.file);
        CHECK_INT(log_recover(&l), MM_OK);
        CHECK_INT(l.count, (life + 1) * RECORDS_A_LIFE);
        CHECK(l.torn && !l.bad);
    }
    CALL(&l, close, l.file);
    files_close(&w);
}

int
main(void)
{
    RUN(test_the_same_log_lives_on_the_files_of_the_system);
    RUN(test_a_sound_log_keeps_what_it_acknowledged_whenever_it_is_crashed);
    RUN(test_a_sound_log_keeps_it_on_a_disk_that_fails_as_well);
    RUN(test_each_flaw_is_caught_by_some_seed);
    return 0;
}
