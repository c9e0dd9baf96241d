/*
 * test_spool_sparse.c: a batch whose numbers are not dense: its records with their numbers, what is
 * refused of it, and where it may stand; and the table of keys, with its hash.
 *
 * Not here: other batches (test_spool_format.c), who writes them (test_spool_compact.c).
 */
#include "base/meta.h"
#include "base/varint.h"
#include "spool/keys.h"
#include "spool_steps.h"

enum { FIRST = 50, LAST = 60, BODY_ROOM = 256 };

static const uint8_t hello[] = "\x06\x00hello";
enum { HELLO = sizeof hello - 1 };

/* A body of hellos with these skips before them. */
static uint32_t
body_of(uint8_t *body, const uint64_t *skips, int count)
{
    const mmi_spool_sparse sparse = { .last_seq = LAST, .clean_us = 7 };
    mmi_spool_sparse_put(body, &sparse);
    uint8_t *at = body + MMI_SPOOL_SPARSE_BODY;
    for (int i = 0; i < count; i++) {
        at = mmi_varint_put(at, skips[i]);
        memcpy(at, hello, HELLO);
        at += HELLO;
    }
    return (uint32_t)(at - body);
}

/* The numbers of its records, one after another; how many, or an error. */
static int
walked(const uint8_t *body, uint32_t size, uint16_t count, uint64_t *seqs)
{
    const mmi_spool_batch batch = {
        .type = MMI_SPOOL_SPARSE, .first_seq = FIRST, .count = count, .body_size = size
    };
    mmi_spool_walk walk;
    mmi_spool_record r;
    int rc = mmi_spool_walk_begin(&walk, &batch, body, LAST + 1), n = 0;
    if (rc != MM_OK) {
        return rc;
    }
    uint64_t next = walk.seq;
    while ((rc = mmi_spool_walk_next(&walk, &r, &seqs[n])) == 1) {
        CHECK_INT(seqs[n], next);
        CHECK(r.size == 5 && memcmp(r.data, "hello", 5) == 0);
        next = walk.seq;
        n++;
    }
    CHECK(rc < 0 || walk.seq == LAST + 1);
    return rc < 0 ? rc : n;
}

static void
test_records_have_their_numbers(void)
{
    uint8_t body[BODY_ROOM];
    uint64_t seqs[16];
    static const uint64_t some[] = { 1, 0, 3, 3 }, all[11] = { 0 }, last[] = { 10 };
    uint32_t size = body_of(body, some, 4);
    CHECK_INT(walked(body, size, 4, seqs), 4);
    CHECK(seqs[0] == 51 && seqs[1] == 52 && seqs[2] == 56 && seqs[3] == LAST);
    size = body_of(body, all, 11);
    CHECK_INT(walked(body, size, 11, seqs), 11);
    CHECK(seqs[0] == FIRST && seqs[10] == LAST);
    size = body_of(body, last, 1);
    CHECK_INT(walked(body, size, 1, seqs), 1);
    CHECK_INT(seqs[0], LAST);
    CHECK_INT(walked(body, MMI_SPOOL_SPARSE_BODY, 0, seqs), 0);
}

static void
test_numbers_beyond_its_last_and_octets_beyond_its_records_are_refused(void)
{
    uint8_t body[BODY_ROOM];
    uint64_t seqs[16];
    static const uint64_t over[] = { 11 }, later[] = { 5, 5 }, far[] = { UINT64_MAX },
                          some[] = { 1, 2 };
    CHECK_INT(walked(body, body_of(body, over, 1), 1, seqs), MM_EPROTO);
    CHECK_INT(walked(body, body_of(body, later, 2), 2, seqs), MM_EPROTO);
    CHECK_INT(walked(body, body_of(body, far, 1), 1, seqs), MM_EPROTO);
    uint32_t size = body_of(body, some, 2);
    CHECK_INT(walked(body, size, 2, seqs), 2);
    CHECK_INT(walked(body, size, 1, seqs), MM_EPROTO); /* there is another */
    CHECK_INT(walked(body, size, 3, seqs), MM_EPROTO); /* there is none */
    for (uint32_t cut = MMI_SPOOL_SPARSE_BODY; cut < size; cut++) {
        CHECK_INT(walked(body, cut, 2, seqs), MM_EPROTO);
    }
}

/* What is scanned: of a file of that version, whose one batch that is. */
static int
scanned(uint32_t version, const uint8_t *body, uint32_t size, uint16_t count)
{
    disk_rig d = rig_plain(1);
    mmi_spool_place place = { &d.files, d.dir };
    mmi_spool_scan scan = { .at = 0 };
    mmi_spool_file f;
    int spare;
    mmi_spool_head head = { .base_seq = FIRST, .version = version };
    mmi_spool_batch batch = { .type = MMI_SPOOL_SPARSE, .first_seq = FIRST, .count = count };
    CHECK_INT(mmi_spool_spare(&place, MMI_SPOOL_FILE_MIN, &spare), MM_OK);
    CHECK_INT(mmi_spool_file_begin(&place, &f, spare, 0, &head), MM_OK);
    CHECK_INT(mmi_spool_file_write(&place, &f, &batch, body, size, 0), MM_OK);
    int rc = mmi_spool_scan_at(&place, &f, &scan, MMI_SPOOL_FILE_HEAD);
    CHECK(rc != 1 || scan.next_seq == LAST + 1);
    mmi_spool_scan_end(&scan);
    mmi_spool_file_close(&place, &f);
    rig_close(&d);
    return rc;
}

