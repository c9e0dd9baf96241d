/*
 * fuzz_spool.c: libFuzzer harness of a spool's files: a segment, a record, and slots of any octets.
 * What is taken is within its bounds, is written again as it was, and follows what came before it.
 *
 * The first octet says what the rest is, and whether its CRCs are set right first: with a wrong one
 * nothing behind it is looked at.  The zeros of a segment's head are left out.
 * Not here: what a spool makes of it (tests/c/test_spool_harm.c).
 */
#include <string.h>

#include "base/octets.h"
#include "spool/crc32c.h"
#include "spool/reader.h"
#include "spool/recover.h"
#include "spool/slots.h"

enum { FUZZ_SEGMENT, FUZZ_RECORD, FUZZ_SLOTS, FUZZ_KINDS, FUZZ_SUM = 4 };
enum {
    HEAD_SHORT = 64, /* octets of a segment's head that are not zeros */
    HEAD_BASE_AT = 32,
    HEAD_SALT_AT = 40,
    HEAD_CRC_AT = 60,
    BATCH_CRC_AT = 4,
    BATCH_SIZE_AT = 8,
    BATCH_BODY_CRC_AT = 12,
    BATCH_CHAIN_AT = 48,
    SLOT_SIZE_AT = 16,
    SLOT_CRC_AT = 20
};
enum { MEMORY_ROOM = 128 * 1024, THE_FILE = 1 };

/* A folder with one file, of whatever name. */
typedef struct memory {
    uint8_t data[MEMORY_ROOM];
    uint64_t size;
} memory;

static int
memory_open(void *self, int dir, const char *name, uint32_t flags, int *file)
{
    (void)self, (void)dir, (void)name, (void)flags;
    *file = THE_FILE;
    return MM_OK;
}

static void
memory_close(void *self, int file)
{
    (void)self, (void)file;
}

static int64_t
memory_read(void *self, int file, uint64_t at, void *buf, size_t size)
{
    const memory *m = self;
    uint64_t left = at < m->size ? m->size - at : 0;
    size = left < size ? (size_t)left : size;
    (void)file;
    if (size > 0) {
        memcpy(buf, m->data + at, size);
    }
    return (int64_t)size;
}

static int64_t
memory_write(void *self, int file, uint64_t at, const mmi_iov *pieces, int n)
{
    memory *m = self;
    uint64_t begin = at;
    (void)file;
    for (int i = 0; i < n; i++) {
        MMI_ASSERT(at + pieces[i].size <= MEMORY_ROOM);
        memcpy(m->data + at, pieces[i].data, pieces[i].size);
        at += pieces[i].size;
    }
    m->size = at > m->size ? at : m->size;
    return (int64_t)(at - begin);
}

static int
memory_sync(void *self, int file)
{
    (void)self, (void)file;
    return MM_OK;
}

static int
memory_size(void *self, int file, uint64_t *size)
{
    (void)file;
    *size = ((const memory *)self)->size;
    return MM_OK;
}

static mmi_files
memory_files(memory *m)
{
    return (mmi_files){ .self = m,
                        .open = memory_open,
                        .close = memory_close,
                        .read = memory_read,
                        .write = memory_write,
                        .sync = memory_sync,
                        .sync_data = memory_sync,
                        .size = memory_size };
}

static uint32_t
salted(uint64_t salt, const uint8_t *data, size_t size)
{
    uint8_t octets[8];
    mmi_le64_put(octets, salt);
    return mmi_crc32c(mmi_crc32c(0, octets, sizeof octets), data, size);
}

/* Batches that lie one behind the other get the CRCs and the chain that they must have. */
static void
sum_segment(memory *m)
{
    uint8_t *d = m->data;
    uint64_t salt = mmi_le64_get(d + HEAD_SALT_AT), at = MMI_SPOOL_FILE_HEAD;
    uint32_t chain = mmi_crc32c(0, d, HEAD_CRC_AT);
    mmi_le32_put(d + HEAD_CRC_AT, chain);
    while (m->size - at >= MMI_SPOOL_BATCH_HEAD) {
        uint8_t *head = d + at;
        uint32_t body = mmi_le32_get(head + BATCH_SIZE_AT);
        if (body > m->size - at - MMI_SPOOL_BATCH_HEAD) {
            return;
        }
        mmi_le32_put(head + BATCH_BODY_CRC_AT, salted(salt, head + MMI_SPOOL_BATCH_HEAD, body));
        mmi_le32_put(head + BATCH_CHAIN_AT, chain);
        chain = salted(salt, head + BATCH_SIZE_AT, MMI_SPOOL_BATCH_HEAD - BATCH_SIZE_AT);
        mmi_le32_put(head + BATCH_CRC_AT, chain);
        at += mmi_spool_batch_size(body);
        if (at > m->size) {
            return;
        }
    }
}

