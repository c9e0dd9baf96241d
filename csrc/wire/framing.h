/*
 * framing.h: how whole messages look on one wire, so that a pipe can encode what is queued into
 * segments, and a link can tell where one message ends and the next begins.
 *
 * Pure.  Law: next() and open() of what put() wrote give back size() and the message; they are only
 * ever asked about our own octets.  A framing is constant and static: segments refer to theirs.
 */
#ifndef MMI_FRAMING_H
#define MMI_FRAMING_H

#include "base/msg.h"

enum { MMI_FRAMING_HEAD_MAX = 40 };   /* octets in front of a message, or of each of its frames */

typedef struct mmi_framing mmi_framing;
struct mmi_framing {
    /* Octets on the wire; cost: as mmi_msg_cost of what the peer takes it for. */
    size_t (*size)(const mmi_framing *f, const mmi_msg *m, size_t *cost);
    void (*put)(const mmi_framing *f, const mmi_msg *m, uint8_t *out);      /* writes them */
    /* The short way for a message of one frame: writes it, if it fits into room, and returns its
     * octets; else 0.  NULL: there is none. */
    size_t (*put_body)(const uint8_t *body, size_t size, uint8_t *out, size_t room);
    /* Of the message there: octets, and its cost. */
    size_t (*next)(const mmi_framing *f, const uint8_t *at, size_t *cost);
    /* The message there, copied, as if it had been received.  NULL: no memory. */
    mmi_msg *(*open)(const mmi_framing *f, const uint8_t *at);
    /* Has this wire words for it?  MM_OK, MM_ENOTSUP, MM_EINVAL.  NULL: for every message. */
    int (*check)(const mmi_framing *f, const mmi_msg *m);
    /* What goes in front of the i-th frame: in out, or in m, which keeps it as long as it lives.
     * *size: its octets, maybe 0. */
    const uint8_t *(*head)(const mmi_framing *f, mmi_msg *m, uint32_t i,
                           uint8_t out[MMI_FRAMING_HEAD_MAX], size_t *size);
    /* SP, private */
    uint8_t mapping, form, bodies_max;
};

#endif
