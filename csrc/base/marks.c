/*
 * base/marks.c: see base/marks.h.
 * Not here: what the numbers are of (queue/unacked.h, queue/acks.h).
 */
#include "base/marks.h"

#include <string.h>

enum { MARKS_WORD_BITS = 64, MARKS_OCTET_BITS = 8 };

static uint64_t
marks_bit(uint64_t number, size_t *word)
{
    uint64_t at = number % MMI_UNACKED_MAX;
    *word = (size_t)(at / MARKS_WORD_BITS);
    return (uint64_t)1 << (at % MARKS_WORD_BITS);
}

bool
mmi_marks_has(const mmi_marks *m, uint64_t number)
{
    size_t word;
    uint64_t bit = marks_bit(number, &word);
    return number <= m->floor || (number <= m->top && (m->words[word] & bit) != 0);
}

/* The floor goes up over what is marked behind it. */
static void
marks_rise(mmi_marks *m)
{
    while (m->floor < m->top) {
        size_t word;
        uint64_t bit = marks_bit(m->floor + 1, &word);
        if ((m->words[word] & bit) == 0) {
            return;
        }
        m->words[word] &= ~bit;
        m->floor++;
    }
}

bool
mmi_marks_add(mmi_marks *m, uint64_t number)
{
    size_t word;
    uint64_t bit = marks_bit(number, &word);
    if (mmi_marks_has(m, number)) {
        return false;
    }
    m->count++;
    if (number == m->floor + 1) {   /* as mostly: no bit is set */
        m->floor = number;
        m->top = m->top > number ? m->top : number;
        marks_rise(m);
        return true;
    }
    m->words[word] |= bit;
    m->top = m->top > number ? m->top : number;
    return true;
}

uint64_t
mmi_marks_add_to(mmi_marks *m, uint64_t number)
{
    uint64_t before = m->count;
    if (m->top == m->floor && number > m->floor) {   /* nothing is out of order */
        m->count += number - m->floor;
        m->floor = m->top = number;
    }
    while (m->floor < number) {
        (void)mmi_marks_add(m, m->floor + 1);
    }
    return m->count - before;
}

size_t
mmi_marks_bitmap_size(const mmi_marks *m)
{
    return (size_t)((m->top - m->floor + MARKS_OCTET_BITS - 1) / MARKS_OCTET_BITS);
}

void
mmi_marks_bitmap(const mmi_marks *m, uint8_t *out)
{
    memset(out, 0, mmi_marks_bitmap_size(m));
    for (uint64_t number = m->floor + 1; number <= m->top; number++) {
        uint64_t i = number - m->floor - 1;
        if (mmi_marks_has(m, number)) {
            out[i / MARKS_OCTET_BITS] |= (uint8_t)(1u << (i % MARKS_OCTET_BITS));
        }
    }
}

void
mmi_marks_invariants(const mmi_marks *m)
{
    uint64_t marked = 0;
    for (size_t i = 0; i < MMI_COUNT_OF(m->words); i++) {
        marked += (uint64_t)__builtin_popcountll(m->words[i]);
    }
    MMI_ASSERT(m->top >= m->floor && m->top - m->floor <= MMI_UNACKED_MAX);
    MMI_ASSERT(m->count == m->floor + marked);
    MMI_ASSERT(m->top == m->floor || !mmi_marks_has(m, m->floor + 1));
}
