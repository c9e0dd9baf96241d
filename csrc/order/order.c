/*
 * order/order.c: see order/order.h.
 *
 * Digests are spread evenly, unless rows are equal: so each row goes to the bucket that its first
 * bits say, of few rows, and each bucket is sorted.  Many rows in one are sorted in n log n.
 */
#include "order/order.h"

#include <stdlib.h>
#include <string.h>

#include "order/gather.h"

enum {
    ORDER_BITS_MAX = 16,    /* of a digest say which bucket it is */
    ORDER_BUCKET = 8,       /* rows of a bucket, about, unless there are too many */
    ORDER_FEW = 24          /* rows that are sorted by inserting each */
};

int
mmi_order_part_new(const uint8_t secret[MMI_DIGEST_SECRET], const mmi_arrow_schema *schema,
                   const mmi_arrow_array *array, mmi_order_part **out)
{
    if (array->length < 0 || array->length > UINT32_MAX) {
        return MM_EINVAL;
    }
    size_t count = (size_t)array->length;
    mmi_order_part *part = mmi_realloc(NULL, sizeof *part + count * sizeof part->digests[0]);
    if (part == NULL) {
        return MM_ENOMEM;
    }
    part->schema = schema;
    part->array = array;
    part->count = (uint32_t)count;
    int rc = mmi_digests(secret, schema, array, part->digests);
    if (rc != MM_OK) {
        mmi_free(part);
        return rc;
    }
    *out = part;
    return MM_OK;
}

void
mmi_order_part_add(const mmi_order_part *part, uint64_t sum[2])
{
    uint64_t high = sum[0], low = sum[1];
    for (uint32_t i = 0; i < part->count; i++) {
        low += part->digests[i].low;
        high += part->digests[i].high + (low < part->digests[i].low);
    }
    sum[0] = high;
    sum[1] = low;
}

static bool
order_before(const mmi_digest *a, const mmi_digest *b)
{
    return a->high != b->high ? a->high < b->high : a->low < b->low;
}

static int
order_compare(const void *a, const void *b)
{
    const mmi_order_row *one = a, *other = b;
    return order_before(&one->digest, &other->digest)   ? -1
           : order_before(&other->digest, &one->digest) ? 1
                                                        : 0;
}

