/*
 * frame.h: one ZMTP 3.x frame: head octets <-> flags and size.  Pure: no state, no allocation.
 * Law: > 0 bytes consumed, 0 = need more, < 0 a mm_err (picohttpparser's contract).
 */
#ifndef MMI_FRAME_H
#define MMI_FRAME_H

#include "wire/framing.h"

enum { MMI_FRAME_MORE = 1, MMI_FRAME_LONG = 2, MMI_FRAME_COMMAND = 4 };

typedef struct mmi_frame_head {
    uint8_t flags;
    uint64_t size;    /* of the body; at most 2^63 - 1 */
} mmi_frame_head;

/* Parses the head only (2 or 9 octets).  MM_EPROTO: reserved bits, MORE on a command, or size over
 * 2^63-1. */
int mmi_frame_head_parse(const uint8_t *buf, size_t len, mmi_frame_head *out) MMI_WARN_UNUSED;
/* Writes a head; returns its size (2 or 9).  LONG is chosen here, for a size over 255. */
size_t mmi_frame_head_put(uint8_t out[MMI_FRAME_HEAD_MAX], uint8_t flags, uint64_t size);
/* Encodes the head of the i-th frame of a message, if it is not yet: the last without MORE. */
void mmi_msg_seal(mmi_msg *m, uint32_t i);

extern const mmi_framing mmi_framing_zmtp;           /* framing.c */
extern const mmi_framing mmi_framing_zmtp_counted;   /* counted.c */

#endif
