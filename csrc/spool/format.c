/*
 * format.c: the heads of files and of batches, and the body of a gap.
 *
 * Not here: records (format_record.c), which of them a batch has (format_sparse.c).
 */
#include "spool/format.h"

#include <string.h>

#include "base/octets.h"
#include "spool/crc32c.h"

enum {
    HEAD_VERSION = 8,
    HEAD_ZERO = 12,
    HEAD_UUID = 16,
    HEAD_BASE_SEQ = 32,
    HEAD_SALT = 40,
    HEAD_MADE = 48,
    HEAD_EPOCH = 56,
    HEAD_CRC = 60,
    HEAD_ZEROS = 64
};
enum {
    BATCH_HEAD_CRC = 4,
    BATCH_BODY_SIZE = 8,
    BATCH_BODY_CRC = 12,
    BATCH_FIRST_SEQ = 16,
    BATCH_EPOCH = 24,
    BATCH_COUNT = 28,
    BATCH_TYPE = 30,
    BATCH_ZERO = 31,
    BATCH_TIME = 32,
    BATCH_DURABLE_SEQ = 40,
    BATCH_CHAIN = 48,
    BATCH_ZEROS = 52
};
enum { GAP_WHY = 8 };

static const uint8_t head_magic[8] = "MMSPOOL1", batch_magic[4] = "MMB1";

static bool
format_all_zero(const uint8_t *at, size_t size)
{
    return size == 0 || (at[0] == 0 && memcmp(at, at + 1, size - 1) == 0);
}

void
mmi_spool_head_put(uint8_t out[MMI_SPOOL_FILE_HEAD], mmi_spool_head *head)
{
    MMI_ASSERT(head->base_seq > 0);
    memset(out, 0, MMI_SPOOL_FILE_HEAD);
    memcpy(out, head_magic, sizeof head_magic);
    head->version = head->version > 0 ? head->version : (uint32_t)MMI_SPOOL_VERSION;
    mmi_le32_put(out + HEAD_VERSION, head->version);
    memcpy(out + HEAD_UUID, head->uuid, MMI_SPOOL_UUID);
    mmi_le64_put(out + HEAD_BASE_SEQ, head->base_seq);
    mmi_le64_put(out + HEAD_SALT, head->salt);
    mmi_le64_put(out + HEAD_MADE, head->made_us);
    mmi_le32_put(out + HEAD_EPOCH, head->epoch);
    head->crc = mmi_crc32c(0, out, HEAD_CRC);
    mmi_le32_put(out + HEAD_CRC, head->crc);
}

int
mmi_spool_head_get(const uint8_t data[MMI_SPOOL_FILE_HEAD], mmi_spool_head *out)
{
    const mmi_spool_head head = {
        .base_seq = mmi_le64_get(data + HEAD_BASE_SEQ),
        .salt = mmi_le64_get(data + HEAD_SALT),
        .made_us = mmi_le64_get(data + HEAD_MADE),
        .epoch = mmi_le32_get(data + HEAD_EPOCH),
        .version = mmi_le32_get(data + HEAD_VERSION),
        .crc = mmi_le32_get(data + HEAD_CRC),
    };
    if (memcmp(data, head_magic, sizeof head_magic) != 0 ||
        mmi_crc32c(0, data, HEAD_CRC) != head.crc || head.version < MMI_SPOOL_VERSION) {
        return MM_EPROTO;
    }
    if (head.version > MMI_SPOOL_AGAIN) {
        return MM_ENOTSUP;
    }
    if (head.base_seq == 0 || mmi_le32_get(data + HEAD_ZERO) != 0 ||
        !format_all_zero(data + HEAD_ZEROS, MMI_SPOOL_FILE_HEAD - HEAD_ZEROS)) {
        return MM_EPROTO;
    }
    *out = head;
    memcpy(out->uuid, data + HEAD_UUID, MMI_SPOOL_UUID);
    return MM_OK;
}

/* With another salt it is another CRC: what an older file left in the same room is not believed. */
static uint32_t
format_crc(uint64_t salt, const uint8_t *data, size_t size)
{
    uint8_t octets[8];
    mmi_le64_put(octets, salt);
    return mmi_crc32c(mmi_crc32c(0, octets, sizeof octets), data, size);
}

static uint32_t
batch_crc(uint64_t salt, const uint8_t *head)
{
    return format_crc(salt, head + BATCH_BODY_SIZE, MMI_SPOOL_BATCH_HEAD - BATCH_BODY_SIZE);
}