static void
test_it_stands_in_files_that_compaction_wrote(void)
{
    uint8_t body[BODY_ROOM];
    static const uint64_t none[1];
    uint32_t size = body_of(body, none, 1);
    CHECK_INT(scanned(MMI_SPOOL_COMPACTED, body, size, 1), 1);
    CHECK_INT(scanned(MMI_SPOOL_VERSION, body, size, 1), 0);
    CHECK_INT(scanned(MMI_SPOOL_COMPACTED, body, size, 12), 0); /* more than it has numbers */
    mmi_spool_sparse sparse = { .last_seq = FIRST - 1 };
    mmi_spool_sparse_put(body, &sparse);
    CHECK_INT(scanned(MMI_SPOOL_COMPACTED, body, MMI_SPOOL_SPARSE_BODY, 0), 0);
    sparse.last_seq = UINT64_MAX;
    mmi_spool_sparse_put(body, &sparse);
    CHECK_INT(scanned(MMI_SPOOL_COMPACTED, body, MMI_SPOOL_SPARSE_BODY, 0), 0);
}

/* SipHash-2-4 of 128 bits: the vectors of its authors (vectors_sip128). */
static void
test_the_hash_is_siphash(void)
{
    static const uint8_t wanted[][16] = {
        { 0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
          0x93 },
        { 0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
          0x45 },
    };
    uint8_t secret[MMI_SPOOL_SECRET], key[64];
    uint64_t hash[2], other[2];
    for (int i = 0; i < MMI_SPOOL_SECRET; i++) {
        secret[i] = (uint8_t)i;
    }
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)i;
    }
    for (size_t size = 0; size < MMI_COUNT_OF(wanted); size++) {
        mmi_spool_key_hash(secret, key, size, hash);
        for (int i = 0; i < 16; i++) {
            CHECK_INT((uint8_t)(hash[i / 8] >> (8 * (i % 8))), wanted[size][i]);
        }
    }
    for (size_t size = 1; size < sizeof key;
         size++) { /* each octet counts, and how many there are */
        mmi_spool_key_hash(secret, key, size, hash);
        mmi_spool_key_hash(secret, key, size - 1, other);
        CHECK(hash[0] != other[0] && hash[1] != other[1]);
        key[size - 1] ^= 1;
        mmi_spool_key_hash(secret, key, size, other);
        key[size - 1] ^= 1;
        CHECK(hash[0] != other[0] && hash[1] != other[1]);
    }
}

static void
test_a_table_has_a_limit(void)
{
    enum { LIMIT = 3000 };
    for (uint64_t most = 1; most <= LIMIT; most = most * 3 + 1) {
        mmi_spool_keys keys = { .most = (uint32_t)most };
        for (uint64_t i = 1; i <= most; i++) {
            const uint64_t hash[2] = { i % 7, i }; /* which crowd */
            CHECK_INT(mmi_spool_keys_get(&keys, hash), 0);
            CHECK_INT(mmi_spool_keys_put(&keys, hash, i), MM_OK);
        }
        const uint64_t one[2] = { 1, 1 }, more[2] = { 0, most + 1 };
        CHECK_INT(mmi_spool_keys_put(&keys, more, 9), MM_EAGAIN);
        CHECK_INT(mmi_spool_keys_put(&keys, one, most + 9), MM_OK); /* it is there */
        CHECK_INT(mmi_spool_keys_get(&keys, one), most + 9);
        CHECK_INT(keys.count, most);
        for (uint64_t i = 2; i <= most; i++) {
            const uint64_t hash[2] = { i % 7, i };
            CHECK_INT(mmi_spool_keys_get(&keys, hash), i);
        }
        mmi_spool_keys_clear(&keys);
    }
}

static void
test_a_key_is_that_of_the_message(void)
{
    uint64_t hash[2], other[2];
    mmi_spool_keys keys = { .most = 1 };
    static const uint8_t plain[] = { MMI_META_KEY, 0, 1, 'k' }, empty[] = { MMI_META_KEY, 0, 0 },
                         behind[] = { MMI_META_TEXT, 0, 2, 1, 'n', MMI_META_KEY, 0, 1, 'k' },
                         odd[] = { MMI_META_KEY, 0, 9, 'k' };
    mmi_spool_record r = { .meta = plain, .meta_size = sizeof plain };
    CHECK(mmi_spool_keys_of(&keys, &r, hash));
    r = (mmi_spool_record){ .meta = behind, .meta_size = sizeof behind };
    CHECK(mmi_spool_keys_of(&keys, &r, other));
    CHECK(hash[0] == other[0] && hash[1] == other[1]);
    r = (mmi_spool_record){ .meta = empty, .meta_size = sizeof empty };
    CHECK(!mmi_spool_keys_of(&keys, &r, hash)); /* an empty one is none */
    r = (mmi_spool_record){ .meta = odd, .meta_size = sizeof odd };
    CHECK(!mmi_spool_keys_of(&keys, &r, hash));
    r = (mmi_spool_record){ .meta_size = 0 };
    CHECK(!mmi_spool_keys_of(&keys, &r, hash));
}

int
main(void)
{
    RUN(test_records_have_their_numbers);
    RUN(test_numbers_beyond_its_last_and_octets_beyond_its_records_are_refused);
    RUN(test_it_stands_in_files_that_compaction_wrote);
    RUN(test_the_hash_is_siphash);
    RUN(test_a_table_has_a_limit);
    RUN(test_a_key_is_that_of_the_message);
    return 0;
}
