/*
 * wire/delivery.h: what the commands of acknowledged messages say, as octets that no wire changes.
 *
 * COUNT   to a receiver, before the first message: those behind it are numbered from 1.
 *         epoch (8), producer (16)
 * AGAIN   to a receiver, in front of a message: where that was first, and how often it was handed to
 *         somebody.  epoch (8), number (8), attempt (4)
 * ACK     to the sender: all up to a number are acknowledged, and those of a bitmap behind it; and up
 *         to which number it may send.  flags (1), floor (8), limit (8), bitmap (to its end)
 * NACK    to the sender: these are not done, and for somebody else.  numbers (8 each, at least one)
 * Numbers are big-endian.  Bit i of octet j of the bitmap is the number floor + 1 + 8 * j + i.
 * Not here: the frames around them (wire/zmtp/command.c).
 * Law: pure.  What is read is checked for its size; what the numbers mean is for who counts.
 */
#ifndef MMI_DELIVERY_H
#define MMI_DELIVERY_H

#include "base/limits.h"
#include "base/msg.h"

enum {
    MMI_PRODUCER_SIZE = 16,      /* octets: random, of a socket                 */
    MMI_COUNT_SIZE = 24,
    MMI_AGAIN_SIZE = 20,
    MMI_ACK_SIZE = 17,           /* octets in front of the bitmap               */
    MMI_NACK_SIZE = 8,           /* octets a number                             */
    MMI_NACK_NUMBERS_MAX = 64,   /* in one                                      */
    MMI_ACK_BITMAP_MAX = MMI_UNACKED_MAX / 8,
    MMI_ACK_ENDS = 1             /* flag: it ends; what is not acknowledged was not tried by it */
};

typedef struct mmi_count {
    uint64_t epoch;
    uint8_t producer[MMI_PRODUCER_SIZE];
} mmi_count;

typedef struct mmi_ack {
    bool ends;
    uint64_t floor, limit;
    const uint8_t *bits;         /* bits_size octets, of who gave them */
    size_t bits_size;
} mmi_ack;

/* Each false: malformed. */
bool mmi_count_get(const uint8_t *data, size_t size, mmi_count *out);
bool mmi_again_get(const uint8_t *data, size_t size, mmi_origin *out);
bool mmi_ack_get(const uint8_t *data, size_t size, mmi_ack *out);
void mmi_count_put(uint8_t out[MMI_COUNT_SIZE], const mmi_count *count);
void mmi_again_put(uint8_t out[MMI_AGAIN_SIZE], const mmi_origin *origin);
void mmi_ack_put(uint8_t out[MMI_ACK_SIZE], const mmi_ack *ack);   /* but for the bitmap */

#endif
