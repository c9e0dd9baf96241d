/*
 * reader.c: frames of an established connection -> messages and commands.  See reader.h.
 *
 * The common case, a whole frame in the fed bytes, touches no state.  Law: limits are checked from
 * the head; a body's block grows with what has arrived (block.h).
 */
#include "wire/zmtp/reader.h"

#include <string.h>

enum {
    READER_FIRST_PARTS = 4,
    READER_TOGETHER = 8     /* frames of a message that go into one block, if all are there */
};

void
mmi_reader_init(mmi_reader *r, const mmi_reader_limits *limits)
{
    memset(r, 0, sizeof *r);
    r->limits = *limits;
}

static void
reader_free_block(mmi_reader *r)
{
    mmi_block_fini(&r->block);
    r->block_given = false;
}

static void
reader_free_parts(mmi_reader *r)
{
    while (r->part_count > 0) {
        mmi_msg_unref(r->parts[--r->part_count]);
    }
    mmi_free(r->parts);
    r->parts = NULL;
    r->part_cap = 0;
    r->parts_size = 0;
}

void
mmi_reader_fini(mmi_reader *r)
{
    reader_free_parts(r);
    reader_free_block(r);
}

bool
mmi_reader_idle(const mmi_reader *r)
{
    return r->head_have == 0 && !r->in_body && r->part_count == 0;
}

/* Is this frame within the limits? Asked before any of its body is kept. */
static int
reader_check(mmi_reader *r, const mmi_frame_head *head)
{
    const mmi_reader_limits *l = &r->limits;
    if ((head->flags & MMI_FRAME_COMMAND) != 0) {
        return head->size <= l->command_size_max
                   ? MM_OK
                   : mmi_refuse(r, MM_REASON_COMMAND_SIZE,
                                "a command of %llu bytes, the limit is %u",
                                (unsigned long long)head->size, l->command_size_max);
    }
    if (head->size > l->message_size_max - r->parts_size) {
        return mmi_refuse(r, MM_REASON_MESSAGE_SIZE,
                          "a message of %llu bytes, message_size_max is %llu",
                          (unsigned long long)(r->parts_size + head->size),
                          (unsigned long long)l->message_size_max);
    }
    if (r->part_count >= l->frames_max) {
        return mmi_refuse(r, MM_REASON_FRAME_COUNT,
                          "a message of more than %u frame%s (frames_max)", l->frames_max,
                          mmi_plural(l->frames_max));
    }
    return MM_OK;
}

static int
reader_bad_head(mmi_reader *r, const uint8_t *head)
{
    bool flags = (head[0] & 0xf8) != 0 || (head[0] & 5) == 5;
    return flags ? mmi_refuse(r, MM_REASON_FRAME_FLAGS, "frame flags %02x", head[0])
                 : mmi_refuse(r, MM_REASON_MESSAGE_SIZE, "a frame size over 2^63 - 1");
}

/* A frame of a message is complete. 1: so is the message, in *out; 0: more frames follow. */
static int
reader_part(mmi_reader *r, mmi_msg *part, bool more, mmi_input *out)
{
    if (part == NULL) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    if (!more && r->part_count == 0) {
        out->msg = part;
        return 1;
    }
    if (r->part_count == r->part_cap) {
        uint32_t cap = r->part_cap == 0 ? READER_FIRST_PARTS : r->part_cap * 2;
        mmi_msg **grown = mmi_realloc(r->parts, cap * sizeof *grown);
        if (grown == NULL) {
            mmi_msg_unref(part);
            return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
        }
        r->parts = grown;
        r->part_cap = cap;
    }
    r->parts[r->part_count++] = part;
    r->parts_size += part->size;
    if (more) {
        return 0;
    }
    out->msg = mmi_msg_join(r->parts, r->part_count);
    if (out->msg == NULL) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    r->part_count = 0;
    r->parts_size = 0;
    mmi_free(r->parts);
    r->parts = NULL;
    r->part_cap = 0;
    return 1;
}

static int
reader_command(mmi_reader *r, const uint8_t *body, size_t size, mmi_input *out)
{
    out->msg = NULL;
    if (mmi_command_parse(body, size, &out->command) != MM_OK) {
        return mmi_refuse(r, MM_REASON_COMMAND, "a malformed command of %zu byte%s", size,
                          mmi_plural(size));
    }
    return 1;
}

