/*
 * wire/sp/hello.h: the 8 octets with which each side of an SP connection says what it is, as a state
 * machine over bytes, of the shape of hello.h.  nanomsg's sp-tcp-mapping and NNG's transports.
 *
 * A dialer says its own at once.  A listener that answers says it when the peer's is whole, so that
 * nothing goes to a peer whose wire is not known yet, and a PAIR takes the version of its peer.
 * Not here: timeouts, sockets.  Law: allocates nothing, consumes only its own bytes, and is refused
 * at the first octet that cannot be right; after an error it stays in error.
 */
#ifndef MMI_SP_HELLO_H
#define MMI_SP_HELLO_H

#include "wire/refuse.h"
#include "wire/sp/sp.h"

enum { MMI_SP_HELLO_SIZE = 8 };      /* octets, 00 'S' 'P' 00 protocol(2) 00 00 */

typedef struct mmi_sp_hello {
    int reason;                      /* mm_reason of the error, or 0                        */
    char detail[MM_DETAIL_MAX + 1];
    const mmi_sp_protocol *ours;     /* once done: as agreed (PAIR)                         */
    const mmi_sp_protocol *theirs;   /* valid once done                                     */
    const mmi_sp_protocol *instead;  /* refused: the version of PAIR it would have talked to */
    /* private */
    uint8_t in[MMI_SP_HELLO_SIZE], out[MMI_SP_HELLO_SIZE];
    uint8_t in_size, out_size, out_sent;
    bool answer;
} mmi_sp_hello;

void mmi_sp_hello_init(mmi_sp_hello *h, const mmi_sp_protocol *ours, bool answer);
/* Feeds bytes.  1: done, *used says how many were ours; 0: need more (all used); MM_EPROTO: see
 * reason.  A peer of a protocol that does not fit is still told ours. */
int mmi_sp_hello_feed(mmi_sp_hello *h, const uint8_t *buf, size_t size,
                      size_t *used) MMI_WARN_UNUSED;
/* What is to be written now: size, 0 when nothing. */
size_t mmi_sp_hello_output(const mmi_sp_hello *h, const uint8_t **out);
void mmi_sp_hello_sent(mmi_sp_hello *h, size_t size);

#endif
