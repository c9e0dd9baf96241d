/*
 * wire/zmtp/curve_message.c: a frame in a box of its own, and back.
 *
 * What is sealed and opened are frames of ZMTP as they would go plain.  A box is made where the
 * frame goes, and opened where it came, so that a message costs a copy each way.
 * Not here: the handshake.
 * Law: n is the last one + 1, which is kept once the box opened, so nothing can be cut out unseen;
 * memory grows with what came, not with what was claimed.
 */
#include <string.h>

#include "base/octets.h"
#include "wire/zmtp/curve_inside.h"

enum {
    MESSAGE_N = 8,                       /* offsets in MESSAGE, see curve.h */
    MESSAGE_BOX = 16,
    MESSAGE_FLAGS = 32,
    MESSAGE_PAYLOAD = 33,
    INSIDE_MORE = 1,                     /* flags in the box, which are not a frame's */
    INSIDE_COMMAND = 2,
    KEPT_MAX = 2048 /* octets of a block that is kept though nothing is in it */
};

static void
message_shrink(mmi_curve_octets *o)
{
    o->at = o->size = 0;
    if (o->cap > KEPT_MAX) {
        mmi_curve_free(o);
    }
}

/* ---- sealing ---- */

size_t
mmi_curve_room(const void *self, size_t size)
{
    const mmi_curve *c = self;
    return c->half.size + size + CURVE_HEAD_MAX + CURVE_MESSAGE; /* one frame at most */
}

/* One whole frame of ours.  Octets written. */
static int64_t
message_seal(mmi_curve *c, const mmi_frame_head *head, const uint8_t *body, uint8_t *out)
{
    if (c->sealed == INT64_MAX) {
        return MM_EPROTO;
    }
    size_t size = (size_t)head->size;
    size_t n = mmi_frame_head_put(out, 0, CURVE_MESSAGE + size);
    uint8_t *message = out + n;
    message[MESSAGE_FLAGS] = (head->flags & MMI_FRAME_MORE ? INSIDE_MORE : 0) |
                             (head->flags & MMI_FRAME_COMMAND ? INSIDE_COMMAND : 0);
    if (size > 0) {
        memcpy(message + MESSAGE_PAYLOAD, body, size);
    }
    c->sealed++;
    mmi_curve_seal_message(c, c->sealed, message + MESSAGE_BOX, 1 + size);
    memcpy(message, "\x07MESSAGE", MESSAGE_N);
    mmi_be64_put(message + MESSAGE_N, c->sealed);
    return (int64_t)(n + CURVE_MESSAGE + size);
}

/* Octets of the frame of which half is the beginning, as far as they are known. */
static size_t
half_need(const mmi_curve_octets *half, mmi_frame_head *head)
{
    int n = mmi_frame_head_parse(half->data, half->size, head);
    MMI_ASSERT(n >= 0); /* it is ours */
    return n > 0 ? (size_t)n + (size_t)head->size : half->size + 1;
}

int64_t
mmi_curve_seal(void *self, const uint8_t *plain, size_t *size, uint8_t *out)
{
    mmi_curve *c = self;
    mmi_frame_head head;
    size_t used = 0;
    if (c->out != NULL) {   /* the handshake is over, and what it had to say was copied */
        mmi_free(c->out);
        c->out = c->ours = NULL;
        c->out_size = c->out_sent = 0;
    }
    if (c->half.size == 0) {
        int n = mmi_frame_head_parse(plain, *size, &head);
        if (n > 0 && head.size <= *size - (size_t)n) {
            *size = (size_t)n + (size_t)head.size;
            return message_seal(c, &head, plain + n, out);
        }
    }
    for (;;) {
        size_t need = half_need(&c->half, &head);
        if (c->half.size == need) {
            break;
        }
        size_t part = need - c->half.size < *size - used ? need - c->half.size : *size - used;
        int rc = mmi_curve_append(&c->half, plain + used, part);
        if (rc != MM_OK) {
            return rc;
        }
        used += part;
        if (part == 0) {
            return 0;
        }
    }
    *size = used;
    int64_t n = message_seal(c, &head, c->half.data + c->half.size - head.size, out);
    message_shrink(&c->half);
    return n;
}

/* ---- opening ---- */

/* Octets of the first record, as far as they are known.  < 0: it may not be. */
static int64_t
message_need(const mmi_curve *c, const uint8_t *at, size_t size, mmi_refusal *why)
{
    mmi_frame_head head = { 0 };
    int n = mmi_frame_head_parse(at, size, &head);
    if (n < 0 || (size > 0 && (at[0] & MMI_FRAME_MORE) != 0)) {
        return mmi_refuse(why, MM_REASON_FRAME_FLAGS, "frame flags %02x around a MESSAGE", at[0]);
    }
    if (n == 0) {
        return (int64_t)size + 1;
    }
    if (head.size < CURVE_MESSAGE || head.size - CURVE_MESSAGE > c->frame_max) {
        return mmi_refuse(
            why, head.size < CURVE_MESSAGE ? MM_REASON_CRYPTO : MM_REASON_MESSAGE_SIZE,
            "a MESSAGE of %llu octets; it has %d to %llu", (unsigned long long)head.size,
            CURVE_MESSAGE, (unsigned long long)c->frame_max + CURVE_MESSAGE);
    }
    return n + (int64_t)head.size;
}