/* The body in the block is complete: a command stays there until the next call, a message takes it
 * over. */
static int
reader_finish_block(mmi_reader *r, mmi_input *out)
{
    r->in_body = false;
    if ((r->head.flags & MMI_FRAME_COMMAND) != 0) {
        r->block_given = true;
        return reader_command(r, r->block.data, (size_t)r->block.size, out);
    }
    mmi_msg *part = mmi_msg_adopt(r->block.data, (size_t)r->block.size);
    if (part != NULL) {
        r->block.data = NULL;
    }
    reader_free_block(r);
    return reader_part(r, part, (r->head.flags & MMI_FRAME_MORE) != 0, out);
}

/* Takes what there is of an unfinished body. 0: need more; else as reader_finish_block. */
static int
reader_body(mmi_reader *r, const uint8_t **buf, size_t *size, mmi_input *out, bool *finished)
{
    *finished = false;
    if (mmi_block_take(&r->block, r->head.size, buf, size) != MM_OK) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    if (r->block.size < r->head.size) {
        return 0;
    }
    *finished = true;
    return reader_finish_block(r, out);
}

/* Completes a head that was cut. 1: r->head is valid; 0: need more. */
static int
reader_head(mmi_reader *r, const uint8_t **buf, size_t *size)
{
    while (*size > 0) {
        r->head_buf[r->head_have++] = *(*buf)++;
        (*size)--;
        int rc = mmi_frame_head_parse(r->head_buf, r->head_have, &r->head);
        if (rc < 0) {
            return reader_bad_head(r, r->head_buf);
        }
        if (rc > 0) {
            r->head_have = 0;
            rc = reader_check(r, &r->head);
            return rc == MM_OK ? 1 : rc;
        }
    }
    return 0;
}

/* How many frames the message has that *buf begins with, and where they lie; 0: it does not lie
 * there whole, or is to be read frame by frame, which tells what is wrong with it as well. */
static uint32_t
reader_frames(const mmi_reader *r, const uint8_t *buf, size_t size, uint64_t *sizes,
              const uint8_t **bodies)
{
    uint64_t total = 0;
    for (uint32_t count = 0; count < READER_TOGETHER && count < r->limits.frames_max;) {
        mmi_frame_head head;
        int n = mmi_frame_head_parse(buf, size, &head);
        if (n <= 0 || (head.flags & MMI_FRAME_COMMAND) != 0 || head.size > size - (size_t)n ||
            head.size > r->limits.message_size_max - total) {
            return 0;
        }
        bodies[count] = buf + n;
        sizes[count++] = head.size;
        total += head.size;
        buf += (size_t)n + (size_t)head.size;
        size -= (size_t)n + (size_t)head.size;
        if ((head.flags & MMI_FRAME_MORE) == 0) {
            return count;
        }
    }
    return 0;
}

/* A message of several frames that lies whole in the fed bytes, as envelopes mostly do, takes one
 * block instead of one a frame.  1, an error, or 0: it is to be read frame by frame. */
static int
reader_together(mmi_reader *r, const uint8_t **buf, size_t *size, mmi_input *out)
{
    uint64_t sizes[READER_TOGETHER];
    const uint8_t *bodies[READER_TOGETHER];
    uint32_t count = reader_frames(r, *buf, *size, sizes, bodies);
    if (count == 0) {
        return 0;
    }
    out->msg = mmi_msg_new(sizes, count);
    if (out->msg == NULL) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] > 0) {
            memcpy(mmi_msg_data(out->msg, i), bodies[i], (size_t)sizes[i]);
        }
    }
    const uint8_t *end = bodies[count - 1] + sizes[count - 1];
    *size -= (size_t)(end - *buf);
    *buf = end;
    return 1;
}

/* A frame that lies whole in the fed bytes: 1, 0 (a part of a message) or an error. *whole: it
 * does. */
