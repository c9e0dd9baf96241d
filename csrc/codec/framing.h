/*
 * framing.h: how whole messages look on one wire, so that a pipe can encode what is queued into
 * packs, and a link can tell where one message ends and the next begins.
 *
 * Pure.  Law: next() of what put() wrote is size(); it is only ever asked about our own octets.
 */
#ifndef MMI_FRAMING_H
#define MMI_FRAMING_H

#include "base/msg.h"

typedef struct mmi_framing {
    size_t (*size)(const mmi_msg *m);               /* octets on the wire                    */
    void (*put)(const mmi_msg *m, uint8_t *out);    /* writes them                           */
    size_t (*next)(const uint8_t *at, size_t *cost); /* of the message there: octets, and as
                                                        mmi_msg_cost                         */
} mmi_framing;

extern const mmi_framing mmi_framing_zmtp;

#endif
