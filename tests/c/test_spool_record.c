/*
 * test_spool_record.c: a message as a record of a spool: what comes back is what was written, and
 * octets that nobody would write so are no record.
 *
 * Not here: the octets of each kind of record, one by one (test_spool_format.c).
 * Law: what is read stands in a block of just its size, so that the sanitizer sees a look past it.
 */
#include "spool/format.h"

#include "base/limits.h"
#include "check.h"

enum {
    ROUNDS = 2000,
    MUTATIONS = 30,
    NOISE_ROUNDS = 100000,
    NOISE_MAX = 40,      /* octets */
    FRAME_MAX = 300,     /* octets: sizes of one and of two octets */
    RECORD_MAX = 1 << 20 /* octets */
};

/* A message with all that a record points to. */
typedef struct message {
    mmi_spool_record r;
    uint8_t meta[MMI_META_SIZE_MAX], producer[MMI_SPOOL_UUID];
    uint64_t sizes[MMI_SPOOL_FRAMES_MAX];
    uint8_t data[MMI_SPOOL_FRAMES_MAX * FRAME_MAX];
} message;

/* In a block of its own. */
static uint8_t *
copy_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    CHECK(copy != NULL);
    memcpy(copy, data, size);
    return copy;
}

/* Mostly small, sometimes as large as may be. */
static uint32_t
some_size(uint32_t *seed, uint32_t max)
{
    uint32_t chance = check_random(seed) % 20;
    return chance == 0 ? max : check_random(seed) % (chance < 14 ? max / 100 + 2 : max + 1);
}

static void
message_of(message *m, uint32_t *seed)
{
    m->r = (mmi_spool_record){ .data = m->data, .sizes = m->sizes };
    m->r.frames = check_random(seed) % 2 == 0 ? 1 : some_size(seed, MMI_SPOOL_FRAMES_MAX);
    m->r.frames += m->r.frames == 0;
    for (uint32_t i = 0; i < m->r.frames; i++) {
        m->sizes[i] = some_size(seed, FRAME_MAX);
        m->r.size += m->sizes[i];
    }
    for (uint64_t i = 0; i < m->r.size; i++) {
        m->data[i] = (uint8_t)check_random(seed);
    }
    if (check_random(seed) % 2 == 0) {
        m->r.meta = m->meta;
        m->r.meta_size = 1 + some_size(seed, MMI_META_SIZE_MAX - 1);
        memset(m->meta, (int)check_random(seed), m->r.meta_size);
    }
    if (check_random(seed) % 2 == 0) {
        m->r.producer = m->producer;
        memset(m->producer, (int)check_random(seed), sizeof m->producer);
        m->r.number = (uint64_t)check_random(seed) << 32 | check_random(seed);
    }
    if (check_random(seed) % 2 == 0) {
        m->r.due_us = ((uint64_t)check_random(seed) << 32 | check_random(seed)) + 1;
    }
    if (check_random(seed) % 2 == 0) {
        m->r.priority = (uint8_t)(1 + check_random(seed) % UINT8_MAX);
    }
}

static void
check_same(const mmi_spool_record *is, const mmi_spool_record *wanted)
{
    static uint64_t sizes[MMI_SPOOL_FRAMES_MAX];
    CHECK_INT(is->meta_size, wanted->meta_size);
    CHECK(is->meta_size == 0 || memcmp(is->meta, wanted->meta, is->meta_size) == 0);
    CHECK((is->producer != NULL) == (wanted->producer != NULL));
    if (is->producer != NULL) {
        CHECK(memcmp(is->producer, wanted->producer, MMI_SPOOL_UUID) == 0);
        CHECK(is->number == wanted->number);
    }
    CHECK(is->due_us == wanted->due_us);
    CHECK_INT(is->priority, wanted->priority);
    CHECK_INT(is->frames, wanted->frames);
    CHECK_INT(is->size, wanted->size);
    CHECK(memcmp(is->data, wanted->data, is->size) == 0);
    mmi_spool_record_frames(is, sizes);
    CHECK(memcmp(sizes, wanted->sizes, is->frames * sizeof *sizes) == 0);
}

