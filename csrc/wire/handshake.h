/*
 * wire/handshake.h: the handshake of a connection, whichever wire it turns out to be: the hello of ZMTP or
 * of SP, and before it, for who listens, the look at the peer's first octet.
 *
 * Who listens says nothing until then, so that a peer of either wire hears only its own; who dials
 * was told the wire and speaks at once.  Not here: timeouts, sockets.  Law: allocates nothing
 * before the first octet; consumes only its own bytes; after an error it stays in error.
 */
#ifndef MMI_OPENING_H
#define MMI_OPENING_H

#include "wire/zmtp/hello.h"
#include "wire/sp/hello.h"

typedef struct mmi_opening_config {
    mmi_hello_config zmtp;
    const mmi_sp_protocol *sp;       /* NULL: this role speaks no SP                          */
    int wire;                        /* MMI_WIRE_ of who dials; 0: the peer's first octet tells */
} mmi_opening_config;

typedef struct mmi_opening {
    int wire;                        /* MMI_WIRE_; 0: not known yet                           */
    int reason;                      /* mm_reason of the error                                */
    char detail[MM_DETAIL_MAX + 1];
    mmi_hello zmtp;                  /* of the one that wire says: peer, theirs ... once done */
    mmi_sp_hello sp;
    /* private */
    mmi_opening_config config;
    uint64_t heard;                  /* octets so far                                         */
    uint8_t first;                   /* of them                                               */
} mmi_opening;

/* MM_ENOMEM.  What config refers to must outlive o. */
int mmi_opening_init(mmi_opening *o, const mmi_opening_config *config) MMI_WARN_UNUSED;
void mmi_opening_fini(mmi_opening *o);
/* As those of hello.h. */
int mmi_opening_feed(mmi_opening *o, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
/* The peer ended it, or time did: how, and what that suggests, in detail. */
void mmi_opening_ended(mmi_opening *o, const char *how);
size_t mmi_opening_output(const mmi_opening *o, const uint8_t **out);
void mmi_opening_sent(mmi_opening *o, size_t size);

#endif
