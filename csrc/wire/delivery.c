/*
 * wire/delivery.c: see wire/delivery.h.
 * Not here: which numbers may be (queue/unacked.c, queue/acks.c).
 */
#include "wire/delivery.h"

#include <string.h>

#include "base/octets.h"

enum { DELIVERY_NUMBER_SIZE = 8 };

bool
mmi_count_get(const uint8_t *data, size_t size, mmi_count *out)
{
    if (size < MMI_COUNT_SIZE) {
        return false;
    }
    out->epoch = mmi_be64_get(data);
    memcpy(out->producer, data + DELIVERY_NUMBER_SIZE, sizeof out->producer);
    return true;
}

bool
mmi_again_get(const uint8_t *data, size_t size, mmi_origin *out)
{
    if (size < MMI_AGAIN_SIZE) {
        return false;
    }
    *out = (mmi_origin){ .epoch = mmi_be64_get(data),
                         .number = mmi_be64_get(data + DELIVERY_NUMBER_SIZE),
                         .attempt = mmi_be32_get(data + DELIVERY_NUMBER_SIZE * 2) };
    return out->attempt > 0 && out->number > 0;
}

bool
mmi_ack_get(const uint8_t *data, size_t size, mmi_ack *out)
{
    if (size < MMI_ACK_SIZE || size - MMI_ACK_SIZE > (size_t)MMI_ACK_BITMAP_MAX) {
        return false;
    }
    *out = (mmi_ack){ .ends = (data[0] & MMI_ACK_ENDS) != 0,
                      .floor = mmi_be64_get(data + 1),
                      .limit = mmi_be64_get(data + 1 + DELIVERY_NUMBER_SIZE),
                      .bits = data + MMI_ACK_SIZE,
                      .bits_size = size - MMI_ACK_SIZE };
    return true;
}

void
mmi_count_put(uint8_t out[MMI_COUNT_SIZE], const mmi_count *count)
{
    mmi_be64_put(out, count->epoch);
    memcpy(out + DELIVERY_NUMBER_SIZE, count->producer, sizeof count->producer);
}

void
mmi_again_put(uint8_t out[MMI_AGAIN_SIZE], const mmi_origin *origin)
{
    mmi_be64_put(out, origin->epoch);
    mmi_be64_put(out + DELIVERY_NUMBER_SIZE, origin->number);
    mmi_be32_put(out + DELIVERY_NUMBER_SIZE * 2, origin->attempt);
}

void
mmi_ack_put(uint8_t out[MMI_ACK_SIZE], const mmi_ack *ack)
{
    out[0] = ack->ends ? MMI_ACK_ENDS : 0;
    mmi_be64_put(out + 1, ack->floor);
    mmi_be64_put(out + 1 + DELIVERY_NUMBER_SIZE, ack->limit);
}