/* As it is read from a block of just that size. */
static int64_t
read_of(const uint8_t *data, size_t size)
{
    uint8_t *copy = copy_of(data, size);
    mmi_spool_record r;
    int64_t n = mmi_spool_record_get(copy, size, &r);
    if (n >= 0) {
        uint64_t sizes[MMI_SPOOL_FRAMES_MAX], sum = 0;
        CHECK(n > 0 && (uint64_t)n <= size && r.data + r.size == copy + n);
        CHECK(r.frames > 0 && r.frames <= MMI_SPOOL_FRAMES_MAX);
        mmi_spool_record_frames(&r, sizes);
        for (uint32_t i = 0; i < r.frames; i++) {
            CHECK(sizes[i] <= r.size);
            sum += sizes[i];
        }
        CHECK_INT(sum, r.size);
        /* There is one way to write it. */
        r.sizes = sizes;
        uint8_t *again = malloc((size_t)n);
        CHECK(again != NULL);
        CHECK_INT(mmi_spool_record_size(&r), n);
        CHECK(mmi_spool_record_put(again, &r) == again + n);
        CHECK(memcmp(again, copy, (size_t)n) == 0);
        free(again);
    }
    free(copy);
    return n;
}

static void
test_random_messages_come_back(void)
{
    static message m;
    uint32_t seed = 3;
    for (int round = 0; round < ROUNDS; round++) {
        message_of(&m, &seed);
        uint64_t size = mmi_spool_record_size(&m.r);
        CHECK(size < RECORD_MAX);
        uint8_t *data = malloc(size);
        CHECK(data != NULL);
        CHECK(mmi_spool_record_put(data, &m.r) == data + size);
        mmi_spool_record r;
        CHECK_INT(mmi_spool_record_get(data, size, &r), size);
        check_same(&r, &m.r);
        free(data);
    }
}

static void
test_what_follows_a_record_is_left_alone(void)
{
    const uint8_t two[] = { 2, 0, 'a', 3, 0, 'b', 'c' };
    mmi_spool_record r;
    CHECK_INT(mmi_spool_record_get(two, sizeof two, &r), 3);
    CHECK(r.size == 1 && r.data[0] == 'a');
    CHECK_INT(mmi_spool_record_get(two + 3, sizeof two - 3, &r), 4);
    CHECK(r.size == 2 && memcmp(r.data, "bc", 2) == 0);
}

static void
test_frames_may_be_put_behind_the_rest_by_the_caller(void)
{
    static message m;
    uint32_t seed = 29;
    for (int round = 0; round < 100; round++) {
        message_of(&m, &seed);
        uint64_t size = mmi_spool_record_size(&m.r);
        uint8_t *whole = malloc(size), *parts = malloc(size);
        CHECK(whole != NULL && parts != NULL);
        mmi_spool_record_put(whole, &m.r);
        mmi_spool_record rest = m.r;
        rest.data = NULL;
        uint8_t *frames = mmi_spool_record_put(parts, &rest);
        CHECK(frames + m.r.size == parts + size);
        memcpy(frames, m.data, m.r.size);
        CHECK(memcmp(whole, parts, size) == 0);
        free(whole);
        free(parts);
    }
}

static void
test_a_record_that_is_cut_is_none(void)
{
    static message m;
    uint32_t seed = 5;
    for (int round = 0; round < ROUNDS / 20; round++) {
        message_of(&m, &seed);
        uint64_t size = mmi_spool_record_size(&m.r);
        uint8_t *data = malloc(size);
        CHECK(data != NULL);
        mmi_spool_record_put(data, &m.r);
        uint64_t step = size < 2000 ? 1 : size / 500;
        for (uint64_t cut = 0; cut < size; cut += step) {
            CHECK_INT(read_of(data, cut), MM_EPROTO);
        }
        CHECK_INT(read_of(data, size - 1), MM_EPROTO);
        CHECK_INT(read_of(data, size), size);
        free(data);
    }
}

