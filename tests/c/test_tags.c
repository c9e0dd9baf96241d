/*
 * test_tags.c: the tags of poll events, the texts of errors, and the deadlines of an engine.
 * Not here: the objects behind tags; these are the test's own.
 * Law: a tag leads to its object or nowhere; 0 is never a tag.
 */
#include "check.h"
#include "engine/engine.h"

enum { TAGS = 300 };

static char objects[TAGS];

static void
test_a_tag_leads_to_its_object_and_kind_until_it_is_freed(void)
{
    mmi_engine e = { .tag_count = 0 };
    uint64_t tags[3];
    mmi_tag_kind kind = 0;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mmi_tag_new(&e, (mmi_tag_kind)(MMI_TAG_LINK + i), &objects[i], &tags[i]), MM_OK);
        CHECK(tags[i] != 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(mmi_tag_find(&e, tags[i], &kind) == &objects[i]);
        CHECK_INT(kind, MMI_TAG_LINK + i);
    }
    mmi_tag_free(&e, tags[1]);
    CHECK(mmi_tag_find(&e, tags[1], &kind) == NULL);
    mmi_tag_free(&e, tags[1]);   /* twice is fine */
    mmi_tag_free(&e, 0);
    CHECK(mmi_tag_find(&e, 0, &kind) == NULL);
    CHECK(mmi_tag_find(&e, tags[2] + 1, &kind) == NULL);          /* another place */
    CHECK(mmi_tag_find(&e, tags[2] + (1ull << 32), &kind) == NULL); /* another generation */
    CHECK(mmi_tag_find(&e, tags[2] + (1ull << 56), &kind) == NULL); /* another kind */
    CHECK(mmi_tag_find(&e, UINT64_MAX, &kind) == NULL);
    CHECK(mmi_tag_find(&e, tags[2], &kind) == &objects[2]);
    mmi_free(e.tags);
}

static void
test_an_event_fetched_before_its_object_closed_leads_nowhere(void)
{
    mmi_engine e = { .tag_count = 0 };
    uint64_t old[50];
    mmi_tag_kind kind;
    for (int i = 0; i < 50; i++) {
        CHECK_INT(mmi_tag_new(&e, MMI_TAG_LINK, &objects[i], &old[i]), MM_OK);
        CHECK_INT(old[i] & UINT32_MAX, 0);   /* the same place each time */
        for (int k = 0; k < i; k++) {
            CHECK(old[k] != old[i] && mmi_tag_find(&e, old[k], &kind) == NULL);
            mmi_tag_free(&e, old[k]);        /* takes nothing from who is there now */
        }
        CHECK(mmi_tag_find(&e, old[i], &kind) == &objects[i]);
        mmi_tag_free(&e, old[i]);
    }
    CHECK_INT(e.tag_count, 1);
    mmi_free(e.tags);
}

static void
test_tags_behave_like_a_table_and_no_memory_takes_none(void)
{
    for (uint32_t seed = 1; seed <= 5; seed++) {
        mmi_engine e = { .tag_count = 0 };
        uint64_t tags[TAGS] = { 0 };
        uint32_t state = seed, failures = 0;
        mmi_tag_kind kind;
        for (int step = 0; step < 5000; step++) {
            uint32_t i = check_random(&state) % TAGS;
            if (tags[i] != 0) {
                CHECK(mmi_tag_find(&e, tags[i], &kind) == &objects[i]);
                mmi_tag_free(&e, tags[i]);
                CHECK(mmi_tag_find(&e, tags[i], &kind) == NULL);
                tags[i] = 0;
                continue;
            }
            mm_test_alloc_fail(check_random(&state) % 2);
            int rc = mmi_tag_new(&e, MMI_TAG_DIALER, &objects[i], &tags[i]);
            mm_test_alloc_fail(0);
            CHECK(rc == MM_OK || (rc == MM_ENOMEM && tags[i] == 0));
            failures += rc == MM_ENOMEM;
        }
        CHECK(failures > 0 && e.tag_count <= TAGS);
        for (uint32_t i = 0; i < TAGS; i++) {
            CHECK(tags[i] == 0 || mmi_tag_find(&e, tags[i], &kind) == &objects[i]);
        }
        mmi_free(e.tags);
    }
}

static void
test_generations_come_round_without_a_tag_of_zero(void)
{
    mmi_engine e = { .tag_count = 0 };
    uint64_t tag, first;
    mmi_tag_kind kind;
    CHECK_INT(mmi_tag_new(&e, MMI_TAG_LINK, &objects[0], &first), MM_OK);
    mmi_tag_free(&e, first);
    e.tags[0].generation = 0xfffffe;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(mmi_tag_new(&e, MMI_TAG_LINK, &objects[i], &tag), MM_OK);
        CHECK(tag != 0 && mmi_tag_find(&e, tag, &kind) == &objects[i]);
        CHECK_INT(tag >> 56, MMI_TAG_LINK);
        mmi_tag_free(&e, tag);
    }
    CHECK(tag == first);
    mmi_free(e.tags);
}

static void
test_a_deadline_saturates(void)
{
    const uint64_t ms = 1000000;
    CHECK(mmi_deadline(5, 0) == 5);
    CHECK(mmi_deadline(5, 1) == 5 + ms);
    CHECK(mmi_deadline(5, -1) == UINT64_MAX);
    CHECK(mmi_deadline(5, INT64_MIN) == UINT64_MAX);
    CHECK(mmi_deadline(5, INT64_MAX) == UINT64_MAX);
    CHECK(mmi_deadline(UINT64_MAX - ms, 1) == UINT64_MAX);
    CHECK(mmi_deadline(UINT64_MAX - ms + 1, 1) == UINT64_MAX);
    CHECK(mmi_deadline(UINT64_MAX - ms - 1, 1) == UINT64_MAX - 1);
}

typedef const char *text_fn(int value);

static void
texts_differ(text_fn *text, int from, int to, const char *unknown)
{
    for (int i = from; i <= to; i++) {
        CHECK(text(i) != NULL && strlen(text(i)) > 1 && strcmp(text(i), unknown) != 0);
        for (int k = from; k < i; k++) {
            CHECK(strcmp(text(i), text(k)) != 0);
        }
    }
    const int outside[] = { from - 1, to + 1, 1000000, -1000000, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < MMI_COUNT_OF(outside); i++) {
        CHECK(strcmp(text(outside[i]), unknown) == 0);
    }
}

static void
test_every_code_has_a_text_of_its_own_and_no_other_has_one(void)
{
    texts_differ(mm_strerror, MM_ENOROUTE, MM_OK, "unknown error");
    texts_differ(mm_reason_text, 0, MM_REASON_COUNT - 1, "unknown reason");
    texts_differ(mm_role_name, 1, MM_ROLE_COUNT - 1, "unknown role");
    CHECK(strcmp(mm_role_name(MM_XPUB), "XPUB") == 0);
    int major, minor, patch, end = 0;
    CHECK_INT(sscanf(mm_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    CHECK_INT(end, strlen(mm_version()));
}

int
main(void)
{
    RUN(test_a_tag_leads_to_its_object_and_kind_until_it_is_freed);
    RUN(test_an_event_fetched_before_its_object_closed_leads_nowhere);
    RUN(test_tags_behave_like_a_table_and_no_memory_takes_none);
    RUN(test_generations_come_round_without_a_tag_of_zero);
    RUN(test_a_deadline_saturates);
    RUN(test_every_code_has_a_text_of_its_own_and_no_other_has_one);
    return 0;
}
