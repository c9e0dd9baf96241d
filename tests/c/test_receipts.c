/*
 * test_receipts.c: outcomes by number, of single messages and of runs, against a plain array.
 * Not here: who waits, and a run over a connection (test_send_run.c).
 */
#include "check.h"
#include "queue/receipts.h"

enum {
    NUMBERS = 4000,
    STEPS = 60000,
    RUN_MAX = 150,               /* numbers: over two blocks and more */
    UNKNOWN = MM_RECEIPTS
};

static uint8_t model[NUMBERS + 1];   /* an mm_receipt; UNKNOWN */
static mmi_msg *messages[NUMBERS + 1];

static mmi_msg *
message(void)
{
    mmi_msg *m = mmi_msg_copy(NULL, 0);
    CHECK(m != NULL);
    return m;
}

static void
check_number(const mmi_receipts *r, uint64_t number)
{
    CHECK_INT(mmi_receipts_outcome(r, number),
              model[number] == UNKNOWN ? MM_EINVAL : model[number]);
}

static uint64_t
open_ones(void)
{
    uint64_t count = 0;
    for (int i = 1; i <= NUMBERS; i++) {
        count += model[i] == MM_RECEIPT_OPEN;
    }
    return count;
}

/* A copy of all has what the model has, and no more; the first blocks of it are written if there is
 * no room for more. */
static void
check_copy(const mmi_receipts *r)
{
    enum { BLOCKS = NUMBERS / MM_RECEIPT_BLOCK + 1 };
    uint64_t indexes[BLOCKS], count = mmi_receipts_copy(r, NULL, NULL, 0), numbers = 0;
    uint8_t outcomes[BLOCKS * MM_RECEIPT_BLOCK];
    CHECK(count > 1 && count <= BLOCKS);
    memset(outcomes, MM_RECEIPT_OPEN, sizeof outcomes);
    CHECK(mmi_receipts_copy(r, indexes, outcomes, count - 1) == count);
    CHECK_INT(outcomes[(count - 1) * MM_RECEIPT_BLOCK], MM_RECEIPT_OPEN);
    CHECK(mmi_receipts_copy(r, indexes, outcomes, BLOCKS) == count);
    for (size_t i = 0; i < count * MM_RECEIPT_BLOCK; i++) {
        uint64_t number = indexes[i / MM_RECEIPT_BLOCK] * MM_RECEIPT_BLOCK + i % MM_RECEIPT_BLOCK;
        if (number > 0 && number <= NUMBERS) {
            CHECK_INT(outcomes[i], model[number]);
            numbers += model[number] != UNKNOWN;
        } else {
            CHECK_INT(outcomes[i], UNKNOWN);
        }
    }
    for (int i = 1; i <= NUMBERS; i++) {
        numbers -= model[i] != UNKNOWN;
    }
    CHECK(numbers == 0);
}

/* A run, of which outcomes says that some are known. */
static void
check_take(mmi_receipts *r, uint64_t first, uint64_t count, uint32_t *seed)
{
    uint8_t outcomes[RUN_MAX];
    uint64_t open = 0, expected = 0;
    bool stranger = false;
    for (uint64_t i = 0; i < count; i++) {
        bool had = check_random(seed) % 8 == 0;
        outcomes[i] = had ? MM_RECEIPT_DROPPED : MM_RECEIPT_OPEN;
        stranger |= !had && model[first + i] == UNKNOWN;
        expected += !had && model[first + i] == MM_RECEIPT_OPEN;
    }
    uint8_t before[RUN_MAX];
    memcpy(before, outcomes, sizeof before);
    int rc = mmi_receipts_take(r, first, count, outcomes, &open);
    CHECK_INT(rc, stranger ? MM_EINVAL : MM_OK);
    CHECK(stranger || open == expected);
    for (uint64_t i = 0; i < count; i++) {
        if (before[i] != MM_RECEIPT_OPEN) {
            CHECK_INT(outcomes[i], before[i]);
        } else if (outcomes[i] != MM_RECEIPT_OPEN) {
            CHECK_INT(outcomes[i], model[first + i]);
            model[first + i] = UNKNOWN;   /* it was told, and is forgotten */
        } else {
            CHECK(stranger || model[first + i] == MM_RECEIPT_OPEN);
        }
    }
}

/* It becomes of those that are open, and of no others. */
static void
check_tell_run(mmi_receipts *r, uint64_t first, uint64_t count, int outcome)
{
    mmi_receipts_tell_run(r, first, count, outcome);
    for (uint64_t number = first; number < first + count; number++) {
        model[number] = model[number] == MM_RECEIPT_OPEN ? (uint8_t)outcome : model[number];
        check_number(r, number);
    }
}

