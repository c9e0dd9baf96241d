/*
 * known.c: see known.h.
 * Not here: who has it.  Law: one block.
 */
#include "base/known.h"

#include <string.h>

/* Puts a copy at *at, which goes on behind it. */
static const char *
known_put(char **at, const void *from, size_t size)
{
    char *copy = *at;
    if (size > 0) {
        memcpy(copy, from, size);
    }
    *at += size;
    return copy;
}

mmi_known *
mmi_known_new(const mmi_known *from)
{
    size_t name = strlen(from->mechanism) + 1, text = strlen(from->user_id) + 1;
    mmi_known *known = mmi_alloc(sizeof *known + name + text + from->properties_size +
                                 from->key_size + from->metadata_size);
    if (known == NULL) {
        return NULL;
    }
    char *at = (char *)(known + 1);
    atomic_init(&known->refs, 1);
    known->pipe_id = from->pipe_id;
    known->mechanism = known_put(&at, from->mechanism, name);
    known->user_id = known_put(&at, from->user_id, text);
    known->properties = (const uint8_t *)known_put(&at, from->properties, from->properties_size);
    known->properties_size = from->properties_size;
    known->key = (const uint8_t *)known_put(&at, from->key, from->key_size);
    known->key_size = from->key_size;
    known->metadata = (const uint8_t *)known_put(&at, from->metadata, from->metadata_size);
    known->metadata_size = from->metadata_size;
    return known;
}

void
mmi_known_free(mmi_known *known)
{
    mmi_free(known);
}