static int
reader_whole(mmi_reader *r, const uint8_t **buf, size_t *size, mmi_input *out, bool *whole)
{
    mmi_frame_head head;
    int n = mmi_frame_head_parse(*buf, *size, &head);
    *whole = false;
    if (n < 0) {
        return reader_bad_head(r, *buf);
    }
    if (n == 0 || head.size > *size - (size_t)n) {
        return 0;
    }
    int rc = reader_check(r, &head);
    if (rc != MM_OK) {
        return rc;
    }
    if (r->part_count == 0 && (head.flags & MMI_FRAME_MORE) != 0) {
        rc = reader_together(r, buf, size, out);
        if (rc != 0) {
            return rc;
        }
    }
    const uint8_t *body = *buf + n;
    *whole = true;
    *buf = body + head.size;
    *size -= (size_t)n + (size_t)head.size;
    if ((head.flags & MMI_FRAME_COMMAND) != 0) {
        return reader_command(r, body, (size_t)head.size, out);
    }
    return reader_part(r, mmi_msg_copy(body, (size_t)head.size), (head.flags & MMI_FRAME_MORE) != 0,
                       out);
}

void
mmi_reader_skip(mmi_reader *r)
{
    if (r->skips) {
        return;
    }
    r->skips = true;
    reader_free_parts(r);
    if (r->in_body && (r->head.flags & MMI_FRAME_COMMAND) == 0) {
        r->skip_left = r->head.size - r->block.size;
        reader_free_block(r);
    }
}

/* As mmi_reader_next of one that gives out only commands. */
static int
reader_next_command(mmi_reader *r, const uint8_t **buf, size_t *size, mmi_input *out)
{
    while (r->reason == 0) {
        if (!r->in_body) {
            int rc = reader_head(r, buf, size);
            if (rc <= 0) {
                return rc;
            }
            r->in_body = true;
            r->skip_left = r->head.size;
        }
        if ((r->head.flags & MMI_FRAME_COMMAND) != 0) {
            bool finished;
            return reader_body(r, buf, size, out, &finished);
        }
        size_t n = r->skip_left < *size ? (size_t)r->skip_left : *size;
        *buf = n > 0 ? *buf + n : *buf; /* which may be NULL */
        *size -= n;
        r->skip_left -= n;
        if (r->skip_left > 0) {
            return 0;
        }
        r->in_body = false;
    }
    return r->reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}

int
mmi_reader_next(mmi_reader *r, const uint8_t **buf, size_t *size, mmi_input *out)
{
    if (r->block_given) {
        reader_free_block(r);
    }
    if (r->skips) {
        return reader_next_command(r, buf, size, out);
    }
    while (r->reason == 0) {
        bool finished = false;
        int rc = 0;
        if (r->in_body) {
            rc = reader_body(r, buf, size, out, &finished);
        } else if (r->head_have == 0 && *size > 0) {
            rc = reader_whole(r, buf, size, out, &finished);
        }
        if (rc == 0 && !finished && !r->in_body) {
            rc = reader_head(r, buf, size);
            r->in_body = finished = rc == 1;
            rc = rc == 1 ? 0 : rc;
        }
        if (rc != 0) {
            return rc;
        }
        if (!finished) {
            return 0;
        }
    }
    return r->reason == MM_REASON_MEMORY ? MM_ENOMEM : MM_EPROTO;
}

size_t
mmi_reader_direct(mmi_reader *r, uint8_t **area)
{
    bool large = r->in_body && !r->skips && r->head.size > MMI_READER_DIRECT &&
                 (r->head.flags & MMI_FRAME_COMMAND) == 0;
    if (!large || r->reason != 0 || r->block.size >= r->head.size) {
        return 0;
    }
    if (mmi_block_grow(&r->block, 1, r->head.size) != MM_OK) {
        mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
        return 0;
    }
    *area = r->block.data + r->block.size;
    return (size_t)(r->block.cap - r->block.size);
}

void
mmi_reader_filled(mmi_reader *r, size_t size)
{
    r->block.size += size;
}

void
mmi_reader_invariants(const mmi_reader *r)
{
    MMI_ASSERT(r->head_have <= MMI_FRAME_HEAD_MAX);
    MMI_ASSERT(r->block.size <= r->block.cap);
    MMI_ASSERT(!r->in_body || r->block.size <= r->head.size);
    MMI_ASSERT(r->part_count <= r->part_cap && r->part_count <= r->limits.frames_max);
    MMI_ASSERT(r->parts_size <= r->limits.message_size_max);
}
