/*
 * wire/delivery.h: what the commands of acknowledged and of replayed messages say, as octets that no wire changes.
 *
 * COUNT   to a receiver, before the first message: those behind it are numbered from 1.
 *         epoch (8), producer (16)
 * AGAIN   to a receiver, in front of a message: where that was first, and how often it was handed to
 *         somebody.  epoch (8), number (8), attempt (4)
 * ACK     to the sender: all up to a number are acknowledged, and those of a bitmap behind it; and up
 *         to which number it may send.  flags (1), floor (8), limit (8), bitmap (to its end)
 * NACK    to the sender: these are not done, and for somebody else, once so many milliseconds are over.
 *         delay (4), numbers (8 each, at least one)
 * EXTEND  to the sender: these are still worked on, so their time begins anew (ack_timeout).
 *         numbers (8 each, at least one)
 * REPLAY  to a publisher, before the first SUBSCRIBE: from where on messages are wanted; and of publishers that were
 *         heard before, the number that is next.  kind (1), value (8), and for each of them: producer (16), number (8)
 *         Then, behind the SUBSCRIBEs of all that is wanted, without data: it may begin.
 * AT      to a subscriber, behind COUNT, in front of a message: that has this number; those behind it count on.
 *         number (8)
 * LOST    to a subscriber: so many of those that it asked for are gone, or more than it says it takes.  why (1),
 *         count (8)
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
    MMI_NACK_DELAY_SIZE = 4,     /* octets in front of the numbers              */
    MMI_NACK_DELAY_MAX_MS = 2000000000,   /* a longer delay is this one         */
    MMI_NUMBER_SIZE = 8,         /* octets a number                             */
    MMI_NUMBERS_MAX = 64,        /* in one NACK or EXTEND                       */
    MMI_ACK_BITMAP_MAX = MMI_UNACKED_MAX / 8,
    MMI_ACK_ENDS = 1,            /* flag: it ends; what is not acknowledged was not tried by it */
    MMI_REPLAY_SIZE = 9,         /* octets in front of the publishers           */
    MMI_REPLAY_PLACE_SIZE = MMI_PRODUCER_SIZE + 8,
    MMI_REPLAY_PLACES_MAX = 16,  /* publishers in one REPLAY                    */
    MMI_AT_SIZE = 8,
    MMI_LOST_SIZE = 9,
    MMI_NUMBERED_MAX = 48        /* octets of a COUNT and an AT, with what is around them */
};

/* From where on, by kind; value: a number; how many of the last; milliseconds ago; nothing. */
typedef enum mmi_replay_kind {
    MMI_REPLAY_BEGIN, MMI_REPLAY_SEQ, MMI_REPLAY_LAST, MMI_REPLAY_SINCE, MMI_REPLAY_EARLIEST
} mmi_replay_kind;

static const uint64_t MMI_REPLAY_VALUE_MAX = INT64_MAX;   /* also of a number */

/* What was heard of a publisher: the number that is next. */
typedef struct mmi_replay_place {
    uint8_t producer[MMI_PRODUCER_SIZE];
    uint64_t next;
} mmi_replay_place;

typedef struct mmi_replay {
    mmi_replay_kind kind;
    uint64_t value;
    uint32_t place_count;
    mmi_replay_place places[MMI_REPLAY_PLACES_MAX];
} mmi_replay;

typedef enum mmi_lost_why {
    MMI_LOST_REMOVED,
    MMI_LOST_HARMED,
    MMI_LOST_TOO_LARGE,   /* more than the subscriber says it takes: so it knows this why */
    MMI_LOST_WHYS
} mmi_lost_why;

typedef struct mmi_lost {
    mmi_lost_why why;
    uint64_t count;
} mmi_lost;

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

/* What NACK and EXTEND say: messages, by their numbers. */
typedef struct mmi_numbers {
    uint32_t delay_ms;           /* of NACK; else 0 */
    uint32_t count;
    const uint8_t *at;           /* MMI_NUMBER_SIZE octets each, of who gave them */
} mmi_numbers;

/* Each false: malformed. */
bool mmi_count_get(const uint8_t *data, size_t size, mmi_count *out);
bool mmi_again_get(const uint8_t *data, size_t size, mmi_origin *out);
bool mmi_ack_get(const uint8_t *data, size_t size, mmi_ack *out);
bool mmi_nack_get(const uint8_t *data, size_t size, mmi_numbers *out);
bool mmi_extend_get(const uint8_t *data, size_t size, mmi_numbers *out);
/* No octets: that it may begin, of kind MMI_REPLAY_BEGIN. */
bool mmi_replay_get(const uint8_t *data, size_t size, mmi_replay *out);
bool mmi_at_get(const uint8_t *data, size_t size, uint64_t *number);
bool mmi_lost_get(const uint8_t *data, size_t size, mmi_lost *out);
void mmi_count_put(uint8_t out[MMI_COUNT_SIZE], const mmi_count *count);
void mmi_again_put(uint8_t out[MMI_AGAIN_SIZE], const mmi_origin *origin);
void mmi_ack_put(uint8_t out[MMI_ACK_SIZE], const mmi_ack *ack);   /* but for the bitmap */
size_t mmi_replay_size(const mmi_replay *replay);
void mmi_replay_put(uint8_t *out, const mmi_replay *replay);       /* mmi_replay_size octets */
void mmi_at_put(uint8_t out[MMI_AT_SIZE], uint64_t number);
void mmi_lost_put(uint8_t out[MMI_LOST_SIZE], const mmi_lost *lost);

#endif
