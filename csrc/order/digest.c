/*
 * order/digest.c: see order/digest.h.
 *
 * Law: the values of two rows are hashed at once, as each round waits for the one before: that is
 * half of the time.
 */
#include "order/digest.h"

#include <string.h>

#include "base/sip.h"

enum { DIGEST_ROUNDS = 1, DIGEST_LAST_ROUNDS = 3, DIGEST_SOME = 1 /* stands before a struct */ };
static const uint8_t digest_key[MMI_SIP_KEY] = "meshmsg/order/1";
static const uint64_t digest_none = UINT64_MAX;

/* The columns, in the order in which they are hashed. */
static const char *const digest_columns[] = { "value", "key", "headers" };
_Static_assert(MMI_COUNT_OF(digest_columns) == MMI_ORDER_FIELDS_MAX, "columns");

typedef struct digested {
    mmi_sip sip;
    uint64_t words;
} digested;

static void
digest_word(digested *d, uint64_t word)
{
    mmi_sip_word(&d->sip, word, DIGEST_ROUNDS);
    d->words++;
}

static void
digest_octets(digested *d, const uint8_t *data, size_t size)
{
    mmi_sip sip = d->sip;
    d->words += size / MMI_SIP_WORD;
    for (; size >= MMI_SIP_WORD; size -= MMI_SIP_WORD, data += MMI_SIP_WORD) {
        mmi_sip_word(&sip, mmi_le64_get(data), DIGEST_ROUNDS);
    }
    d->sip = sip;
    if (size > 0) {
        uint8_t last[MMI_SIP_WORD] = { 0 };
        memcpy(last, data, size);
        digest_word(d, mmi_le64_get(last));
    }
}

static void
digest_two(digested *d, const uint8_t *const data[2], const size_t size[2])
{
    mmi_sip one = d[0].sip, other = d[1].sip;
    size_t words = (size[0] < size[1] ? size[0] : size[1]) / MMI_SIP_WORD;
    for (size_t at = 0; at < words * MMI_SIP_WORD; at += MMI_SIP_WORD) {
        mmi_sip_word(&one, mmi_le64_get(data[0] + at), DIGEST_ROUNDS);
        mmi_sip_word(&other, mmi_le64_get(data[1] + at), DIGEST_ROUNDS);
    }
    d[0].sip = one;
    d[1].sip = other;
    for (int i = 0; i < 2; i++) {
        d[i].words += words;
        digest_octets(&d[i], data[i] + words * MMI_SIP_WORD, size[i] - words * MMI_SIP_WORD);
    }
}

/* An element of any type. */
static void
digest_item(digested *d, const mmi_arrow_schema *schema, const mmi_arrow_array *array, uint64_t i)
{
    mmi_order_kind kind = mmi_order_kind_of(schema);
    uint64_t first = 0;
    if (mmi_order_null(array, i)) {
        digest_word(d, digest_none);
        return;
    }
    if (kind == MMI_ORDER_STRUCT) {
        digest_word(d, DIGEST_SOME);
        for (int64_t field = 0; field < schema->n_children; field++) {
            digest_item(d, schema->children[field], array->children[field],
                        i + (uint64_t)array->offset);
        }
        return;
    }
    if (kind == MMI_ORDER_LIST) {
        uint64_t count = mmi_order_list(array, i, &first);
        digest_word(d, count);
        for (uint64_t each = first; each < first + count; each++) {
            digest_item(d, schema->children[0], array->children[0], each);
        }
        return;
    }
    size_t size;
    const uint8_t *data = mmi_order_octets(kind, array, i, &size);
    digest_word(d, size);
    digest_octets(d, data, size);
}

/* A column, in two rows from i on. */
static void
digest_items(digested *d, const mmi_arrow_schema *schema, const mmi_arrow_array *array, uint64_t i)
{
    mmi_order_kind kind = mmi_order_kind_of(schema);
    bool octets = kind == MMI_ORDER_OCTETS || kind == MMI_ORDER_LARGE_OCTETS;
    if (!octets || mmi_order_null(array, i) || mmi_order_null(array, i + 1)) {
        digest_item(&d[0], schema, array, i);
        digest_item(&d[1], schema, array, i + 1);
        return;
    }
    const uint8_t *data[2];
    size_t size[2];
    for (int each = 0; each < 2; each++) {
        data[each] = mmi_order_octets(kind, array, i + (uint64_t)each, &size[each]);
        digest_word(&d[each], size[each]);
    }
    digest_two(d, data, size);
}

static mmi_digest
digest_end(digested *d)
{
    uint64_t hash[2];
    mmi_sip_word(&d->sip, d->words * MMI_SIP_WORD << 56, DIGEST_ROUNDS);
    mmi_sip_end(&d->sip, DIGEST_LAST_ROUNDS, hash);
    return (mmi_digest){ .high = hash[0], .low = hash[1] };
}

/* Which column of a table each of ours is; -1: it has none. */
static int
digest_found(const mmi_arrow_schema *schema, int64_t at[MMI_ORDER_FIELDS_MAX])
{
    int64_t found = 0;
    for (size_t c = 0; c < MMI_ORDER_FIELDS_MAX; c++) {
        at[c] = -1;
        for (int64_t i = 0; i < schema->n_children; i++) {
            if (at[c] < 0 && strcmp(schema->children[i]->name, digest_columns[c]) == 0) {
                at[c] = i;
                found++;
            }
        }
    }
    return found == schema->n_children ? MM_OK : MM_EINVAL;
}

int
mmi_digests(const mmi_arrow_schema *schema, const mmi_arrow_array *array, mmi_digest *out)
{
    int64_t at[MMI_ORDER_FIELDS_MAX];
    uint64_t count = (uint64_t)array->length;
    if (!mmi_order_valid(schema, array) || mmi_order_kind_of(schema) != MMI_ORDER_STRUCT ||
        digest_found(schema, at) != MM_OK ||
        (array->null_count != 0 && array->buffers[0] != NULL)) {
        return MM_EINVAL;
    }
    const digested begun = { .sip = mmi_sip_begun(digest_key) };
    for (uint64_t i = 0; i < count; i += 2) {
        digested d[2] = { begun, begun };
        uint64_t row = i + (uint64_t)array->offset;
        for (size_t c = 0; c < MMI_ORDER_FIELDS_MAX; c++) {
            if (at[c] < 0) {
                digest_word(&d[0], digest_none);
                digest_word(&d[1], digest_none);
            } else if (i + 1 < count) {
                digest_items(d, schema->children[at[c]], array->children[at[c]], row);
            } else {
                digest_item(&d[0], schema->children[at[c]], array->children[at[c]], row);
            }
        }
        out[i] = digest_end(&d[0]);
        if (i + 1 < count) {
            out[i + 1] = digest_end(&d[1]);
        }
    }
    return MM_OK;
}
