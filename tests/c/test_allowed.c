/*
 * test_allowed.c: the list of who may come in: who is in it is found, whoever else is denied, and a
 * list that is wrong is none.
 * Not here: sockets that have one (tests/unit/test_allow_lists.py).
 */
#include <string.h>

#include "check.h"
#include "socket/allowed.h"

enum { MANY = 1000 };

static mmi_answer
ask(mmi_allowed *list, const uint8_t *key, size_t size)
{
    mmi_answer answer;
    mmi_applicant who = { .mechanism = "CURVE", .key = { .data = key, .size = size } };
    CHECK(mmi_allowed_ask(list, &who, &answer));
    return answer;
}

static void
key_of(uint8_t *key, uint32_t number)
{
    memset(key, (int)(number % 251), MMI_ALLOWED_KEY_SIZE);
    memcpy(key, &number, sizeof number);
}

static void
test_who_is_in_the_list_is_found_by_key_and_known_by_its_own_id(void)
{
    static uint8_t keys[MANY * MMI_ALLOWED_KEY_SIZE];
    static char ids[MANY * 8];
    size_t size = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        key_of(keys + (size_t)i * MMI_ALLOWED_KEY_SIZE, (i * 7919) % 10007);
        size += (size_t)snprintf(ids + size, sizeof ids - size, "%u", i) + 1;
    }
    mmi_allowed_table *table;
    mmi_allowed *list = mmi_allowed_new();
    CHECK(list != NULL);
    CHECK_INT(mmi_allowed_table_new(keys, ids, size, MANY, &table), MM_OK);
    mmi_allowed_swap(list, table);
    for (uint32_t i = 0; i < MANY; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        mmi_answer answer =
            ask(list, keys + (size_t)i * MMI_ALLOWED_KEY_SIZE, MMI_ALLOWED_KEY_SIZE);
        CHECK(answer.kind == MM_ALLOW && strcmp(answer.user_id, id) == 0);
    }
    CHECK_INT(mmi_allowed_table_new(keys, ids, size, 1, &table), MM_OK);
    mmi_allowed_swap(list, table);
    CHECK_INT(ask(list, keys, MMI_ALLOWED_KEY_SIZE).kind, MM_ALLOW);
    CHECK_INT(ask(list, keys + MMI_ALLOWED_KEY_SIZE, MMI_ALLOWED_KEY_SIZE).kind, MM_DENY);
    mmi_allowed_free(list);
    mmi_allowed_free(NULL);
}

static void
test_whoever_else_is_denied_with_the_key_in_the_words(void)
{
    uint8_t key[MMI_ALLOWED_KEY_SIZE] = { 0 };
    mmi_allowed *list = mmi_allowed_new();
    CHECK(list != NULL);
    mmi_answer answer = ask(list, key, sizeof key);   /* of nobody yet */
    CHECK_INT(answer.kind, MM_DENY);
    CHECK_INT(answer.reason, MM_REASON_NOT_ALLOWED);
    CHECK(strcmp(answer.why, "its key 0000000000000000000000000000000000000000 is not in allow=") ==
          0);
    CHECK_INT(ask(list, key, 1).kind, MM_DENY);
    mmi_allowed_free(list);
}

static void
test_a_list_that_is_wrong_is_none(void)
{
    uint8_t keys[2 * MMI_ALLOWED_KEY_SIZE] = { 0 };
    char ids[MM_USER_ID_MAX + 2];
    mmi_allowed_table *table = NULL;
    memset(ids, 'x', sizeof ids);
    ids[MM_USER_ID_MAX + 1] = '\0';
    CHECK_INT(mmi_allowed_table_new(keys, "a\0b", 4, 2, &table), MM_EINVAL);     /* a key twice */
    keys[0] = 1;
    CHECK_INT(mmi_allowed_table_new(keys, "a\0b", 3, 2, &table), MM_EINVAL);     /* no end */
    CHECK_INT(mmi_allowed_table_new(keys, "a", 2, 2, &table), MM_EINVAL);        /* too few */
    CHECK_INT(mmi_allowed_table_new(keys, ids, sizeof ids, 1, &table), MM_EINVAL);
    CHECK(table == NULL);
    CHECK_INT(mmi_allowed_table_new(keys, ids + 1, sizeof ids - 1, 1, &table), MM_OK);
    mmi_allowed_table_free(table);
}

int
main(void)
{
    RUN(test_who_is_in_the_list_is_found_by_key_and_known_by_its_own_id);
    RUN(test_whoever_else_is_denied_with_the_key_in_the_words);
    RUN(test_a_list_that_is_wrong_is_none);
    return 0;
}