static void
test_outcomes_are_those_that_came_first(void)
{
    mmi_receipts r = { .last = 0 };
    uint32_t seed = 11;
    memset(model, UNKNOWN, sizeof model);
    for (int step = 0; step < STEPS; step++) {
        uint64_t number = 1 + check_random(&seed) % NUMBERS;
        uint64_t count = 1 + check_random(&seed) % RUN_MAX;
        count = number + count - 1 > NUMBERS ? NUMBERS - number + 1 : count;
        if (r.last < NUMBERS && check_random(&seed) % 3 == 0) {
            uint64_t some = r.last + count <= NUMBERS ? count : NUMBERS - r.last;
            uint64_t next = r.last + 1;
            CHECK(mmi_receipts_reserve(&r, some) == next && r.last == next + some - 1);
        }
        switch (check_random(&seed) % 7) {
        case 0:
        case 1: {
            mmi_msg *m = message();
            int rc = mmi_receipts_open_as(&r, m, number);
            bool fits = number <= r.last && model[number] == UNKNOWN;
            CHECK_INT(rc, fits ? MM_OK : MM_EINVAL);
            if (rc == MM_OK) {
                CHECK(m->key == number);
                mmi_msg_unref(messages[number]);
                messages[number] = m;
                model[number] = MM_RECEIPT_OPEN;
            } else {
                mmi_msg_unref(m);
            }
            break;
        }
        case 2:
            if (messages[number] != NULL) {
                int outcome = 1 + (int)(check_random(&seed) % (MM_RECEIPTS - 1));
                mmi_receipts_settle(&r, messages[number], outcome);
                model[number] = model[number] == MM_RECEIPT_OPEN ? (uint8_t)outcome : model[number];
                CHECK(messages[number]->key == 0 || model[number] == UNKNOWN);
            }
            break;
        case 3: check_take(&r, number, count % 3 == 0 ? count : 1, &seed); break;
        case 4:
            mmi_receipts_forget(&r, number);
            model[number] = UNKNOWN;
            break;
        case 5:
            if (check_random(&seed) % 8 == 0) {
                int outcome = 1 + (int)(check_random(&seed) % (MM_RECEIPTS - 1));
                check_tell_run(&r, number, count, outcome);
            }
            break;
        default:
            if (check_random(&seed) % 8 == 0) {
                mmi_receipts_forget_run(&r, number, count);
                memset(model + number, UNKNOWN, count);
            }
        }
        check_number(&r, number);
        CHECK(mmi_receipts_awaited(&r) == (r.open > 0));
        CHECK(step % 64 != 0 || r.open == open_ones());
    }
    check_copy(&r);
    for (int i = 1; i <= NUMBERS; i++) {
        check_number(&r, (uint64_t)i);
        mmi_msg_unref(messages[i]);
    }
    mmi_receipts_fini(&r);
}

/* What the core holds. */
static int64_t
held(void)
{
    int64_t bytes;
    (void)mm_test_alloc_live(&bytes);
    return bytes;
}

static void
test_a_run_takes_an_octet_or_two_each_and_none_when_it_is_known(void)
{
    enum { MANY = 100000, OCTETS_MAX = 4 };
    static uint8_t outcomes[MANY];
    mmi_receipts r = { .last = 0 };
    mmi_msg *m = message();
    int64_t before = held();
    uint64_t first = mmi_receipts_reserve(&r, MANY), open;
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(mmi_receipts_open_as(&r, m, first + (uint64_t)i), MM_OK);
        mmi_receipts_settle(&r, m, MM_RECEIPT_ACKED);
    }
    int64_t full = held() - before;
    CHECK(full < (int64_t)MANY * OCTETS_MAX);
    CHECK_INT(mmi_receipts_take(&r, first, MANY, outcomes, &open), MM_OK);
    CHECK_INT(open, 0);
    CHECK(held() - before < full / 2);   /* its table stays */
    CHECK_INT(mmi_receipts_outcome(&r, first), MM_EINVAL);
    mmi_receipts_fini(&r);
    CHECK_INT(held(), before);
    mmi_msg_unref(m);
}

static void
test_without_memory_nothing_is_opened(void)
{
    mmi_receipts r = { .last = 0 };
    mmi_msg *m = message();
    for (int fails = 1; fails <= 2; fails++) {   /* the block, the table */
        mm_test_alloc_fail(fails);
        uint64_t number = mmi_receipts_reserve(&r, MM_RECEIPT_BLOCK);
        CHECK_INT(mmi_receipts_open_as(&r, m, number), MM_ENOMEM);
        CHECK_INT(mm_test_alloc_fail(0), 0);
        CHECK_INT(mmi_receipts_outcome(&r, number), MM_EINVAL);
        CHECK(m->key == 0 && !mmi_receipts_awaited(&r));
    }
    CHECK_INT(mmi_receipts_open(&r, m), MM_OK);
    mmi_receipts_fini(&r);
    mmi_msg_unref(m);
}

int
main(void)
{
    (void)held();   /* counts from now on */
    RUN(test_outcomes_are_those_that_came_first);
    RUN(test_a_run_takes_an_octet_or_two_each_and_none_when_it_is_known);
    RUN(test_without_memory_nothing_is_opened);
    return 0;
}
