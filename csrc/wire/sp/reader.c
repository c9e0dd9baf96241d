/*
 * wire/sp/reader.c: lengths and bodies of an SP connection -> messages.  See wire/sp/reader.h.
 *
 * The common case, a whole message in the fed bytes, is parsed where it lies and copied once, into
 * the message.  Not here: what the header words mean (wire/sp/body.c).  Law: as in
 * wire/sp/reader.h.
 */
#include "wire/sp/reader.h"

#include <string.h>

void
mmi_sp_reader_init(mmi_sp_reader *r, const mmi_sp_reader_limits *limits)
{
    memset(r, 0, sizeof *r);
    r->limits = *limits;
}

void
mmi_sp_reader_fini(mmi_sp_reader *r)
{
    mmi_block_fini(&r->block);
}

bool
mmi_sp_reader_idle(const mmi_sp_reader *r)
{
    return r->head_have == 0 && !r->in_body;
}

/* The length of the next message, whose head lies at buf.  As mmi_sp_length_parse, but checked. */
static int
sp_reader_length(mmi_sp_reader *r, const uint8_t *buf, size_t len, uint64_t *whole)
{
    int n = mmi_sp_length_parse(r->limits.mapping, buf, len, whole);
    if (n < 0) {
        return mmi_refuse(r, MM_REASON_FRAME_FLAGS, "an SP message of kind %02x, not 01", buf[0]);
    }
    if (n > 0 && *whole > r->limits.message_size_max) {
        return mmi_refuse(r, MM_REASON_MESSAGE_SIZE, "a message of %llu bytes, the limit is %llu",
                          (unsigned long long)*whole,
                          (unsigned long long)r->limits.message_size_max);
    }
    return n;
}

/* How much of a whole message is header; 1: *header says; 0: it is to be skipped. */
static int
sp_reader_header(mmi_sp_reader *r, const uint8_t *data, size_t size, size_t *header)
{
    int n = mmi_sp_header_parse(r->limits.form, r->limits.hops_max, data, size);
    if (n == MM_EMSGSIZE) {
        r->skipped++;
        return 0;
    }
    if (n < 0) {
        return mmi_refuse(r, MM_REASON_SP_HEADER, "a malformed header in a message of %zu byte%s",
                          size, mmi_plural(size));
    }
    *header = (size_t)n;
    return 1;
}

static int
sp_reader_give(mmi_sp_reader *r, mmi_msg *m, mmi_input *out)
{
    if (m == NULL) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    out->msg = m;
    return 1;
}

/* The block is complete: a message takes it over. 1; 0: it was skipped; or an error. */
static int
sp_reader_finish(mmi_sp_reader *r, mmi_input *out)
{
    size_t header = 0, size = (size_t)r->whole;
    r->in_body = false;
    if (size == 0) {
        int empty = sp_reader_header(r, r->head_buf, 0, &header);
        return empty <= 0 ? empty
                          : sp_reader_give(r, mmi_sp_open(r->limits.form, 0, r->head_buf, 0), out);
    }
    int rc = sp_reader_header(r, r->block.data, size, &header);
    if (rc > 0) {
        mmi_msg *m = mmi_sp_open_block(r->limits.form, header, r->block.data, size);
        if (m != NULL) {
            r->block.data = NULL;
        }
        rc = sp_reader_give(r, m, out);
    }
    mmi_block_fini(&r->block);
    return rc;
}

/* A message that lies whole in the fed bytes.  *whole: it does. 1; 0: not whole, or skipped. */
static int
sp_reader_whole(mmi_sp_reader *r, const uint8_t **buf, size_t *size, mmi_input *out, bool *whole)
{
    uint64_t length;
    *whole = false;
    int n = sp_reader_length(r, *buf, *size, &length);
    if (n <= 0 || length > *size - (size_t)n) {
        return n < 0 ? n : 0;
    }
    const uint8_t *data = *buf + n;
    size_t header = 0;
    *whole = true;
    *buf = data + length;
    *size -= (size_t)n + (size_t)length;
    int rc = sp_reader_header(r, data, (size_t)length, &header);
    if (rc <= 0) {
        return rc;
    }
    return sp_reader_give(r, mmi_sp_open(r->limits.form, header, data, (size_t)length), out);
}

/* Completes a length that was cut. 1: r->whole is valid; 0: need more. */
static int
sp_reader_head(mmi_sp_reader *r, const uint8_t **buf, size_t *size)
{
    while (*size > 0) {
        r->head_buf[r->head_have++] = *(*buf)++;
        (*size)--;
        int rc = sp_reader_length(r, r->head_buf, r->head_have, &r->whole);
        if (rc != 0) {
            r->head_have = 0;
            return rc < 0 ? rc : 1;
        }
    }
    return 0;
}

/* Takes what there is of an unfinished message. *finished: all of it; then as sp_reader_finish. */
static int
sp_reader_body(mmi_sp_reader *r, const uint8_t **buf, size_t *size, mmi_input *out, bool *finished)
{
    *finished = false;
    if (mmi_block_take(&r->block, r->whole, buf, size) != MM_OK) {
        return mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
    }
    if (r->block.size < r->whole) {
        return 0;
    }
    *finished = true;
    return sp_reader_finish(r, out);
}

int
mmi_sp_reader_next(mmi_sp_reader *r, const uint8_t **buf, size_t *size, mmi_input *out)
{
    while (r->reason == 0) {
        bool finished = false;
        int rc = 0;
        if (r->in_body) {
            rc = sp_reader_body(r, buf, size, out, &finished);
        } else if (r->head_have == 0 && *size > 0) {
            rc = sp_reader_whole(r, buf, size, out, &finished);
        }
        if (rc == 0 && !finished && !r->in_body) {
            rc = sp_reader_head(r, buf, size);
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
mmi_sp_reader_direct(mmi_sp_reader *r, uint8_t **area)
{
    bool large = r->in_body && r->whole > MMI_READER_DIRECT;
    if (!large || r->reason != 0 || r->block.size >= r->whole) {
        return 0;
    }
    if (mmi_block_grow(&r->block, 1, r->whole) != MM_OK) {
        mmi_refuse(r, MM_REASON_MEMORY, "out of memory");
        return 0;
    }
    *area = r->block.data + r->block.size;
    return (size_t)(r->block.cap - r->block.size);
}

void
mmi_sp_reader_filled(mmi_sp_reader *r, size_t size)
{
    r->block.size += size;
}

void
mmi_sp_reader_invariants(const mmi_sp_reader *r)
{
    MMI_ASSERT(r->head_have < mmi_sp_length_size(r->limits.mapping));
    MMI_ASSERT(r->block.size <= r->block.cap);
    MMI_ASSERT(r->in_body || r->block.data == NULL);
    MMI_ASSERT(!r->in_body || r->block.cap <= r->whole || r->whole == 0);
    MMI_ASSERT(!r->in_body || r->whole <= r->limits.message_size_max);
}
