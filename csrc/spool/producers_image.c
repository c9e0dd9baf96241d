/*
 * spool/producers_image.c: a table of producers as octets, for a file.
 *
 * Not here: the file (spool/producers_file.c).  Law: pure; nothing is believed before its CRC is
 * right, and then only what can be.
 */
#include <string.h>

#include "base/octets.h"
#include "spool/crc32c.h"
#include "spool/producers.h"

enum {
    PRODUCERS_VERSION = 1,
    IMAGE_CRC = 8,
    IMAGE_VERSION = 12,
    IMAGE_UUID = 16,
    IMAGE_SEQ = 32,
    IMAGE_COUNT = 40,
    EACH_NUMBER = 16,
    EACH_SEQ = 24,
    EACH_RUN = 32
};
static const uint8_t image_magic[8] = { 'M', 'M', 'P', 'R', 'O', 'D', 'U', 'C' };

uint8_t *
mmi_producers_image(const mmi_producers *p, const uint8_t uuid[MMI_SPOOL_UUID], uint64_t seq,
                    size_t *size)
{
    *size = MMI_PRODUCERS_HEAD + (size_t)p->count * MMI_PRODUCERS_EACH;
    uint8_t *image = mmi_alloc(*size);
    if (image == NULL) {
        return NULL;
    }
    memset(image, 0, *size);
    memcpy(image, image_magic, sizeof image_magic);
    mmi_le32_put(image + IMAGE_VERSION, PRODUCERS_VERSION);
    memcpy(image + IMAGE_UUID, uuid, MMI_SPOOL_UUID);
    mmi_le64_put(image + IMAGE_SEQ, seq);
    mmi_le32_put(image + IMAGE_COUNT, p->count);
    uint8_t *at = image + MMI_PRODUCERS_HEAD;
    for (uint32_t n = 0, i = p->oldest; n < p->count; n++, i = p->all[i].newer) {
        const mmi_producer *one = &p->all[i];
        memcpy(at, one->name, MMI_SPOOL_UUID);
        mmi_le64_put(at + EACH_NUMBER, one->number);
        mmi_le64_put(at + EACH_SEQ, one->seq);
        mmi_le32_put(at + EACH_RUN, one->run);
        at += MMI_PRODUCERS_EACH;
    }
    return image;
}

static uint32_t
image_crc(const uint8_t *image, size_t size)
{
    return mmi_crc32c(0, image + IMAGE_VERSION, size - IMAGE_VERSION);
}

void
mmi_producers_seal(uint8_t *image, size_t size)
{
    mmi_le32_put(image + IMAGE_CRC, image_crc(image, size));
}

/* One of them, behind the number of the one before. */
static int
image_take(mmi_producers *p, const uint8_t *at, uint64_t last, uint64_t *before)
{
    uint64_t number = mmi_le64_get(at + EACH_NUMBER), seq = mmi_le64_get(at + EACH_SEQ);
    uint32_t run = mmi_le32_get(at + EACH_RUN);
    bool good = seq > *before && seq <= last && run > 0 && run <= seq && run - 1 <= number &&
                mmi_producers_find(p, at) == NULL;
    if (!good) {
        return MM_EPROTO;
    }
    int rc = mmi_producers_reserve(p);
    if (rc == MM_OK) {
        mmi_producers_note(p, at, number, seq);
        p->all[p->newest].run = run;
        *before = seq;
    }
    return rc;
}

int
mmi_producers_read(mmi_producers *p, const uint8_t *image, size_t size,
                   const uint8_t uuid[MMI_SPOOL_UUID], uint64_t *seq)
{
    if (size < MMI_PRODUCERS_HEAD || memcmp(image, image_magic, sizeof image_magic) != 0 ||
        mmi_le32_get(image + IMAGE_CRC) != image_crc(image, size)) {
        return MM_EPROTO;
    }
    if (mmi_le32_get(image + IMAGE_VERSION) != PRODUCERS_VERSION) {
        return MM_ENOTSUP;
    }
    uint32_t count = mmi_le32_get(image + IMAGE_COUNT);
    if (memcmp(image + IMAGE_UUID, uuid, MMI_SPOOL_UUID) != 0 ||
        size != MMI_PRODUCERS_HEAD + (size_t)count * MMI_PRODUCERS_EACH) {
        return MM_EPROTO;
    }
    uint64_t before = 0;
    int rc = MM_OK;
    *seq = mmi_le64_get(image + IMAGE_SEQ);
    for (uint32_t i = 0; i < count && rc == MM_OK; i++) {
        rc = image_take(p, image + MMI_PRODUCERS_HEAD + (size_t)i * MMI_PRODUCERS_EACH, *seq,
                        &before);
    }
    return rc;
}
