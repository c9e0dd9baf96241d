/*
 * hello.h: the ZMTP 3.x greeting, and the handshake of NULL or of a mechanism, as a state machine
 * over bytes.  RFC 23, RFC 37.
 *
 * Symmetric: our greeting goes out at once, our READY as soon as the peer's greeting is accepted
 * (not before: its mechanism and version may refuse us), and it is done when the peer's READY is
 * accepted.  A mechanism takes the place of both READYs, and carries what they would say; its steps
 * are apart (steps.c), as they take long and are made without the engine's lock.
 * Not here: timeouts, sockets, what to do with the peer.  Law: consumes only its own bytes; never
 * keeps more than MMI_HANDSHAKE_SIZE_MAX; after an error it stays in error.
 */
#ifndef MMI_HELLO_H
#define MMI_HELLO_H

#include "base/base.h"
#include "base/limits.h"
#include "wire/mechanism.h"
#include "wire/roles.h"

enum {
    MMI_HELLO_OUT_MAX = 1024,        /* octets: greeting, READY and ERROR, at their largest */
    MMI_PROPERTIES_MAX = 64          /* properties in a READY                               */
};

/* ZMTP 1.0 begins with the size of the identity, mostly of none, and one.  A peer of it that has an
 * identity begins with another octet, and is a stranger. */
enum { MMI_HELLO_ZMTP1 = 0x01 };
#define MMI_HELLO_ZMTP1_TEXT \
    "its first octet is 01, as of ZMTP 1.0 (ZeroMQ 2); we speak 3.0 and later"

/* States. */
enum {
    MMI_HELLO_GREETING = 0,
    MMI_HELLO_COMMAND,
    MMI_HELLO_MECHANISM,
    MMI_HELLO_ASKING,
    MMI_HELLO_DONE
};

typedef struct mmi_hello_config {
    int role;                        /* mm_role, ours                                       */
    const mmi_roles *roles;          /* those there are                                     */
    const uint8_t *identity;         /* sent for REQ, DEALER and ROUTER (often empty)       */
    size_t identity_size;
    const char *features;            /* value of X-Meshmsg, or NULL: not sent               */
    uint64_t takes_size;             /* octets of a message that we take, said behind features */
    uint32_t takes_frames;           /* and its frames; 0: neither is said                  */
    const char *group;               /* value of X-Meshmsg-Group, or NULL: not sent         */
    const char *refusal;             /* what any peer is told instead of READY, or NULL     */
    const mmi_mechanism *mechanism;  /* NULL: none                                          */
    const void *mechanism_config;
    const mmi_shield *outer;         /* of the mechanism that came before; NULL: none did   */
    const char *mechanisms;          /* the names of both                                   */
    uint64_t frame_max;              /* octets of a frame that the peer may send it         */
    mmi_allow allow;                 /* NULL: no lists                                      */
    const void *allow_config;
    bool dials;                      /* we do                                               */
} mmi_hello_config;

typedef struct mmi_hello_peer {
    int role;                        /* mm_role                                             */
    uint8_t minor;                   /* the lower of ours (1) and theirs                    */
    uint8_t identity_size;
    uint8_t identity[MM_IDENTITY_MAX];
    char features[MMI_FEATURES_MAX + 1];   /* "" when not a meshmsg peer                      */
    char group[MMI_GROUP_NAME_MAX + 1];    /* "" where it says none                           */
} mmi_hello_peer;

typedef struct mmi_hello {
    uint32_t state;                  /* private: MMI_HELLO_                                 */
    bool asked;                      /* private: the mechanism did, once                    */
    bool mute;                       /* private: what it still has to say is said no more   */
    int reason;                      /* mm_reason of the error; 0: none                             */
    char detail[MM_DETAIL_MAX + 1];  /* what, where, the limit: for the event               */
    mmi_hello_config config;
    uint8_t *in;                     /* private: the greeting or command so far; then our
                                        properties, until the mechanism began */
    uint32_t in_size, in_cap, total; /* private: total is what the mechanism was fed         */
    uint8_t *out;                    /* private: what is to be written, MMI_HELLO_OUT_MAX   */
    uint32_t out_size, out_sent;
    mmi_hello_peer peer;             /* valid once done                                     */
    bool peer_serves;                /* as-server in its greeting, which proves nothing     */
    char user_id[MM_USER_ID_MAX + 1];   /* of the answer that let it in                     */
    mmi_shield shield;               /* from the first step on; who takes it sets it NULL   */
} mmi_hello;

int mmi_hello_init(mmi_hello *h, const mmi_hello_config *config)
    MMI_WARN_UNUSED; /* MM_ENOMEM; config.identity must outlive h */
void mmi_hello_fini(mmi_hello *h);
/* Feeds bytes.  1: done, *used says how many were ours; 0: need more (all used); MMI_STEP_DUE: the
 * rest is for mmi_hello_step, which is called also if there is none; < 0: MM_EPROTO/MM_ENOMEM, see
 * reason. On an error that the peer should hear of, output holds an ERROR command: flush it, then
 * close. */
int mmi_hello_feed(mmi_hello *h, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
/* What is to be written now: size, 0 when nothing. */
size_t mmi_hello_output(const mmi_hello *h, const uint8_t **out);
void mmi_hello_sent(mmi_hello *h, size_t size);

/* steps.c: a step of the mechanism: MMI_STEP_MORE, MMI_STEP_DONE, or MMI_STEP_ASK: no list knows the
 * applicant, see there; then mmi_hello_answer is the next.  Or an error, as of mmi_hello_feed.  *used
 * is 0 before. */
int mmi_hello_step(mmi_hello *h, const uint8_t *buf, size_t size, size_t *used) MMI_WARN_UNUSED;
int mmi_hello_answer(mmi_hello *h, const mmi_answer *answer) MMI_WARN_UNUSED;
void mmi_hello_applicant(const mmi_hello *h, mmi_applicant *out);

/* ready.c: the body of READY after its name; fills h->peer or fails h. And our own, whole frame,
 * into out. */
int mmi_ready_parse(mmi_hello *h, const uint8_t *data, size_t size) MMI_WARN_UNUSED;
size_t mmi_ready_put(const mmi_hello_config *config, uint8_t *out);
/* The same without frame and name, for a mechanism; out has MMI_HELLO_OUT_MAX octets. */
size_t mmi_ready_put_metadata(const mmi_hello_config *config, uint8_t *out);

#endif
