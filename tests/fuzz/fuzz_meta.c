/*
 * fuzz_meta.c: libFuzzer harness of what goes with a message: what is taken has nothing beyond its
 * end, once what comes once, and the fields that the core reads are those of its items.
 */
#include <string.h>

#include "base/meta.h"
#include "base/octets.h"

enum { FUZZ_HEAD = 3, FUZZ_TIME = 8 };

/* What is found by walking over it anew. */
typedef struct fuzz_found {
    unsigned times[MMI_META_KEY + 1];
    uint64_t expires_ns;
    size_t key, key_size;
} fuzz_found;

static void
fuzz_walk(const uint8_t *data, size_t size, fuzz_found *found)
{
    size_t at = 0;
    while (at < size) {
        MMI_ASSERT(size - at >= FUZZ_HEAD);
        size_t length = (size_t)data[at + 1] << 8 | data[at + 2];
        MMI_ASSERT(length <= size - at - FUZZ_HEAD);
        const uint8_t *body = data + at + FUZZ_HEAD;
        if (data[at] <= MMI_META_KEY) {
            found->times[data[at]]++;
        }
        if (data[at] == MMI_META_TIMESTAMP || data[at] == MMI_META_EXPIRES) {
            MMI_ASSERT(length == FUZZ_TIME);
        }
        if (data[at] == MMI_META_EXPIRES) {
            found->expires_ns = mmi_be64_get(body);
        }
        if (data[at] == MMI_META_KEY) {
            found->key = at + FUZZ_HEAD;
            found->key_size = length;
        }
        if (data[at] == MMI_META_TEXT || data[at] == MMI_META_OCTETS) {
            MMI_ASSERT(length > 1 && body[0] > 0 && body[0] < length);
        }
        at += FUZZ_HEAD + length;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *exact = mmi_alloc(size > 0 ? size : 1);   /* so that a look behind it is seen */
    if (size > 0) {
        memcpy(exact, data, size);
    }
    if (mmi_meta_check(exact, size)) {
        fuzz_found found = { .key = 0 };
        fuzz_walk(exact, size, &found);
        for (int id = MMI_META_TIMESTAMP; id <= MMI_META_KEY; id++) {
            MMI_ASSERT(found.times[id] <= 1);
        }
        mmi_meta *m = mmi_meta_new(exact, size);
        MMI_ASSERT(m != NULL && m->size == size && m->expires_ns == found.expires_ns);
        MMI_ASSERT(m->key == found.key && m->key_size == found.key_size);
        mmi_meta_unref(m);
    }
    mmi_free(exact);
    return 0;
}