/* What was read and is written again is the same octets. */
static void
record_again(const uint8_t *data, uint64_t size)
{
    mmi_spool_record r;
    int64_t takes = mmi_spool_record_get(data, size, &r);
    if (takes < 0) {
        MMI_ASSERT(takes == MM_EPROTO);
        return;
    }
    MMI_ASSERT(takes > 0 && (uint64_t)takes <= size);
    MMI_ASSERT(r.frames > 0 && r.frames <= MMI_SPOOL_FRAMES_MAX);
    MMI_ASSERT(r.data >= data && r.data + r.size == data + takes);
    uint64_t sizes[MMI_SPOOL_FRAMES_MAX], sum = 0;
    mmi_spool_record_frames(&r, sizes);
    for (uint32_t i = 0; i < r.frames; i++) {
        sum += sizes[i];
    }
    MMI_ASSERT(sum == r.size);
    r.sizes = sizes;
    MMI_ASSERT(mmi_spool_record_size(&r) == (uint64_t)takes);
    uint8_t *again = mmi_alloc((size_t)takes);
    MMI_ASSERT(mmi_spool_record_put(again, &r) == again + takes);
    MMI_ASSERT(memcmp(again, data, (size_t)takes) == 0);
    mmi_free(again);
}

/* From each place on: what is found lies behind it, in the file, and is what it says. */
static void
find_all(const mmi_spool_place *p, const mmi_spool_file *f, uint64_t size)
{
    mmi_spool_scan scan = { .at = 0 };
    uint64_t at = MMI_SPOOL_FILE_HEAD;
    while (mmi_spool_scan_find(p, f, &scan, at) == 1) {
        uint64_t end = scan.at + MMI_SPOOL_BATCH_HEAD + scan.batch.body_size;
        MMI_ASSERT(scan.at >= at && scan.at % MMI_SPOOL_ALIGN == 0 && end <= size);
        MMI_ASSERT(scan.next_seq >= scan.batch.first_seq && scan.batch.first_seq > 0);
        at = scan.at + MMI_SPOOL_ALIGN;
    }
    mmi_spool_scan_end(&scan);
}

static void
look(const mmi_spool_place *p, const mmi_spool_file *f, uint64_t known_seq, uint64_t size)
{
    mmi_spool_found found;
    MMI_ASSERT(mmi_spool_look(p, f, known_seq, &found) == MM_OK);
    MMI_ASSERT(found.end >= MMI_SPOOL_FILE_HEAD && found.proved_end <= found.end);
    MMI_ASSERT(found.proved_end >= MMI_SPOOL_FILE_HEAD && found.used <= size + MMI_SPOOL_ALIGN);
    MMI_ASSERT(found.used >= found.end && found.next_seq >= f->head.base_seq);
    MMI_ASSERT(!found.closed || found.used == found.end);
    MMI_ASSERT(found.harmed == (found.proved_seq >= found.next_seq) && !found.unreadable);
    MMI_ASSERT(found.again == 0 || found.again >= found.end);
}

/* It ends, as each step goes on; what it gives is numbered one by one, but where it was
 * compacted. */
static void
read_all(const mmi_files *files, const mmi_spool_file *f, uint64_t bound)
{
    const uint64_t base = f->head.base_seq;
    const mmi_spool_where where = {
        .visible = UINT64_MAX - 1, .base = base, .bound = bound, .first = base, .uuid = f->head.uuid
    };
    mmi_spool_reader r;
    mmi_spool_record record;
    uint64_t seq;
    mmi_spool_reader_open(&r, files, 0, base);
    for (int rc = 1; rc == 1 || rc == MMI_SPOOL_HARMED;) {
        uint64_t next = r.next_seq;
        if (bound != 0 && next >= bound) {
            break;
        }
        rc = mmi_spool_reader_load(&r, &where);
        if (rc == MMI_SPOOL_HARMED) {
            MMI_ASSERT(r.lost_last >= next && (bound == 0 || r.lost_last < bound));
            mmi_spool_reader_seek(&r, r.lost_last + 1);
        } else if (rc == 1) {
            while ((rc = mmi_spool_reader_next(&r, &record, &seq)) == 1) {
                bool sparse = f->head.version == MMI_SPOOL_COMPACTED;
                MMI_ASSERT(seq == next || (sparse && seq > next));
                MMI_ASSERT(r.next_seq > seq);
                next = seq + 1;
            }
            rc = rc == 0 && r.next_seq > seq ? 1 : rc;
        }
    }
    mmi_spool_reader_close(&r);
}

