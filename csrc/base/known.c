/*
 * known.c: see known.h.
 * Not here: who has it.  Law: one block.
 */
#include "base/known.h"

#include <string.h>

mmi_known *
mmi_known_new(uint64_t pipe_id, const char *mechanism, const char *user_id, const uint8_t *metadata,
              size_t metadata_size)
{
    size_t name = strlen(mechanism) + 1, text = strlen(user_id) + 1;
    mmi_known *known = mmi_alloc(sizeof *known + name + text + metadata_size);
    if (known == NULL) {
        return NULL;
    }
    char *behind = (char *)(known + 1);
    memcpy(behind, mechanism, name);
    memcpy(behind + name, user_id, text);
    if (metadata_size > 0) {
        memcpy(behind + name + text, metadata, metadata_size);
    }
    atomic_init(&known->refs, 1);
    known->pipe_id = pipe_id;
    known->mechanism = behind;
    known->user_id = behind + name;
    known->metadata = (const uint8_t *)behind + name + text;
    known->metadata_size = metadata_size;
    return known;
}

void
mmi_known_free(mmi_known *known)
{
    mmi_free(known);
}
