/*
 * wire/handshake.h: the handshake of a connection, whichever wire it turns out to be: its hello, and
 * before it, for who listens, the look at the peer's first octet.
 *
 * Who listens says nothing until then, so that a peer of either wire hears only its own; who dials
 * was told the wire and speaks at once.  Where an outer mechanism comes first, all of that is inside:
 * then every octet is for a step.
 * Not here: timeouts, sockets.  Law: allocates nothing before the first octet, but with an outer
 * mechanism; consumes only its own bytes; after an error it stays in error.
 */
#ifndef MMI_HANDSHAKE_H
#define MMI_HANDSHAKE_H

#include "wire/outer.h"
#include "wire/sp/hello.h"
#include "wire/wire.h"
#include "wire/zmtp/hello.h"

typedef struct mmi_handshake_config {
    int role;                        /* mm_role, ours                                         */
    const mmi_roles *roles;          /* those there are                                       */
    const uint8_t *identity;         /* told where the wire and the role have one             */
    size_t identity_size;
    const char *features;            /* mmi_wire_features, or NULL: not told                  */
    uint64_t takes_size;             /* octets of a message that we take: told with features  */
    uint32_t takes_frames;           /* and its frames; 0: neither is told                    */
    const char *group;               /* that it is a member of; NULL: of none; where the wire has one */
    const char *refusal;             /* what any peer is told instead of a welcome, or NULL   */
    const mmi_wire *wire;            /* of who dials; NULL: the peer's first octet tells      */
    uint32_t as;                     /* what to dial as, as instead of a handshake before said; 0:
                                        as the role */
    const mmi_mechanism *mechanism;  /* of its greeting; NULL: none                           */
    const void *mechanism_config;
    const mmi_mechanism *outer;      /* that comes first; NULL: none                          */
    const void *outer_config;
    const char *host;                /* of who dials: of its endpoint; copied                 */
    const mmi_expected *who;         /* that is to be there; copied; NULL: anybody            */
    uint64_t frame_max;              /* octets of a frame that the peer may send it           */
    mmi_allow allow;                 /* the lists of who may come in; NULL: there are none    */
    const void *allow_config;
    bool marks;                      /* the transport is one where SP marks its messages (ipc) */
} mmi_handshake_config;

typedef struct mmi_handshake {
    const mmi_wire *wire;            /* NULL: not known yet, and nothing was said             */
    int reason;                      /* mm_reason of the error                                */
    char detail[MM_DETAIL_MAX + 1];
    uint32_t instead;                /* refused, but would not be as this; 0: it would be     */
    uint64_t heard;                  /* octets so far                                         */
    uint64_t said;                   /* those of the wire's, opened                           */
    /* private */
    mmi_handshake_config config;
    mmi_outer *outer;                /* NULL: there is none                                   */
    const mmi_wire *inner;           /* whose hello is under way: as wire, as soon as a step is */
    bool asked;                      /* the outer one did, once                               */
    bool owed;                       /* the outer one asked, and the inner one is to           */
    char mechanisms[MMI_MECHANISMS_CAP];
    char user_id[MM_USER_ID_MAX + 1];   /* of the answer to the outer one                     */
    uint8_t first;                   /* of what was said                                      */
    union {
        mmi_hello zmtp;
        mmi_sp_hello sp;
    } of;
} mmi_handshake;

/* MM_ENOMEM, or MM_EPROTO: a role that the wire has no words for.  What config refers to must
 * outlive o. */
int mmi_handshake_init(mmi_handshake *o, const mmi_handshake_config *config) MMI_WARN_UNUSED;
void mmi_handshake_fini(mmi_handshake *o);
/* As those of hello.h.  MMI_STEP_DUE is given only where there is a mechanism; step and answer are made
 * without the engine's lock, and change only what nobody looks at meanwhile: not heard, and not wire,
 * which is set when the lock is taken again.  A step may change buf. */
int mmi_handshake_feed(mmi_handshake *o, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
int mmi_handshake_step(mmi_handshake *o, uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
static inline void
mmi_handshake_stepped(mmi_handshake *o)
{
    o->wire = o->wire == NULL ? o->inner : o->wire;
}
/* Who dials makes a step, of no octets, before any came. */
static inline bool
mmi_handshake_due(const mmi_handshake *o)
{
    return o->outer != NULL && !o->outer->begun && o->config.wire != NULL;
}
int mmi_handshake_answer(mmi_handshake *o, const mmi_answer *answer) MMI_WARN_UNUSED;
void mmi_handshake_applicant(const mmi_handshake *o, mmi_applicant *out);
/* What usually is behind an end at this point, as far as one can tell from here. */
const char *mmi_handshake_guess(const mmi_handshake *o);
/* The peer ended it, or time did: how, and what that suggests, in detail. */
void mmi_handshake_ended(mmi_handshake *o, const char *how);
size_t mmi_handshake_output(const mmi_handshake *o, const uint8_t **out);
void mmi_handshake_sent(mmi_handshake *o, size_t size);
/* It is done: who the peer is. */
void mmi_handshake_peer(const mmi_handshake *o, mmi_wire_peer *out);
/* What protects it from here on, which is the caller's then: not of a mechanism that does not seal. */
mmi_shield mmi_handshake_take_shield(mmi_handshake *o);
/* What it has opened already of what is behind it; NULL: no outer mechanism did. */
static inline const mmi_outer *
mmi_handshake_opened(const mmi_handshake *o)
{
    return o->outer;
}
/* Of a hello's begin or feed: the error.  MM_ENOMEM or MM_EPROTO. */
int mmi_handshake_fail(mmi_handshake *o, int reason, const char *detail);

#endif
