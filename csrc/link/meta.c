/*
 * link/meta.c: what goes with a message (base/meta.h), on one connection: META in front of it.
 *
 * Not here: writing it (link/plan.c, link/write.c).
 * Law: META and its message are one piece: nothing comes between them but AGAIN.  A peer that does
 * not know META gets the message without it, and an event says so once.
 */
#include "link/inside.h"

static const char meta_word[] = "meta"; /* of our features (wire/wire.h) */

void
mmi_meta_begin(mmi_link *link)
{
    link->pipe.takes_meta =
        link->wire->put_meta != NULL && mmi_wire_knows(link->features, meta_word);
}

size_t
mmi_meta_before(const mmi_link *link, const mmi_msg *m)
{
    uint8_t head[MMI_META_HEAD_MAX];
    return m->meta != NULL && link->pipe.takes_meta
               ? link->wire->put_meta(head, m->meta->size) + m->meta->size
               : 0;
}

void
mmi_meta_wrote(mmi_link *link, const mmi_msg *m)
{
    if (m->meta == NULL || link->pipe.takes_meta || link->meta_told) {
        return;
    }
    link->meta_told = true;
    mmi_link_tell(link, MM_EVENT_PEER_PLAIN, MM_REASON_NONE,
                  "it takes no key, headers or times: messages go to it without (headers)");
}

void
mmi_meta_came(mmi_link *link, const mmi_command *command)
{
    bool between = mmi_parser_idle(&link->parser);   /* not between the frames of a message */
    if (!between || link->meta != NULL || command->size > (size_t)MMI_META_SIZE_MAX ||
        !mmi_meta_check(command->data, command->size)) {
        mmi_link_breach(link, MM_REASON_COMMAND, "a META that is malformed, or not of a message");
        return;
    }
    link->meta = mmi_meta_new(command->data, command->size);
    if (link->meta == NULL) {
        mmi_link_close(link, MM_REASON_MEMORY, NULL);
    }
}

void
mmi_meta_take(mmi_link *link, mmi_msg *m)
{
    m->meta = link->meta;
    link->meta = NULL;
}
