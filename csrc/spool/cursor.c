/*
 * spool/cursor.c: the numbers that are done, in memory.
 *
 * Not here: its file (spool/cursor_file.c) and what is in it (spool/cursor_format.c).  Law: the
 * bits of floor + 1 to top are in a ring of words; floor + 1 is not done, top is; all other bits
 * are 0.
 */
#include "spool/cursor.h"

#include <string.h>

#include "spool/file.h"

enum {
    CURSOR_BITS = 64,       /* of a word */
    CURSOR_WORDS_MIN = 16,
    CURSOR_WORDS_KEPT =
        8192 /* words that are kept though nothing is done above the floor: 64 KiB */
};
static const uint64_t CURSOR_SEQ_MAX = UINT64_MAX / 2; /* no spool gives a number above it */

void
mmi_cursor_invariants(const mmi_cursor *c)
{
    MMI_ASSERT(c->floor <= c->top && c->top - c->floor <= MMI_CURSOR_SPAN_MAX);
    MMI_ASSERT((c->above > 0) == (c->top > c->floor));
    MMI_ASSERT(c->above == 0 || mmi_cursor_is_done(c, c->top));
    MMI_ASSERT(!mmi_cursor_is_done(c, c->floor + 1));
}

#ifdef MMI_CHECKED
#define CURSOR_CHANGED(c) mmi_cursor_invariants(c)
#else
#define CURSOR_CHANGED(c) ((void)(c))
#endif

static uint64_t *
cursor_word(const mmi_cursor *c, uint64_t seq)
{
    return &c->words[(seq / CURSOR_BITS) & (c->word_count - 1)];
}

/* The bits of its word from seq on, up to last. */
static uint64_t
cursor_mask(uint64_t seq, uint64_t last)
{
    uint64_t from = UINT64_MAX << (seq % CURSOR_BITS), left = CURSOR_BITS - 1 - seq % CURSOR_BITS;
    bool ends = last - seq < left;
    return ends ? from & (UINT64_MAX >> (CURSOR_BITS - 1 - last % CURSOR_BITS)) : from;
}

/* The first number of the next word. */
static uint64_t
cursor_step(uint64_t seq)
{
    return seq + CURSOR_BITS - seq % CURSOR_BITS;
}

/* Sets or clears the bits of numbers that the ring has: how many changed. */
static uint64_t
cursor_mark(mmi_cursor *c, uint64_t first, uint64_t last, bool set)
{
    uint64_t changed = 0;
    for (uint64_t at = first; at <= last; at = cursor_step(at)) {
        uint64_t *word = cursor_word(c, at), mask = cursor_mask(at, last);
        changed += (uint64_t)__builtin_popcountll((set ? ~*word : *word) & mask);
        *word = set ? *word | mask : *word & ~mask;
    }
    return changed;
}

/* The first number of `from` to `end` whose bit is so; end + 1: there is none.  end is top at
 * most. */
static uint64_t
cursor_scan(const mmi_cursor *c, uint64_t from, uint64_t end, bool set)
{
    for (uint64_t at = from; at <= end; at = cursor_step(at)) {
        uint64_t word = *cursor_word(c, at);
        uint64_t bits = (set ? word : ~word) & cursor_mask(at, end);
        if (bits != 0) {
            return at - at % CURSOR_BITS + (uint64_t)__builtin_ctzll(bits);
        }
    }
    return end + 1;
}

bool
mmi_cursor_is_done(const mmi_cursor *c, uint64_t seq)
{
    return seq <= c->floor ||
           (seq <= c->top && (*cursor_word(c, seq) >> (seq % CURSOR_BITS) & 1) != 0);
}

uint64_t
mmi_cursor_next(const mmi_cursor *c, uint64_t from)
{
    from = from > c->floor ? from : c->floor + 1;
    return from <= c->top ? cursor_scan(c, from, c->top, false) : from;
}

uint64_t
mmi_cursor_count(const mmi_cursor *c, uint64_t first, uint64_t last)
{
    uint64_t count = 0, floor = last < c->floor ? last : c->floor;
    if (first <= floor) {
        count = floor - first + 1;
        first = floor + 1;
    }
    last = last < c->top ? last : c->top;
    for (uint64_t at = first; at <= last; at = cursor_step(at)) {
        count += (uint64_t)__builtin_popcountll(*cursor_word(c, at) & cursor_mask(at, last));
    }
    return count;
}

