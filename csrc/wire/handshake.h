/*
 * wire/handshake.h: the handshake of a connection, whichever wire it turns out to be: its hello, and
 * before it, for who listens, the look at the peer's first octet.
 *
 * Who listens says nothing until then, so that a peer of either wire hears only its own; who dials
 * was told the wire and speaks at once.  Not here: timeouts, sockets.  Law: allocates nothing
 * before the first octet; consumes only its own bytes; after an error it stays in error.
 */
#ifndef MMI_OPENING_H
#define MMI_OPENING_H

#include "wire/sp/hello.h"
#include "wire/wire.h"
#include "wire/zmtp/hello.h"

typedef struct mmi_opening_config {
    int role;                        /* mm_role, ours                                         */
    const uint8_t *identity;         /* told where the wire and the role have one             */
    size_t identity_size;
    const char *features;            /* mmi_wire_features, or NULL: not told                  */
    const char *refusal;             /* what any peer is told instead of a welcome, or NULL   */
    const mmi_wire *wire;            /* of who dials; NULL: the peer's first octet tells      */
    uint32_t as;                     /* what to dial as, as instead of an opening before said; 0:
                                        as the role */
    const mmi_mechanism *mechanism;  /* that is to protect it; NULL: none                     */
    const void *mechanism_config;
    bool marks;                      /* the transport is one where SP marks its messages (ipc) */
} mmi_opening_config;

typedef struct mmi_opening {
    const mmi_wire *wire;            /* NULL: not known yet, and nothing was said             */
    int reason;                      /* mm_reason of the error                                */
    char detail[MM_DETAIL_MAX + 1];
    uint32_t instead;                /* refused, but would not be as this; 0: it would be     */
    uint64_t heard;                  /* octets so far                                         */
    /* private */
    mmi_opening_config config;
    uint8_t first;                   /* of what was heard                                     */
    union {
        mmi_hello zmtp;
        mmi_sp_hello sp;
    } of;
} mmi_opening;

/* MM_ENOMEM, or MM_EPROTO: a role that the wire has no words for.  What config refers to must
 * outlive o. */
int mmi_opening_init(mmi_opening *o, const mmi_opening_config *config) MMI_WARN_UNUSED;
void mmi_opening_fini(mmi_opening *o);
/* As those of hello.h. */
int mmi_opening_feed(mmi_opening *o, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
/* The peer ended it, or time did: how, and what that suggests, in detail. */
void mmi_opening_ended(mmi_opening *o, const char *how);
size_t mmi_opening_output(const mmi_opening *o, const uint8_t **out);
void mmi_opening_sent(mmi_opening *o, size_t size);
/* It is done: who the peer is. */
void mmi_opening_peer(const mmi_opening *o, mmi_wire_peer *out);
/* What protects it from here on, which is the caller's then. */
mmi_shield mmi_opening_take_shield(mmi_opening *o);
/* Of a hello's begin or feed: the error.  MM_ENOMEM or MM_EPROTO. */
int mmi_opening_fail(mmi_opening *o, int reason, const char *detail);

#endif
