/*
 * test_spool_open_cost.c: what opening a spool asks of its disk, by how many segment files it has.
 *
 * Not here: how long that takes (the bench's command opening), and what is found (test_spool_*.c).
 * Law: the last file is the same in both spools that are compared, so that all that differs is for
 * the files before it.
 */
#include "spool_rig.h"

enum {
    COST_FEW = 20,               /* sealed files */
    COST_MANY = 60,
    COST_BODY = 40 * 1024        /* octets of a message: a file has no room for two */
};

typedef struct cost {
    uint64_t opens, reads, octets, sizes, lists, writes, syncs;
} cost;

static mmi_files plain;
static cost counted;

static int
cost_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    counted.opens++;
    return plain.open(self, dir, name, flags, file);
}

static int64_t
cost_read(void *self, int file, uint64_t at, void *buf, size_t size)
{
    int64_t got = plain.read(self, file, at, buf, size);
    counted.reads++;
    counted.octets += got > 0 ? (uint64_t)got : 0;
    return got;
}

static int
cost_size(void *self, int file, uint64_t *size)
{
    counted.sizes++;
    return plain.size(self, file, size);
}

static int
cost_list(void *self, int dir, void (*each)(void *arg, const mmi_entry *entry), void *arg)
{
    counted.lists++;
    return plain.list(self, dir, each, arg);
}

static int64_t
cost_write(void *self, int file, uint64_t at, const mmi_iov *pieces, int n)
{
    counted.writes++;
    return plain.write(self, file, at, pieces, n);
}

static int
cost_sync(void *self, int file)
{
    counted.syncs++;
    return plain.sync(self, file);
}

static int
cost_sync_data(void *self, int file)
{
    counted.syncs++;
    return plain.sync_data(self, file);
}

static int
cost_sync_folder(void *self, int dir)
{
    counted.syncs++;
    return plain.sync_folder(self, dir);
}

static void
count_calls(mmi_files *f)
{
    plain = *f;
    f->open = cost_open;
    f->read = cost_read;
    f->size = cost_size;
    f->list = cost_list;
    f->write = cost_write;
    f->sync = cost_sync;
    f->sync_data = cost_sync_data;
    f->sync_folder = cost_sync_folder;
}

static void
put_alone(spool_rig *r)
{
    static const uint8_t body[COST_BODY];
    const uint64_t size = sizeof body;
    const mmi_spool_record record = { .frames = 1, .sizes = &size, .data = body, .size = size };
    uint64_t seq;
    CHECK_INT(mmi_spool_put(&r->spool, &record, &seq), MM_OK);
    CHECK_INT(spool_rig_commit(r, true), MM_OK);
}

/* Of opening one that has so many sealed files, and was closed in order, or whose process ended. */
static cost
cost_of(uint32_t sealed, bool killed)
{
    spool_rig r;
    spool_rig_new(&r, 1, &(mmi_disk_opts){ .capacity = 0 });
    CHECK_INT(spool_rig_open(&r), MM_OK);
    for (uint32_t i = 0; i <= sealed; i++) {
        put_alone(&r);
    }
    CHECK_INT(r.spool.file_count, sealed + 1);
    if (!killed) {
        CHECK_INT(mmi_spool_close(&r.spool), MM_OK);
        r.open = false;
    }
    spool_rig_stop(&r, false);
    count_calls(&r.disk.files);
    counted = (cost){ .opens = 0 };
    CHECK_INT(spool_rig_open(&r), MM_OK);
    cost found = counted;
    r.disk.files = plain;
    CHECK_INT(r.report.unclean, killed);
    CHECK_INT(r.spool.file_count, sealed + 1);
    CHECK_INT(r.spool.last_seq, sealed + 1);
    CHECK(r.spool.sealed_bytes > (uint64_t)sealed * COST_BODY);
    spool_rig_free(&r);
    return found;
}

/* A sealed file is opened once and asked for its size; no octet of it is read, and nothing is
 * written or synced for it. */
static void
test_opening_asks_each_sealed_file_for_its_size_and_no_more(void)
{
    const uint32_t more = COST_MANY - COST_FEW;
    for (int killed = 0; killed < 2; killed++) {
        cost few = cost_of(COST_FEW, killed == 1), many = cost_of(COST_MANY, killed == 1);
        CHECK_INT(many.opens - few.opens, more);
        CHECK_INT(many.sizes - few.sizes, more);
        CHECK_INT(many.reads, few.reads);
        CHECK_INT(many.octets, few.octets);
        CHECK_INT(many.lists, few.lists);
        CHECK_INT(many.writes, few.writes);
        CHECK_INT(many.syncs, few.syncs);
        CHECK(few.octets >= COST_BODY);   /* the last file is read */
    }
}

int
main(void)
{
    RUN(test_opening_asks_each_sealed_file_for_its_size_and_no_more);
    return 0;
}