/* An octet of it, mostly of its beginning, is another: none, or a record that is written so. */
static void
test_a_harmed_record_is_none_or_another_and_nothing_past_it_is_read(void)
{
    static message m;
    uint32_t seed = 7, refused = 0, taken = 0;
    for (int round = 0; round < ROUNDS / 4; round++) {
        message_of(&m, &seed);
        uint64_t size = mmi_spool_record_size(&m.r);
        uint8_t *data = malloc(size);
        CHECK(data != NULL);
        mmi_spool_record_put(data, &m.r);
        for (int i = 0; i < MUTATIONS; i++) {
            uint64_t at = check_random(&seed) % (i % 2 == 0 && size > 64 ? 64 : size);
            uint8_t was = data[at];
            data[at] ^= (uint8_t)(1 + check_random(&seed) % 255);
            *(read_of(data, size) < 0 ? &refused : &taken) += 1;
            data[at] = was;
        }
        free(data);
    }
    printf("%u refused, %u taken\n", refused, taken);
    CHECK(refused > 1000 && taken > 1000);
}

static void
test_noise_is_no_record_or_one_that_is_written_so(void)
{
    uint32_t seed = 9, refused = 0, taken = 0;
    for (int round = 0; round < NOISE_ROUNDS; round++) {
        uint8_t data[NOISE_MAX];
        size_t size = check_random(&seed) % (NOISE_MAX + 1);
        for (size_t i = 0; i < size; i++) {
            data[i] = (uint8_t)(check_random(&seed) % (i < 4 ? 40 : 256));
        }
        *(read_of(data, size) < 0 ? &refused : &taken) += 1;
    }
    printf("%u refused, %u taken\n", refused, taken);
    CHECK(refused > 1000 && taken > 1000);
}