/* Whether what it says goes together. */
static bool
batch_can_be(const mmi_spool_batch *b)
{
    if (b->body_size > MMI_SPOOL_BODY_MAX || b->first_seq == 0 ||
        b->first_seq > UINT64_MAX - b->count) {
        return false;
    }
    switch (b->type) {
    case MMI_SPOOL_DATA: return b->count > 0;
    case MMI_SPOOL_GAP: return b->count == 0 && b->body_size == MMI_SPOOL_GAP_BODY;
    case MMI_SPOOL_CLOSE: return b->count == 0 && b->body_size == 0;
    case MMI_SPOOL_SPARSE: return b->body_size >= MMI_SPOOL_SPARSE_BODY;
    default: return false;
    }
}

void
mmi_spool_batch_put(uint8_t out[MMI_SPOOL_BATCH_HEAD], mmi_spool_batch *batch, uint64_t salt,
                    const uint8_t *body, uint32_t body_size)
{
    batch->body_size = body_size;
    batch->body_crc = format_crc(salt, body, body_size);
    MMI_ASSERT(batch_can_be(batch));
    memset(out, 0, MMI_SPOOL_BATCH_HEAD);
    memcpy(out, batch_magic, sizeof batch_magic);
    mmi_le32_put(out + BATCH_BODY_SIZE, batch->body_size);
    mmi_le32_put(out + BATCH_BODY_CRC, batch->body_crc);
    mmi_le64_put(out + BATCH_FIRST_SEQ, batch->first_seq);
    mmi_le32_put(out + BATCH_EPOCH, batch->epoch);
    mmi_le16_put(out + BATCH_COUNT, batch->count);
    out[BATCH_TYPE] = batch->type;
    mmi_le64_put(out + BATCH_TIME, batch->time_us);
    mmi_le64_put(out + BATCH_DURABLE_SEQ, batch->durable_seq);
    mmi_le32_put(out + BATCH_CHAIN, batch->chain);
    batch->head_crc = batch_crc(salt, out);
    mmi_le32_put(out + BATCH_HEAD_CRC, batch->head_crc);
}

int
mmi_spool_batch_get(const uint8_t data[MMI_SPOOL_BATCH_HEAD], uint64_t salt, mmi_spool_batch *out)
{
    const mmi_spool_batch batch = {
        .head_crc = mmi_le32_get(data + BATCH_HEAD_CRC),
        .body_size = mmi_le32_get(data + BATCH_BODY_SIZE),
        .body_crc = mmi_le32_get(data + BATCH_BODY_CRC),
        .first_seq = mmi_le64_get(data + BATCH_FIRST_SEQ),
        .epoch = mmi_le32_get(data + BATCH_EPOCH),
        .count = mmi_le16_get(data + BATCH_COUNT),
        .type = data[BATCH_TYPE],
        .time_us = mmi_le64_get(data + BATCH_TIME),
        .durable_seq = mmi_le64_get(data + BATCH_DURABLE_SEQ),
        .chain = mmi_le32_get(data + BATCH_CHAIN),
    };
    if (!mmi_spool_batch_begins(data) || batch_crc(salt, data) != batch.head_crc ||
        data[BATCH_ZERO] != 0 || mmi_le32_get(data + BATCH_ZEROS) != 0 || !batch_can_be(&batch)) {
        return MM_EPROTO;
    }
    *out = batch;
    return MM_OK;
}

bool
mmi_spool_batch_begins(const uint8_t *data)
{
    return memcmp(data, batch_magic, sizeof batch_magic) == 0;
}

void
mmi_spool_batch_guess(const uint8_t data[MMI_SPOOL_BATCH_HEAD], uint64_t *first_seq,
                      uint64_t *behind)
{
    *first_seq = mmi_le64_get(data + BATCH_FIRST_SEQ);
    *behind = *first_seq + mmi_le16_get(data + BATCH_COUNT);
}

bool
mmi_spool_body_check(const mmi_spool_batch *batch, uint64_t salt, const uint8_t *body)
{
    return format_crc(salt, body, batch->body_size) == batch->body_crc;
}

void
mmi_spool_gap_put(uint8_t out[MMI_SPOOL_GAP_BODY], const mmi_spool_gap *gap)
{
    mmi_le64_put(out, gap->last_seq);
    mmi_le32_put(out + GAP_WHY, gap->why);
}

int
mmi_spool_gap_get(const uint8_t *body, size_t size, mmi_spool_gap *out)
{
    if (size != MMI_SPOOL_GAP_BODY) {
        return MM_EPROTO;
    }
    *out = (mmi_spool_gap){
        .last_seq = mmi_le64_get(body),
        .why = mmi_le32_get(body + GAP_WHY),
    };
    return MM_OK;
}
