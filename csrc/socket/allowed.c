/*
 * socket/allowed.c: see socket/allowed.h.
 * Not here: what becomes of who is no longer in it (link/revoke.c).
 * Law: nothing is called with its lock held but the C library.
 */
#include "socket/allowed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/z85.h"
#include "plat/plat.h"

_Static_assert((int)MMI_ALLOWED_KEY_SIZE == (int)MMI_KEY_OCTETS, "keys of CURVE");

typedef struct allowed_entry {
    uint8_t key[MMI_ALLOWED_KEY_SIZE];   /* first: entries are found by it */
    const char *user_id;
} allowed_entry;

struct mmi_allowed_table {
    uint32_t count;
    char *user_ids;
    allowed_entry entries[];
};

struct mmi_allowed {
    mmi_mutex lock;
    mmi_allowed_table *table;            /* NULL: nobody */
};

static int
allowed_compare(const void *a, const void *b)
{
    return memcmp(a, b, MMI_ALLOWED_KEY_SIZE);
}

void
mmi_allowed_table_free(mmi_allowed_table *table)
{
    if (table != NULL) {
        mmi_free(table->user_ids);
        mmi_free(table);
    }
}

/* Finds each entry its user id, and sorts them.  MM_EINVAL. */
static int
allowed_fill(mmi_allowed_table *table, const uint8_t *keys, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const char *end = at < size ? memchr(table->user_ids + at, '\0', size - at) : NULL;
        if (end == NULL || end - (table->user_ids + at) > MM_USER_ID_MAX) {
            return MM_EINVAL;
        }
        memcpy(table->entries[i].key, keys + (size_t)i * MMI_ALLOWED_KEY_SIZE,
               MMI_ALLOWED_KEY_SIZE);
        table->entries[i].user_id = table->user_ids + at;
        at = (size_t)(end - table->user_ids) + 1;
    }
    qsort(table->entries, table->count, sizeof table->entries[0], allowed_compare);
    for (uint32_t i = 1; i < table->count; i++) {
        if (allowed_compare(&table->entries[i - 1], &table->entries[i]) == 0) {
            return MM_EINVAL;
        }
    }
    return MM_OK;
}

int
mmi_allowed_table_new(const uint8_t *keys, const char *user_ids, size_t size, uint32_t count,
                      mmi_allowed_table **out)
{
    mmi_allowed_table *table = mmi_alloc(sizeof *table + count * sizeof table->entries[0]);
    if (table == NULL) {
        return MM_ENOMEM;
    }
    table->count = count;
    table->user_ids = mmi_alloc(size > 0 ? size : 1);
    int rc = MM_ENOMEM;
    if (table->user_ids != NULL) {
        if (size > 0) {
            memcpy(table->user_ids, user_ids, size);
        }
        rc = allowed_fill(table, keys, size);
    }
    if (rc != MM_OK) {
        mmi_allowed_table_free(table);
        return rc;
    }
    *out = table;
    return MM_OK;
}

mmi_allowed *
mmi_allowed_new(void)
{
    mmi_allowed *list = mmi_alloc(sizeof *list);
    if (list != NULL) {
        pthread_mutex_init(&list->lock, NULL);
        list->table = NULL;
    }
    return list;
}

void
mmi_allowed_free(mmi_allowed *list)
{
    if (list != NULL) {
        mmi_allowed_table_free(list->table);
        pthread_mutex_destroy(&list->lock);
        mmi_free(list);
    }
}

void
mmi_allowed_swap(mmi_allowed *list, mmi_allowed_table *table)
{
    pthread_mutex_lock(&list->lock);
    mmi_allowed_table *before = list->table;
    list->table = table;
    pthread_mutex_unlock(&list->lock);
    mmi_allowed_table_free(before);
}

bool
mmi_allowed_ask(const void *self, const mmi_applicant *who, mmi_answer *out)
{
    mmi_allowed *list = (mmi_allowed *)self;   /* for its lock */
    *out = (mmi_answer){ .kind = MM_DENY, .reason = MM_REASON_NOT_ALLOWED };
    if (who->key.size != MMI_ALLOWED_KEY_SIZE) {
        snprintf(out->why, sizeof out->why, "it has shown no key");
        return true;
    }
    pthread_mutex_lock(&list->lock);
    const mmi_allowed_table *table = list->table;
    const allowed_entry *found = table != NULL
                                     ? bsearch(who->key.data, table->entries, table->count,
                                               sizeof table->entries[0], allowed_compare)
                                     : NULL;
    if (found != NULL) {
        out->kind = MM_ALLOW;
        snprintf(out->user_id, sizeof out->user_id, "%s", found->user_id);
    }
    pthread_mutex_unlock(&list->lock);
    if (found == NULL) {
        char text[MMI_Z85_SIZE + 1];
        mmi_z85_encode(text, who->key.data);
        snprintf(out->why, sizeof out->why, "its key %s is not in allow=", text);
    }
    return true;
}