/* A whole record is opened where it lies.  *plain: the frame in it.  Its octets, or an error. */
static int64_t
message_open(mmi_curve *c, uint8_t *record, size_t record_size, uint8_t **plain, mmi_refusal *why)
{
    mmi_frame_head head;
    uint8_t *message = record + mmi_frame_head_parse(record, record_size, &head);
    size_t size = (size_t)head.size - CURVE_MESSAGE;
    uint64_t n = mmi_be64_get(message + MESSAGE_N);
    if (memcmp(message, "\x07MESSAGE", MESSAGE_N) != 0) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "no MESSAGE");
    }
    if (n != c->opened + 1 || n > INT64_MAX) {
        return mmi_refuse(why, MM_REASON_SEQUENCE, "MESSAGE %llu behind %llu",
                          (unsigned long long)n, (unsigned long long)c->opened);
    }
    if (!mmi_curve_open_message(c, n, message + MESSAGE_BOX, 1 + size)) {
        return mmi_refuse(why, MM_REASON_CRYPTO, "MESSAGE %llu does not open",
                          (unsigned long long)n);
    }
    c->opened = n;
    uint8_t flags = message[MESSAGE_FLAGS];
    if (flags > INSIDE_COMMAND) {
        return mmi_refuse(why, MM_REASON_FRAME_FLAGS, "flags %02x in a MESSAGE", flags);
    }
    uint8_t frame[CURVE_HEAD_MAX];
    size_t have =
        mmi_frame_head_put(frame, flags == INSIDE_COMMAND ? MMI_FRAME_COMMAND : flags, size);
    *plain = message + MESSAGE_PAYLOAD - have;
    memcpy(*plain, frame, have);
    return (int64_t)(have + size);
}

/* Gives what was opened and not given yet, as far as there is room.  Octets. */
static size_t
message_give(mmi_curve *c, uint8_t *out, size_t room)
{
    size_t part = c->plain_left < room ? c->plain_left : room;
    if (part > 0) {
        memcpy(out, c->came.data + c->came.at, part);
    }
    c->came.at += part;
    c->plain_left -= part;
    if (c->came.at == c->came.size) {
        message_shrink(&c->came);
    }
    return part;
}

/* The record that was kept is completed, from in, and opened.  1: it was; 0: it needs more. */
static int
message_complete(mmi_curve *c, uint8_t **in, size_t *size, mmi_refusal *why)
{
    mmi_curve_octets *came = &c->came;
    for (;;) {
        size_t have = came->size - came->at;
        int64_t need = message_need(c, came->data + came->at, have, why);
        if (need < 0) {
            return (int)need;
        }
        if (have >= (size_t)need) {
            uint8_t *plain;
            int64_t left = message_open(c, came->data + came->at, (size_t)need, &plain, why);
            if (left < 0) {
                return (int)left;
            }
            came->at = (size_t)(plain - came->data);
            c->plain_left = (size_t)left; /* up to the end of the record */
            return 1;
        }
        size_t part = (size_t)need - have < *size ? (size_t)need - have : *size;
        if (part == 0) {
            return 0;
        }
        int rc = mmi_curve_append(came, *in, part);
        if (rc != MM_OK) {
            return rc;
        }
        *in += part;
        *size -= part;
    }
}

/* The first record of in, if it is whole and there is room, is opened there and given.  Octets; 0:
 * all of in was kept. */
static int64_t
message_direct(mmi_curve *c, uint8_t **in, size_t *size, uint8_t *out, size_t room,
               mmi_refusal *why)
{
    int64_t need = message_need(c, *in, *size, why);
    if (need < 0) {
        return need;
    }
    if ((size_t)need > *size || (size_t)need > room) {   /* its frame is smaller than it */
        int rc = mmi_curve_append(&c->came, *in, *size);
        *size = 0;
        return rc;
    }
    uint8_t *plain;
    int64_t given = message_open(c, *in, (size_t)need, &plain, why);
    if (given > 0) {
        memcpy(out, plain, (size_t)given);
        *in += need;
        *size -= (size_t)need;
    }
    return given;
}

static int
message_open_all(mmi_curve *c, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
                 mmi_refusal *why)
{
    *given = message_give(c, out, cap);
    while (*given < cap && (size > 0 || c->came.size > 0)) {
        int64_t n;
        if (c->came.size == 0) {
            n = message_direct(c, &in, &size, out + *given, cap - *given, why);
            *given += n > 0 ? (size_t)n : 0;
        } else {
            n = message_complete(c, &in, &size, why);
            if (n == 0) {
                break;
            }
            *given += n > 0 ? message_give(c, out + *given, cap - *given) : 0;
        }
        if (n < 0) {
            return (int)n;
        }
    }
    return mmi_curve_append(&c->came, in, size);
}

int
mmi_curve_open(void *self, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given,
               mmi_refusal *why)
{
    mmi_curve *c = self;
    *given = 0;
    if (c->open_failed) {
        return MM_EPROTO;
    }
    if (c->in.data != NULL) {   /* likewise: the properties were read */
        mmi_command_in_free(&c->in);
        c->metadata_at = c->metadata_size = 0;
    }
    int rc = message_open_all(c, in, size, out, cap, given, why);
    c->open_failed = rc != MM_OK;
    return rc;
}

bool
mmi_curve_idle(const void *self)
{
    const mmi_curve *c = self;
    return c->came.at == c->came.size && c->plain_left == 0;
}
