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

bool
mmi_extend_get(const uint8_t *data, size_t size, mmi_numbers *out)
{
    *out = (mmi_numbers){ .count = (uint32_t)(size / MMI_NUMBER_SIZE), .at = data };
    return size % MMI_NUMBER_SIZE == 0 && size > 0 &&
           size <= (size_t)MMI_NUMBER_SIZE * MMI_NUMBERS_MAX;
}

bool
mmi_nack_get(const uint8_t *data, size_t size, mmi_numbers *out)
{
    if (size < MMI_NACK_DELAY_SIZE) {
        return false;
    }
    bool good = mmi_extend_get(data + MMI_NACK_DELAY_SIZE, size - MMI_NACK_DELAY_SIZE, out);
    uint32_t delay_ms = mmi_be32_get(data);
    out->delay_ms = delay_ms < MMI_NACK_DELAY_MAX_MS ? delay_ms : (uint32_t)MMI_NACK_DELAY_MAX_MS;
    return good;
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

bool
mmi_replay_get(const uint8_t *data, size_t size, mmi_replay *out)
{
    *out = (mmi_replay){ .kind = MMI_REPLAY_BEGIN };
    if (size == 0) {
        return true;
    }
    if (size < MMI_REPLAY_SIZE || (size - MMI_REPLAY_SIZE) % MMI_REPLAY_PLACE_SIZE != 0 ||
        (size - MMI_REPLAY_SIZE) / MMI_REPLAY_PLACE_SIZE > MMI_REPLAY_PLACES_MAX) {
        return false;
    }
    out->kind = (mmi_replay_kind)data[0];
    out->value = mmi_be64_get(data + 1);
    bool good = data[0] >= MMI_REPLAY_SEQ && data[0] <= MMI_REPLAY_EARLIEST &&
                out->value <= MMI_REPLAY_VALUE_MAX;
    for (const uint8_t *at = data + MMI_REPLAY_SIZE; good && at < data + size;
         at += MMI_REPLAY_PLACE_SIZE) {
        mmi_replay_place *place = &out->places[out->place_count++];
        memcpy(place->producer, at, sizeof place->producer);
        place->next = mmi_be64_get(at + sizeof place->producer);
        good = place->next > 0 && place->next <= MMI_REPLAY_VALUE_MAX;
    }
    return good;
}

bool
mmi_at_get(const uint8_t *data, size_t size, uint64_t *number)
{
    *number = size >= MMI_AT_SIZE ? mmi_be64_get(data) : 0;
    return *number > 0 && *number <= MMI_REPLAY_VALUE_MAX;
}

bool
mmi_lost_get(const uint8_t *data, size_t size, mmi_lost *out)
{
    if (size < MMI_LOST_SIZE || data[0] >= MMI_LOST_WHYS) {
        return false;
    }
    *out = (mmi_lost){ .why = (mmi_lost_why)data[0], .count = mmi_be64_get(data + 1) };
    return true;
}

size_t
mmi_replay_size(const mmi_replay *replay)
{
    return replay->kind == MMI_REPLAY_BEGIN
               ? 0
               : MMI_REPLAY_SIZE + (size_t)replay->place_count * MMI_REPLAY_PLACE_SIZE;
}

void
mmi_replay_put(uint8_t *out, const mmi_replay *replay)
{
    if (replay->kind == MMI_REPLAY_BEGIN) {
        return;
    }
    out[0] = (uint8_t)replay->kind;
    mmi_be64_put(out + 1, replay->value);
    out += MMI_REPLAY_SIZE;
    for (uint32_t i = 0; i < replay->place_count; i++, out += MMI_REPLAY_PLACE_SIZE) {
        const mmi_replay_place *place = &replay->places[i];
        memcpy(out, place->producer, sizeof place->producer);
        mmi_be64_put(out + sizeof place->producer, place->next);
    }
}

void
mmi_at_put(uint8_t out[MMI_AT_SIZE], uint64_t number)
{
    mmi_be64_put(out, number);
}

void
mmi_lost_put(uint8_t out[MMI_LOST_SIZE], const mmi_lost *lost)
{
    out[0] = (uint8_t)lost->why;
    mmi_be64_put(out + 1, lost->count);
}
