/*
 * framing.h: how whole messages look on one wire, so that a pipe can encode what is queued into
 * packs, and a link can tell where one message ends and the next begins.
 *
 * Pure.  Law: next() and open() of what put() wrote give back size() and the message; they are only
 * ever asked about our own octets.  A framing is constant and static: packs refer to theirs.
 */
#ifndef MMI_FRAMING_H
#define MMI_FRAMING_H

#include "base/msg.h"
#include "wire/sp/sp.h"

enum { MMI_FRAMING_HEAD_MAX = 13 };   /* octets in front of a message, or of each of its frames */

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
    /* What goes in front of all frames; returns its size.  NULL: each frame has a head of its own,
     * as mmi_msg_seal leaves it there. */
    size_t (*head)(const mmi_framing *f, const mmi_msg *m, uint8_t out[MMI_FRAMING_HEAD_MAX]);
    /* SP */
    uint8_t mapping, form, bodies_max;
};

extern const mmi_framing mmi_framing_zmtp;
/* Of what a protocol sends over a mapping (mmi_sp_mapping). */
const mmi_framing *mmi_framing_sp(int mapping, const mmi_sp_protocol *ours);

#endif
