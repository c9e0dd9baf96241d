/*
 * link/keep.c: octets that were read and are kept: what came behind a message that found no room,
 * and the beginning of a message that waits for its rest.
 *
 * Not here: when that is (link/rx.c).  Law: what is kept is parsed before anything that is read
 * later.
 */
#include <string.h>

#include "link/inside.h"

enum {
    IN_COPY_MAX = 32 * 1024,   /* bytes that are copied rather than kept in a whole buffer     */
    IN_TAIL_MAX = 32 * 1024    /* bytes of a message that waits for its rest before the parser */
};

void
mmi_link_unread_drop(mmi_link *link)
{
    if (link->unread_arena == NULL) {
        mmi_free(link->unread);
    }
    mmi_arena_unref(link->unread_arena);
    link->unread_arena = NULL;
    link->unread = NULL;
    link->unread_size = link->unread_used = 0;
}

void
mmi_link_keep_unread(mmi_link *link, uint8_t *buf, size_t size, mmi_arena *arena)
{
    if (size == 0) {
        return;
    }
    if (link->unread != NULL) {
        link->unread_used = (size_t)(buf - link->unread);   /* fed from there */
        return;
    }
    if (arena != NULL && size > IN_COPY_MAX) {
        link->unread_arena = mmi_arena_ref(arena);
        link->unread = buf;
    } else {
        link->unread = mmi_realloc(NULL, size);
        if (link->unread == NULL) {
            mmi_link_close(link, MM_REASON_MEMORY, NULL);
            return;
        }
        memcpy(link->unread, buf, size);
    }
    link->unread_size = size;
    link->unread_used = 0;
}

bool
mmi_link_keep_tail(mmi_link *link, const uint8_t *buf, size_t size)
{
    bool keep = size > 0 && mmi_link_lives(link) && !mmi_link_paused(link) &&
                link->socket->ops->take != NULL &&
                mmi_parser_waits(&link->parser, buf, size, IN_TAIL_MAX);
    uint8_t *kept = keep ? mmi_realloc(link->tail, size) : NULL;
    if (kept == NULL) {
        mmi_free(link->tail);
        link->tail = NULL;
        return false;
    }
    memcpy(kept, buf, size);
    link->tail = kept;
    link->tail_size = size;
    return true;
}
