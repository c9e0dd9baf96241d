/*
 * test_meta.c: what goes with a message: what is well-formed, what is found in it, who holds it.
 * Not here: connections (tests/unit/test_headers.py), octets of peers (tests/hostile).
 */
#include "base/meta.h"

#include <string.h>

#include "base/msg.h"
#include "check.h"

static const uint8_t all[] = { 1, 0, 8,   0,   0, 0, 0, 0, 0,   0,  9,   2,   0,   8, 0,
                               0, 0, 0,   0,   0, 1, 0, 3, 0,   3,  'k', 'e', 'y', 4, 0,
                               3, 1, 'n', 'v', 5, 0, 2, 1, 'n', 77, 0,   1,   0 };

static void
test_each_prefix_but_at_an_item_is_malformed(void)
{
    static const size_t ends[] = { 0, 11, 22, 28, 34, 39, sizeof all };
    for (size_t size = 0; size <= sizeof all; size++) {
        bool whole = false;
        for (size_t i = 0; i < MMI_COUNT_OF(ends); i++) {
            whole |= ends[i] == size;
        }
        CHECK_INT(mmi_meta_check(all, size), whole);
    }
}

static void
test_what_the_core_needs_is_found(void)
{
    mmi_meta *m = mmi_meta_new(all, sizeof all);
    CHECK_INT(m->expires_ns, 256);
    CHECK_INT(m->key_size, 3);
    CHECK(memcmp(m->data + m->key, "key", 3) == 0 && m->size == sizeof all);
    mmi_meta_unref(m);
    m = mmi_meta_new(NULL, 0);
    CHECK(m->size == 0 && m->expires_ns == 0 && m->key_size == 0);
    mmi_meta_unref(m);
    mmi_meta_unref(NULL);
    CHECK(mmi_meta_ref(NULL) == NULL);
}

static void
test_items_come_once_and_headers_have_names(void)
{
    static const struct {
        uint8_t octets[10];
        size_t size;
        bool good;
    } cases[] = {
        { { 3, 0, 0 }, 3, true },        { { 3, 0, 0, 3, 0, 0 }, 6, false },
        { { 4, 0, 0 }, 3, false },       { { 4, 0, 1, 0 }, 4, false },
        { { 4, 0, 2, 0, 1 }, 5, false }, { { 4, 0, 2, 1, 1 }, 5, true },
        { { 5, 0, 2, 2, 1 }, 5, false }, { { 5, 0, 2, 1, 1, 5, 0, 2, 1, 1 }, 10, true },
        { { 0, 0, 0 }, 3, true },        { { 255, 0, 0, 255, 0, 0 }, 6, true },
        { { 1, 0, 0 }, 3, false },       { { 9, 255, 255 }, 3, false },
    };
    for (size_t i = 0; i < MMI_COUNT_OF(cases); i++) {
        CHECK_INT(mmi_meta_check(cases[i].octets, cases[i].size), cases[i].good);
    }
}

/* It stays with what a message is made of, and is freed with the last of them. */
static void
test_what_is_made_of_a_message_has_it(void)
{
    mmi_msg *m = mmi_msg_copy((const uint8_t *)"body", 4);
    size_t before = mmi_msg_cost(m);
    m->meta = mmi_meta_new(all, sizeof all);
    CHECK(mmi_msg_cost(m) > before + sizeof all);
    mmi_msg *more = mmi_msg_prepend(m, (const uint8_t *)"id", 2);
    CHECK(more->meta == m->meta);
    mmi_msg *shared = mmi_msg_strip(mmi_msg_ref(more), 1);
    CHECK(shared != more && shared->meta == m->meta);
    mmi_msg *parts[] = { mmi_msg_ref(shared), mmi_msg_copy(NULL, 0) };
    mmi_msg *joined = mmi_msg_join(parts, 2);
    CHECK(joined->meta == shared->meta);
    mmi_msg_unref(joined);
    mmi_msg_unref(shared);
    mmi_msg_unref(more);
}

int
main(void)
{
    RUN(test_each_prefix_but_at_an_item_is_malformed);
    RUN(test_what_the_core_needs_is_found);
    RUN(test_items_come_once_and_headers_have_names);
    RUN(test_what_is_made_of_a_message_has_it);
    return 0;
}