/* Each for one reason. */
static void
test_octets_that_nobody_would_write(void)
{
    static const struct {
        uint8_t data[24];
        size_t size;
        int64_t wanted;
    } cases[] = {
        { { 0 }, 0, MM_EPROTO },
        { { 0 }, 1, MM_EPROTO },                       /* a size of 0: no attrs */
        { { 1, 0 }, 2, 2 },                            /* an empty message */
        { { 2, 0, 'a' }, 3, 3 },
        { { 3, 0, 'a' }, 3, MM_EPROTO },               /* more than there is */
        { { 0x82, 0, 0, 'a' }, 4, MM_EPROTO },         /* 2 in two octets */
        { { 0x80, 0 }, 2, MM_EPROTO },                 /* 0 in two */
        { { 3, 0x80, 0, 'a' }, 4, MM_EPROTO },         /* attrs of 0 in two */
        { { 1, 0x80 }, 2, MM_EPROTO },                 /* attrs that go on past the record */
        { { 1, 0x80, 1 }, 3, MM_EPROTO },              /* though there is more */
        { { 2, 32, 'a' }, 3, MM_EPROTO },              /* attrs that are not known */
        { { 2, 64, 'a' }, 3, MM_EPROTO },
        { { 3, 0x80, 1, 'a' }, 4, MM_EPROTO },
        { { 4, 1, 1, 'm', 'a' }, 5, 5 },
        { { 3, 1, 0, 'a' }, 4, MM_EPROTO },            /* a meta of no octets */
        { { 4, 1, 3, 'm', 'a' }, 5, MM_EPROTO },       /* past the record */
        { { 4, 1, 3, 'm', 'a', 'b' }, 6, MM_EPROTO },  /* though there is more */
        { { 1, 1, 1, 'm', 'a' }, 5, MM_EPROTO },
        { { 5, 4, 2, 1, 'a', 'b' }, 6, 6 },
        { { 4, 4, 2, 0, 'b' }, 5, 5 },                 /* the first frame is empty */
        { { 4, 4, 2, 1, 'b' }, 5, 5 },                 /* the last one is */
        { { 4, 4, 2, 2, 'b' }, 5, MM_EPROTO },         /* a frame past the record */
        { { 4, 4, 2, 2, 'b', 'c' }, 6, MM_EPROTO },    /* though there is more */
        { { 3, 4, 1, 'a' }, 4, MM_EPROTO },            /* one frame is not counted */
        { { 3, 4, 0, 'a' }, 4, MM_EPROTO },
        { { 6, 4, 3, 2, 1, 'a', 'b' }, 7, MM_EPROTO }, /* frames that are too large together */
        { { 7, 4, 3, 2, 1, 'a', 'b', 'c' }, 8, 8 },
        { { 4, 4, 0x82, 0, 1 }, 5, MM_EPROTO },        /* a count in two octets */
        { { 5, 4, 2, 0x81, 0, 'a' }, 6, MM_EPROTO },   /* a size in two */
        { { 2, 4, 2 }, 3, MM_EPROTO },                 /* a size that is not there */
        { { 9, 2, 'p', 'r', 'o', 'd', 'u', 'c', 'e', 'r' }, 10, MM_EPROTO },
        { { 17, 2 }, 18, MM_EPROTO },                  /* a producer, and no number */
        { { 10, 8, 1, 0, 0, 0, 0, 0, 0, 0, 'a' }, 11, 11 },
        { { 9, 8, 0, 0, 0, 0, 0, 0, 0, 1 }, 10, 10 },  /* due, and empty */
        { { 10, 8, 0, 0, 0, 0, 0, 0, 0, 0, 'a' }, 11, MM_EPROTO }, /* due at 0 */
        { { 8, 8, 1, 1, 1, 1, 1, 1, 1 }, 9, MM_EPROTO },           /* due past the record */
        { { 8, 8, 1, 1, 1, 1, 1, 1, 1, 1 }, 10, MM_EPROTO },       /* though there is more */
        { { 3, 16, 1, 'a' }, 4, 4 },
        { { 2, 16, 255 }, 3, 3 },
        { { 3, 16, 0, 'a' }, 4, MM_EPROTO },           /* a priority of 0 */
        { { 1, 16, 1 }, 3, MM_EPROTO },                /* one past the record */
        { { 11, 24, 1, 0, 0, 0, 0, 0, 0, 0, 9, 'a' }, 12, 12 },    /* due, then urgent */
        { { 11, 24, 0, 0, 0, 0, 0, 0, 0, 0, 9, 'a' }, 12, MM_EPROTO },
        { { 10, 24, 1, 0, 0, 0, 0, 0, 0, 0, 0 }, 11, MM_EPROTO },
        { { 6, 20, 9, 2, 1, 'a', 'b' }, 7, 7 },        /* urgent, then frames */
        { { 6, 20, 0, 2, 1, 'a', 'b' }, 7, MM_EPROTO },
        /* 2 to the 64th less one is a varint, in size and in frames; what is over it is none. */
        { { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0 }, 11, MM_EPROTO },
        { { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0 }, 11, MM_EPROTO },
        { { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 11, MM_EPROTO },
        { { 13, 4, 2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 'a' }, 14, MM_EPROTO },
        { { 14, 4, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 'a' }, 15, MM_EPROTO },
        { { 12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 'a', 'b' }, 13, MM_EPROTO },
        /* 2 to the 64th and 2 more would be 2, if the bits that are too many were let go. */
        { { 0x82, 128, 128, 128, 128, 128, 128, 128, 128, 2, 0, 'a' }, 12, MM_EPROTO },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        int64_t n = read_of(cases[i].data, cases[i].size);
        if (n != cases[i].wanted) {
            fprintf(stderr, "case %zu\n", i);
        }
        CHECK_INT(n, cases[i].wanted);
    }
}

/* Each set of parts, in their order: whole, and cut behind each octet. */
static void
test_each_set_of_parts_is_read_and_none_that_is_cut(void)
{
    static const uint8_t producer[MMI_SPOOL_UUID] = "of whoever it is", meta[] = { 3, 0, 1, 'a' };
    const uint64_t sizes[] = { 2, 1 };
    for (uint32_t attrs = 0; attrs < MMI_SPOOL_ATTRS; attrs++) {
        uint8_t data[64];
        mmi_spool_record is;
        mmi_spool_record r = { .frames = (attrs & MMI_SPOOL_FRAMES) != 0 ? 2 : 1,
                               .sizes = sizes,
                               .data = (const uint8_t *)"abc",
                               .size = 3,
                               .meta = meta,
                               .meta_size = (attrs & MMI_SPOOL_META) != 0 ? sizeof meta : 0,
                               .producer = (attrs & MMI_SPOOL_ORIGIN) != 0 ? producer : NULL,
                               .number = 7,
                               .due_us = (attrs & MMI_SPOOL_DUE) != 0 ? UINT64_MAX : 0,
                               .priority = (attrs & MMI_SPOOL_PRIORITY) != 0 ? 1 : 0 };
        uint64_t size = mmi_spool_record_size(&r);
        CHECK(size <= sizeof data && mmi_spool_record_put(data, &r) == data + size);
        CHECK_INT(data[1], attrs);
        CHECK_INT(mmi_spool_record_get(data, size, &is), size);
        CHECK_INT(is.due_us, r.due_us);
        CHECK_INT(is.priority, r.priority);
        CHECK_INT(is.meta_size, r.meta_size);
        CHECK((is.producer != NULL) == (r.producer != NULL));
        CHECK_INT(is.frames, r.frames);
        CHECK(is.size == 3 && memcmp(is.data, "abc", 3) == 0);
        uint64_t head = size - 3;   /* octets before the frames */
        for (uint64_t cut = 0; cut < size; cut++) {
            CHECK_INT(read_of(data, cut), MM_EPROTO);
            data[0] = (uint8_t)(cut > 1 ? cut - 1 : 0); /* and as its size says */
            /* What is cut of one frame is another; of more than one, the last is. */
            bool fits = cut >= head + (r.frames > 1 ? sizes[0] : 0) && cut > 1;
            CHECK_INT(read_of(data, cut), fits ? (int64_t)cut : MM_EPROTO);
            data[0] = (uint8_t)(size - 1);
        }
    }
}

/* What reading a record of that much meta, or of so many empty frames, says. */
static int64_t
at_limit(uint32_t meta_size, uint32_t frames)
{
    uint8_t *data = calloc(1, 64 * 1024);
    CHECK(data != NULL);
    uint32_t value = meta_size > 0 ? meta_size : frames, digits = value >= 1 << 14 ? 3 : 2;
    uint32_t behind = meta_size > 0 ? meta_size : frames - 1;
    uint32_t inner = 1 + digits + behind, at = 0;
    for (int i = 0; i < 3; i++) {
        data[at++] =
            (uint8_t)((inner >> (7 * i) & 127) | (i < 2 && inner >> (7 * i + 7) ? 128 : 0));
        if (inner >> (7 * i + 7) == 0) {
            break;
        }
    }
    data[at++] = meta_size > 0 ? MMI_SPOOL_META : MMI_SPOOL_FRAMES;
    for (uint32_t i = 0; i < digits; i++) {
        data[at++] = (uint8_t)((value >> (7 * i) & 127) | (i + 1 < digits ? 128 : 0));
    }
    int64_t n = read_of(data, at + behind);
    CHECK(n < 0 || n == (int64_t)(at + behind));
    free(data);
    return n;
}

static void
test_meta_and_frames_have_limits(void)
{
    CHECK(at_limit(MMI_META_SIZE_MAX, 0) > 0);
    CHECK_INT(at_limit(MMI_META_SIZE_MAX + 1, 0), MM_EPROTO);
    CHECK(at_limit(0, MMI_SPOOL_FRAMES_MAX) > 0);
    CHECK_INT(at_limit(0, MMI_SPOOL_FRAMES_MAX + 1), MM_EPROTO);
}

int
main(void)
{
    RUN(test_random_messages_come_back);
    RUN(test_what_follows_a_record_is_left_alone);
    RUN(test_frames_may_be_put_behind_the_rest_by_the_caller);
    RUN(test_a_record_that_is_cut_is_none);
    RUN(test_a_harmed_record_is_none_or_another_and_nothing_past_it_is_read);
    RUN(test_noise_is_no_record_or_one_that_is_written_so);
    RUN(test_octets_that_nobody_would_write);
    RUN(test_each_set_of_parts_is_read_and_none_that_is_cut);
    RUN(test_meta_and_frames_have_limits);
    return 0;
}
