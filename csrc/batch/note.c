/*
 * batch/note.c: what goes with the messages of a batch beside their frames (base/meta.h).
 *
 * Not here: copying (batch/batch.c).
 * Law: of what is given by reference, its message says so; of what was copied, an array, in the
 * order of the messages; room is made before a copy.
 */
#include "batch/batch.h"

bool
mmi_batch_note_room(mmi_batch *b)
{
    uint32_t want = 0;
    for (uint32_t i = 0; i < b->taken_count; i++) {
        want += b->taken[i].msg->meta != NULL;
    }
    if (want > b->note_cap) {
        mmi_batch_note *grown = mmi_realloc(b->note, want * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        b->note = grown;
        b->note_cap = want;
    }
    return true;
}

void
mmi_batch_note_add(mmi_batch *b, uint32_t i, const mmi_msg *m)
{
    if (m->meta != NULL && b->note_count < b->note_cap) {
        b->note[b->note_count++] = (mmi_batch_note){ .message = i, .meta = mmi_meta_ref(m->meta) };
    }
}

void
mmi_batch_note_drop(mmi_batch *b)
{
    while (b->note_count > 0) {
        mmi_meta_unref(b->note[--b->note_count].meta);
    }
}

static const mmi_meta *
note_find(const mmi_batch *b, uint32_t message)
{
    uint32_t from = 0, to = b->note_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (b->note[middle].message < message) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    bool found = from < b->note_count && b->note[from].message == message;
    return found ? b->note[from].meta : NULL;
}

int
mm_batch_meta(const mm_batch *batch, uint32_t i, const uint8_t **data, uint32_t *size)
{
    const mmi_batch *b = (const mmi_batch *)batch;
    const mmi_meta *meta = b->whole != NULL ? b->whole->meta : note_find(b, i);
    if (meta != NULL) {
        *data = meta->data;
        *size = meta->size;
    }
    return meta != NULL;
}
