/*
 * order/digest.c: see order/digest.h.
 *
 * Law: values and keys of four rows are hashed at once, where the processor can do that.
 */
#include "order/digest.h"

#include <string.h>

#include "base/sip.h"

enum {
    DIGEST_ROUNDS = 1,
    DIGEST_LAST_ROUNDS = 3,
    DIGEST_SOME = 1,    /* stands before a struct */
    DIGEST_ROWS = 4     /* that are hashed at once */
};
_Static_assert((int)MMI_DIGEST_SECRET == (int)MMI_SIP_KEY, "octets");
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
digest_four(digested d[DIGEST_ROWS], const uint8_t *const data[DIGEST_ROWS],
            const size_t size[DIGEST_ROWS])
{
    mmi_sip *const sips[] = { &d[0].sip, &d[1].sip, &d[2].sip, &d[3].sip };
    size_t least = size[0];
    for (int i = 1; i < DIGEST_ROWS; i++) {
        least = size[i] < least ? size[i] : least;
    }
    size_t words = mmi_sip_four(sips, data, least / MMI_SIP_WORD);
    for (int i = 0; i < DIGEST_ROWS; i++) {
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

/* A column, in so many rows from i on. */
static void
digest_column(digested *d, const mmi_arrow_schema *schema, const mmi_arrow_array *array, uint64_t i,
              uint64_t rows)
{
    mmi_order_kind kind = mmi_order_kind_of(schema);
    bool four = rows == DIGEST_ROWS && kind != MMI_ORDER_LIST && kind != MMI_ORDER_STRUCT;
    for (uint64_t each = 0; four && each < rows; each++) {
        four = !mmi_order_null(array, i + each);
    }
    if (!four) {
        for (uint64_t each = 0; each < rows; each++) {
            digest_item(&d[each], schema, array, i + each);
        }
        return;
    }
    const uint8_t *data[DIGEST_ROWS];
    size_t size[DIGEST_ROWS];
    for (uint64_t each = 0; each < rows; each++) {
        data[each] = mmi_order_octets(kind, array, i + each, &size[each]);
        digest_word(&d[each], size[each]);
    }
    digest_four(d, data, size);
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
mmi_digests(const uint8_t secret[MMI_DIGEST_SECRET], const mmi_arrow_schema *schema,
            const mmi_arrow_array *array, mmi_digest *out)
{
    int64_t at[MMI_ORDER_FIELDS_MAX];
    uint64_t count = (uint64_t)array->length;
    if (!mmi_order_valid(schema, array) || mmi_order_kind_of(schema) != MMI_ORDER_STRUCT ||
        digest_found(schema, at) != MM_OK ||
        (array->null_count != 0 && array->buffers[0] != NULL)) {
        return MM_EINVAL;
    }
    const digested begun = { .sip = mmi_sip_begun(secret) };
    for (uint64_t i = 0; i < count; i += DIGEST_ROWS) {
        digested d[DIGEST_ROWS] = { begun, begun, begun, begun };
        uint64_t rows = count - i < DIGEST_ROWS ? count - i : DIGEST_ROWS;
        for (size_t c = 0; c < MMI_ORDER_FIELDS_MAX; c++) {
            for (uint64_t each = 0; at[c] < 0 && each < rows; each++) {
                digest_word(&d[each], digest_none);
            }
            if (at[c] >= 0) {
                digest_column(d, schema->children[at[c]], array->children[at[c]],
                              i + (uint64_t)array->offset, rows);
            }
        }
        for (uint64_t each = 0; each < rows; each++) {
            out[i + each] = digest_end(&d[each]);
        }
    }
    return MM_OK;
}