static void
order_sort(mmi_order_row *rows, size_t count)
{
    if (count > ORDER_FEW) {
        qsort(rows, count, sizeof *rows, order_compare);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        mmi_order_row row = rows[i];
        size_t at = i;
        for (; at > 0 && order_before(&row.digest, &rows[at - 1].digest); at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
}

static bool
order_is_sorted(const mmi_order_part *part)
{
    uint32_t i = 1;
    while (i < part->count && !order_before(&part->digests[i], &part->digests[i - 1])) {
        i++;
    }
    return i >= part->count;
}

/* Which bits of a digest say its bucket: so many are shifted out. */
static unsigned
order_shift(uint64_t count)
{
    unsigned bits = 1;
    while (bits < ORDER_BITS_MAX && count >> bits > ORDER_BUCKET) {
        bits++;
    }
    return 64 - bits;
}

static int
order_fill(mmi_order *o, uint32_t parts)
{
    unsigned shift = order_shift(o->count);
    size_t buckets = (size_t)1 << (64 - shift);
    uint64_t *end = mmi_alloc((buckets + 1) * sizeof *end), first = 0;
    if (end == NULL) {
        return MM_ENOMEM;
    }
    for (uint32_t p = 0; p < parts; p++) {
        for (uint32_t i = 0; i < o->parts[p]->count; i++) {
            end[(o->parts[p]->digests[i].high >> shift) + 1]++;
        }
    }
    for (size_t b = 1; b <= buckets; b++) {
        end[b] += end[b - 1]; /* where the next one begins: its rows are put behind that */
    }
    for (uint32_t p = 0; p < parts; p++) {
        for (uint32_t i = 0; i < o->parts[p]->count; i++) {
            const mmi_digest *digest = &o->parts[p]->digests[i];
            o->rows[end[digest->high >> shift]++] =
                (mmi_order_row){ .digest = *digest, .part = p, .row = i };
        }
    }
    for (size_t b = 0; b < buckets; first = end[b++]) {
        order_sort(&o->rows[first], (size_t)(end[b] - first));
    }
    mmi_free(end);
    return MM_OK;
}

int
mmi_order_new(mmi_order_part *const *parts, uint32_t count, mmi_order **out)
{
    uint64_t rows = 0;
    for (uint32_t p = 0; p < count; p++) {
        rows += parts[p]->count;
        if (!mmi_order_same(parts[0]->schema, parts[p]->schema)) {
            return MM_EINVAL;
        }
    }
    mmi_order *o = mmi_realloc(NULL, sizeof *o + (size_t)rows * sizeof o->rows[0]);
    const mmi_order_part **own = mmi_alloc((count > 0 ? count : 1) * sizeof *own);
    int rc = o != NULL && own != NULL ? MM_OK : MM_ENOMEM;
    if (rc == MM_OK) {
        *o = (mmi_order){ .parts = own, .count = rows };
        memcpy(own, parts, count * sizeof *own);
        if (count == 1 && order_is_sorted(own[0])) {
            for (uint32_t i = 0; i < own[0]->count; i++) {
                o->rows[i] = (mmi_order_row){ .digest = own[0]->digests[i], .row = i };
            }
        } else {
            rc = order_fill(o, count);
        }
    }
    if (rc != MM_OK) {
        mmi_free(own);
        mmi_free(o);
        return rc;
    }
    *out = o;
    return MM_OK;
}

void
mmi_order_free(mmi_order *o)
{
    if (o != NULL) {
        mmi_free(o->parts);
        mmi_free(o);
    }
}

/* The order whose next row comes first; NULL: one of them has no row left. */
static mmi_order *
order_least(mmi_order *const *orders, uint32_t count)
{
    mmi_order *least = NULL;
    for (uint32_t i = 0; i < count; i++) {
        mmi_order *o = orders[i];
        if (o->at == o->count) {
            return NULL;
        }
        if (least == NULL || order_before(&o->rows[o->at].digest, &least->rows[least->at].digest)) {
            least = o;
        }
    }
    return least;
}

int
mmi_order_take(mmi_order *const *orders, uint32_t count, uint64_t max_bytes, mmi_arrow_array *out)
{
    if (count == 0 || count > MMI_ORDER_HEADS_MAX || max_bytes > MMI_ORDER_BYTES_MAX) {
        return MM_EINVAL;
    }
    const mmi_arrow_schema *schema = orders[0]->parts[0]->schema;
    for (uint32_t i = 1; i < count; i++) {
        if (!mmi_order_same(schema, orders[i]->parts[0]->schema)) {
            return MM_EINVAL;
        }
    }
    mmi_order_place *places = mmi_realloc(NULL, MMI_ORDER_TAKEN_MAX * sizeof *places);
    if (places == NULL) {
        return MM_ENOMEM;
    }
    uint64_t taken = 0, bytes = 0;
    mmi_order *o = order_least(orders, count);
    for (; o != NULL && taken < MMI_ORDER_TAKEN_MAX; o = order_least(orders, count)) {
        const mmi_order_row *next = &o->rows[o->at];
        const mmi_order_part *part = o->parts[next->part];
        bytes += mmi_order_bytes(part->schema, part->array, next->row);
        if (taken > 0 && bytes > max_bytes) {
            break;
        }
        places[taken++] = (mmi_order_place){ .array = part->array, .at = next->row };
        o->at++;
    }
    int rc = taken > 0 ? mmi_order_gather(schema, places, taken, out) : 0;
    mmi_free(places);
    return rc < 0 ? rc : taken > 0;
}
