/*
 * api/reply.c: answering: replies and refusals, along the way that a request came.
 *
 * Not here: receiving replies (api/request.c), what a way back is (role/rep.c).
 * Law: as in api/send.c; none of these waits.
 */
#include "api/api.h"

#include <string.h>

#include "batch/batch.h"
#include "role/refusal.h"

int
mm_send_reply_along(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes,
                    uint32_t count, const uint8_t *body)
{
    mmi_msg *m = mmi_msg_new(sizes, count + 1);
    if (m != NULL) {
        size_t size = (size_t)sizes[count], routed = m->size - size;
        m->pipe_id = to;
        if (routed > 0) {
            memcpy(mmi_msg_data(m, 0), route, routed);
        }
        if (size > 0) {
            memcpy(mmi_msg_data(m, count), body, size);
        }
    }
    return mmi_api_send(socket, m, 0, 0, NULL);
}

mm_msg *
mm_room_new(uint64_t size, uint8_t **body)
{
    mmi_msg *m = mmi_msg_new(&size, 1);
    if (m != NULL) {
        *body = mmi_msg_data(m, 0);
    }
    return m;
}

void
mm_room_free(mm_msg *room)
{
    mmi_msg_unref(room);
}

int
mm_send_reply_room(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes,
                   uint32_t count, mm_msg *room)
{
    if (sizes[count] > room->size) {
        mmi_msg_unref(room);
        return MM_EINVAL;
    }
    room->frames[0].size = room->size = (size_t)sizes[count];
    mmi_msg *m = mmi_msg_prepend_frames(room, route, sizes, count);
    if (m == NULL) {
        mmi_msg_unref(room);
        return MM_ENOMEM;
    }
    m->pipe_id = to;
    return mmi_api_send(socket, m, 0, 0, NULL);
}

/* The refusal of what came along that route: only whoever asks directly is told.  NULL: *rc. */
static mmi_msg *
reply_refusal(const uint8_t *route, const uint64_t *sizes, uint32_t count, const void *reason,
              size_t size, int *rc)
{
    if (size > MMI_REFUSAL_REASON_MAX) {
        *rc = MM_EMSGSIZE;
        return NULL;
    }
    if (count != MMI_REFUSAL_ENVELOPE_FRAMES || sizes[0] != sizeof(uint32_t) || sizes[1] != 0) {
        *rc = MM_ENOTSUP;
        return NULL;
    }
    const uint64_t all[MMI_REFUSAL_FRAMES] = { sizes[0], MMI_REFUSAL_WORD_SIZE, size };
    mmi_msg *m = mmi_msg_new(all, MMI_REFUSAL_FRAMES);
    if (m == NULL) {
        *rc = MM_ENOMEM;
        return NULL;
    }
    memcpy(mmi_msg_data(m, 0), route, (size_t)sizes[0]);
    memcpy(mmi_msg_data(m, 1), MMI_REFUSAL_WORD, MMI_REFUSAL_WORD_SIZE);
    if (size > 0) {
        memcpy(mmi_msg_data(m, 2), reason, size);
    }
    return m;
}

int
mm_send_refusal_along(mm_handle socket, uint64_t to, const uint8_t *route, const uint64_t *sizes,
                      uint32_t count, const uint8_t *reason, size_t size)
{
    int rc = MM_OK;
    mmi_msg *m = reply_refusal(route, sizes, count, reason, size, &rc);
    if (m == NULL) {
        return rc;
    }
    m->pipe_id = to;
    size = m->size;
    mmi_socket *s;
    rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        rc = s->ops->refuse == NULL ? MM_ENOTSUP : s->ops->refuse(s->state, m);
        if (rc == MM_OK) {
            s->stats.sent_messages++;
            s->stats.sent_bytes += size;
        }
        rc = mmi_api_leave(s, rc);
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

int
mm_send_reply(mm_handle socket, const mm_batch *batch, uint32_t i, const mm_body *frames,
              uint32_t count)
{
    if (i >= batch->message_count || count == 0) {
        return MM_EINVAL;
    }
    const uint32_t routed = mmi_batch_envelope(batch, i);
    mm_body *all =
        count <= UINT32_MAX - routed ? mmi_alloc(((size_t)routed + count) * sizeof *all) : NULL;
    if (all == NULL) {
        return MM_ENOMEM;
    }
    for (uint32_t j = 0; j < routed; j++) {
        all[j].data = mmi_batch_frame(batch, i, j, &all[j].size);
    }
    memcpy(all + routed, frames, count * sizeof *all);
    mmi_msg *m = mmi_msg_gather(all, routed + count);
    mmi_free(all);
    if (m == NULL) {
        return MM_ENOMEM;
    }
    m->pipe_id = mm_batch_peer(batch, i);
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc == MM_OK) {
        mmi_engine *e = s->engine;
        mmi_api_wait w = mmi_api_wait_of(0, 0);
        rc = mmi_api_end(e, s->ops->refuse == NULL ? MM_ENOTSUP : mmi_api_send_locked(s, m, &w));
    }
    if (rc != MM_OK) {
        mmi_msg_unref(m);
    }
    return rc;
}

int
mm_send_refusal(mm_handle socket, const mm_batch *batch, uint32_t i, const void *reason,
                size_t size)
{
    if (i >= batch->message_count) {
        return MM_EINVAL;
    }
    uint64_t sizes[MMI_REFUSAL_ENVELOPE_FRAMES] = { 0 };
    const uint32_t routed = mmi_batch_envelope(batch, i);
    if (routed != MMI_REFUSAL_ENVELOPE_FRAMES) {
        return size > MMI_REFUSAL_REASON_MAX ? MM_EMSGSIZE : MM_ENOTSUP;
    }
    const uint8_t *route = NULL;   /* its second frame is empty */
    for (uint32_t j = routed; j-- > 0;) {
        size_t frame_size;
        route = mmi_batch_frame(batch, i, j, &frame_size);
        sizes[j] = frame_size;
    }
    return mm_send_refusal_along(socket, mm_batch_peer(batch, i), route, sizes, routed, reason,
                                 size);
}
