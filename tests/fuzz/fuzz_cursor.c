/*
 * fuzz_cursor.c: libFuzzer harness of a cursor's octets: any sections, of a spool of any length.
 * What is taken is written again as it was, as far as the spool goes; and what is done then is what
 * was done, whatever is marked, removed and sought.
 *
 * The first octet says whether the head and the place are put in front, the next eight are the last
 * number of the spool, and then those of the floor.
 * Not here: the slots of the file (fuzz_spool.c), its name and saves (tests/c/test_cursor_crash.c).
 */
#include <string.h>

#include "base/octets.h"
#include "spool/cursor.h"

enum { FUZZ_PLACED = 1, FUZZ_ONLY = 1 + 8, FUZZ_FRONT = FUZZ_ONLY + 8 };   /* octets in front */
enum { FUZZ_HEAD = 48, FUZZ_MAX = 16384 }; /* octets: a head and a place; at most */

static const uint8_t the_uuid[MMI_SPOOL_UUID] = "a spool of whom";

/* In memory alone. */
static mmi_cursor
blank(void)
{
    mmi_cursor c = { .saved_limit = UINT64_MAX, .slots = { .file = -1 } };
    memcpy(c.uuid, the_uuid, MMI_SPOOL_UUID);
    return c;
}

/* Each run is behind the one before, and numbers that are not done are between them. */
static uint64_t
count_runs(const mmi_cursor *c)
{
    uint64_t first, last, before = c->floor, count = 0;
    while (mmi_cursor_run(c, before + 1, UINT64_MAX, &first, &last)) {
        MMI_ASSERT(first > before + 1 && last >= first && last <= c->top);
        MMI_ASSERT(!mmi_cursor_is_done(c, first - 1) && mmi_cursor_is_done(c, first));
        MMI_ASSERT(mmi_cursor_is_done(c, last) && mmi_cursor_next(c, first) == last + 1);
        count += last - first + 1;
        before = last;
    }
    return count;
}

static void
check(const mmi_cursor *c)
{
    mmi_cursor_invariants(c);
    MMI_ASSERT(count_runs(c) == c->above);
    MMI_ASSERT(!mmi_cursor_is_done(c, c->top + 1));
}

/* As it is written up to a number, and read again. */
static uint32_t
again(const mmi_cursor *c, uint64_t limit, uint8_t *out)
{
    uint64_t unsaved;
    mmi_cursor other = blank();
    uint32_t size = mmi_cursor_put(c, limit, out, &unsaved);
    MMI_ASSERT(size <= MMI_SLOT_DATA_MAX);
    MMI_ASSERT(mmi_cursor_get(&other, out, size, UINT64_MAX / 2) == MM_OK && other.ahead == 0);
    check(&other);
    MMI_ASSERT(other.floor == (c->floor < limit ? c->floor : limit) && other.top <= c->top);
    MMI_ASSERT(other.top <= limit);
    if (limit >= c->top) {
        MMI_ASSERT(other.above + unsaved == c->above);
    }
    mmi_cursor_close(&other);
    return size;
}

/* What spools do with it. */
static void
use(mmi_cursor *c, uint64_t number, uint8_t *out)
{
    uint64_t floor = c->floor, above = c->above, near = floor + 1 + number % 1000;
    int rc = mmi_cursor_done(c, near, near + 3);
    MMI_ASSERT(rc == MM_OK || rc == MM_EINVAL);
    check(c);
    if (rc == MM_OK) {
        MMI_ASSERT(mmi_cursor_is_done(c, near) && c->floor + c->above >= floor + above);
    }
    (void)again(c, floor + number % 300, out);
    uint64_t missed = mmi_cursor_trimmed(c, floor + 1 + number % 500);
    MMI_ASSERT(missed <= number % 500 && c->floor >= floor);
    check(c);
    mmi_cursor_seek(c, floor + 1);
    MMI_ASSERT(c->floor == floor && c->above == 0);
    check(c);
}

static void
cursor(const uint8_t *data, uint32_t size, uint64_t last_seq, uint8_t *out)
{
    mmi_cursor c = blank();
    int rc = mmi_cursor_get(&c, data, size, last_seq);
    MMI_ASSERT(rc == MM_OK || rc == MM_EPROTO || rc == MM_ENOTSUP);
    if (rc == MM_OK) {
        check(&c);
        MMI_ASSERT(c.top <= last_seq);
        uint32_t has = again(&c, UINT64_MAX, out);
        if (c.ahead == 0) {
            MMI_ASSERT(has == size && memcmp(out, data, size) == 0);
        }
        use(&c, last_seq - c.floor, out);
    }
    mmi_cursor_close(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < FUZZ_FRONT || size > FUZZ_MAX) {
        return 0;
    }
    bool placed = (data[0] & FUZZ_PLACED) != 0;
    uint64_t last_seq = mmi_le64_get(data + 1) / 2;
    size_t front = placed ? FUZZ_HEAD : 0, rest = size - FUZZ_FRONT;
    uint8_t *exact = mmi_alloc(front + rest + 1), *out = mmi_alloc(MMI_SLOT_DATA_MAX);
    MMI_ASSERT(exact != NULL && out != NULL);
    uint8_t *octets = exact + 1; /* up to its end, so that a look behind it is seen */
    if (placed) {
        mmi_cursor c = blank();
        uint64_t unsaved;
        c.floor = c.top = mmi_le64_get(data + FUZZ_ONLY) / 2;
        MMI_ASSERT(mmi_cursor_put(&c, UINT64_MAX, out, &unsaved) == FUZZ_HEAD && unsaved == 0);
        memcpy(octets, out, FUZZ_HEAD);
    }
    memcpy(octets + front, data + FUZZ_FRONT, rest);
    cursor(octets, (uint32_t)(front + rest), last_seq, out);
    mmi_free(out);
    mmi_free(exact);
    return 0;
}