static void
segment(memory *m, const uint8_t *data, size_t size, bool sums)
{
    size_t head = size < HEAD_SHORT ? size : (size_t)HEAD_SHORT;
    if (size - head > MEMORY_ROOM - MMI_SPOOL_FILE_HEAD) {
        return;
    }
    memcpy(m->data, data, head);
    memcpy(m->data + MMI_SPOOL_FILE_HEAD, data + head, size - head);
    m->size = MMI_SPOOL_FILE_HEAD + (size - head);
    if (sums) {
        sum_segment(m);
    }
    const mmi_files files = memory_files(m);
    const mmi_spool_place place = { &files, 0 };
    mmi_spool_file f;
    uint64_t base = mmi_le64_get(m->data + HEAD_BASE_AT);
    for (size_t at = 0; at + MMI_SPOOL_BATCH_HEAD <= size; at += MMI_SPOOL_ALIGN) {
        uint64_t first, behind;
        (void)mmi_spool_batch_begins(data + at);
        mmi_spool_batch_guess(data + at, &first, &behind);
    }
    if (mmi_spool_file_open(&place, base, false, &f) != MM_OK) {
        return;
    }
    find_all(&place, &f, m->size);
    look(&place, &f, 0, m->size);
    look(&place, &f, base + 5, m->size);
    look(&place, &f, UINT64_MAX / 2, m->size);
    read_all(&files, &f, 0);
    read_all(&files, &f, base < UINT64_MAX - 10 ? base + 10 : 0);
    mmi_spool_file_close(&place, &f);
}

/* Of a slot, up to its claimed size. */
static void
sum_slot(uint8_t *slot)
{
    uint32_t size = mmi_le32_get(slot + SLOT_SIZE_AT);
    if (size <= MMI_SLOT_DATA_MAX) {
        uint32_t crc = mmi_crc32c(0, slot + BATCH_SIZE_AT, SLOT_CRC_AT - BATCH_SIZE_AT);
        mmi_le32_put(slot + SLOT_CRC_AT, mmi_crc32c(crc, slot + MMI_SLOT_HEAD, size));
    }
}

/* The first two octets say how many of the rest are the first slot's.  What was opened is the same
 * when it is opened again, and so is what is written then. */
static void
slots(memory *m, const uint8_t *data, size_t size, bool sums)
{
    static uint8_t first[MMI_SLOT_DATA_MAX], again[MMI_SLOT_DATA_MAX];
    uint32_t had, has;
    mmi_slots s;
    if (size < 2 || size > MMI_SLOT) {
        return;
    }
    size_t one = mmi_le16_get(data) % (size - 1);
    memcpy(m->data, data + 2, one);
    memcpy(m->data + MMI_SLOT, data + 2 + one, size - 2 - one);
    m->size = MMI_SLOT + (size - 2 - one);
    if (sums) {
        sum_slot(m->data);
        sum_slot(m->data + MMI_SLOT);
    }
    const mmi_files files = memory_files(m);
    int rc = mmi_slots_open(&s, &files, 0, "slots", false, first, &had);
    if (rc != MM_OK) {
        MMI_ASSERT(rc == MM_EPROTO && s.file < 0);
        return;
    }
    uint64_t number = s.number;
    MMI_ASSERT(had <= MMI_SLOT_DATA_MAX && number > 0);
    mmi_slots_close(&s);
    MMI_ASSERT(mmi_slots_open(&s, &files, 0, "slots", false, again, &has) == MM_OK);
    MMI_ASSERT(s.number == number && has == had && memcmp(first, again, had) == 0);
    if (number < UINT64_MAX - 1) {
        MMI_ASSERT(mmi_slots_write(&s, data, (uint32_t)size) == MM_OK);
        mmi_slots_close(&s);
        MMI_ASSERT(mmi_slots_open(&s, &files, 0, "slots", false, again, &has) == MM_OK);
        MMI_ASSERT(s.number == number + 1 && has == size && memcmp(data, again, size) == 0);
    }
    mmi_slots_close(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    int kind = data[0] % FUZZ_SUM % FUZZ_KINDS;
    bool sums = (data[0] & FUZZ_SUM) != 0;
    uint8_t *exact = mmi_alloc(size);   /* so that a look behind it is seen */
    memory *m = mmi_alloc(sizeof *m);
    MMI_ASSERT(exact != NULL && m != NULL);
    memcpy(exact, data + 1, size - 1);
    if (kind == FUZZ_SEGMENT) {
        segment(m, exact, size - 1, sums);
    } else if (kind == FUZZ_RECORD) {
        record_again(exact, size - 1);
    } else {
        slots(m, exact, size - 1, sums);
    }
    mmi_free(m);
    mmi_free(exact);
    return 0;
}