bool
mmi_cursor_run(const mmi_cursor *c, uint64_t from, uint64_t end, uint64_t *first, uint64_t *last)
{
    end = end < c->top ? end : c->top;
    from = from > c->floor ? from : c->floor + 1;
    if (from > end) {
        return false;
    }
    *first = cursor_scan(c, from, end, true);
    if (*first > end) {
        return false;
    }
    *last = cursor_scan(c, *first, end, false) - 1;
    return true;
}

/* The ring has room for all numbers above the floor up to that one. */
static int
cursor_reserve(mmi_cursor *c, uint64_t last)
{
    uint64_t begin = (c->floor + 1) / CURSOR_BITS, need = last / CURSOR_BITS - begin + 1;
    if (need <= c->word_count) {
        return MM_OK;
    }
    uint64_t count = mmi_spool_cap(c->word_count, CURSOR_WORDS_MIN, need);
    uint64_t *words = mmi_alloc(count * sizeof *words);
    if (words == NULL) {
        return MM_ENOMEM;
    }
    for (uint64_t at = begin; c->above > 0 && at <= c->top / CURSOR_BITS; at++) {
        words[at & (count - 1)] = c->words[at & (c->word_count - 1)];
    }
    mmi_free(c->words);
    c->words = words;
    c->word_count = count;
    return MM_OK;
}

/* The floor is so high, and with it all that is done right above it. */
static void
cursor_raise(mmi_cursor *c, uint64_t floor)
{
    uint64_t end = floor < c->top ? cursor_scan(c, floor + 1, c->top, false) - 1 : c->top;
    if (c->above > 0) {
        c->above -= cursor_mark(c, c->floor + 1, end, false);
    }
    c->floor = floor > end ? floor : end;
    c->top = c->floor > c->top ? c->floor : c->top;
    if (c->above == 0 && c->word_count > CURSOR_WORDS_KEPT) {
        mmi_free(c->words);
        c->words = NULL;
        c->word_count = 0;
    }
}

int
mmi_cursor_done(mmi_cursor *c, uint64_t first, uint64_t last)
{
    if (first == 0 || first > last || last > CURSOR_SEQ_MAX) {
        return MM_EINVAL;
    }
    if (last <= c->floor) {
        return MM_OK;
    }
    if (first <= c->floor + 1) {
        cursor_raise(c, last);
        c->changes++;
    } else {
        if (last - c->floor > MMI_CURSOR_SPAN_MAX) {
            return MM_EAGAIN;
        }
        int rc = cursor_reserve(c, last);
        if (rc != MM_OK) {
            return rc;
        }
        uint64_t changed = cursor_mark(c, first, last, true);
        c->above += changed;
        c->top = last > c->top ? last : c->top;
        c->changes += changed > 0;
    }
    CURSOR_CHANGED(c);
    return MM_OK;
}

void
mmi_cursor_seek(mmi_cursor *c, uint64_t seq)
{
    if (c->above > 0) {
        (void)cursor_mark(c, c->floor + 1, c->top, false);
    }
    c->floor = c->top = seq > 0 ? seq - 1 : 0;
    c->above = 0;
    c->changes++;
    CURSOR_CHANGED(c);
}

void
mmi_cursor_see(const mmi_cursor *c, uint64_t first_seq, mmi_cursor_seen *out)
{
    *out = (mmi_cursor_seen){ .floor = c->floor, .above = c->above, .missed = c->missed };
    if (c->left && c->taken == 0 && first_seq > c->floor + 1) {
        uint64_t from = c->floor + 1, end = first_seq - 1;
        out->missed += end - from + 1 - mmi_cursor_count(c, from, end);
        out->floor = mmi_cursor_next(c, first_seq) - 1;
        out->above -= mmi_cursor_count(c, from, out->floor);
    }
}

uint64_t
mmi_cursor_trimmed(mmi_cursor *c, uint64_t first_seq)
{
    uint64_t end = first_seq - 1, from = c->floor + 1;
    from = c->taken > from ? c->taken : from;
    if (c->left || end < from) {
        return 0;
    }
    uint64_t missed = end - from + 1 - mmi_cursor_count(c, from, end);
    if (mmi_cursor_done(c, from, end) != MM_OK) { /* no memory for those that were taken */
        cursor_raise(c, end);
    }
    c->changes++;
    c->missed += missed;
    CURSOR_CHANGED(c);
    return missed;
}
