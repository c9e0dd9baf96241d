/*
 * curve_inside.h: one connection of CURVE, as the files that make it see it.
 *
 * Not here: what others see (wire/zmtp/curve.h).
 * Law: curve_message.c changes only what is of messages: sealing one part of it, opening the other.
 */
#ifndef MMI_CURVE_INSIDE_H
#define MMI_CURVE_INSIDE_H

#include "base/limits.h"
#include "crypto/secret.h"
#include "wire/zmtp/command_in.h"
#include "wire/zmtp/curve.h"
#include "wire/zmtp/frame.h"

enum {
    CURVE_TAG = 16,                      /* octets in front of what is in a box */
    CURVE_PREFIX = 16,                   /* octets of a nonce that ends with an n */
    CURVE_LONG_PREFIX = 8,               /* ... with an N */
    CURVE_LONG = 16,                     /* octets of an N */
    CURVE_COOKIE = 96,
    CURVE_VOUCH = 96,
    CURVE_HELLO = 200,                   /* octets of the commands; of some without metadata or text */
    CURVE_WELCOME = 168,
    CURVE_INITIATE = 257,
    CURVE_READY = 30,
    CURVE_MESSAGE = 33,
    CURVE_HEAD_MAX = 9,                  /* of a frame */
    CURVE_OUT_MAX = CURVE_HEAD_MAX + CURVE_INITIATE + MMI_CURVE_METADATA_MAX
};

/* What is awaited. */
typedef enum mmi_curve_state {
    CURVE_AWAITS_HELLO,
    CURVE_AWAITS_INITIATE,
    CURVE_AWAITS_ANSWER,                 /* of who may come in: no octets */
    CURVE_AWAITS_WELCOME,
    CURVE_AWAITS_READY,
    CURVE_DONE,
    CURVE_FAILED
} mmi_curve_state;

/* Octets of a frame that is not whole, or of records that were not given yet. */
typedef struct mmi_curve_octets {
    uint8_t *data;
    size_t at, size, cap;                /* at: what is before it is done with */
} mmi_curve_octets;

/* All that nobody else may know: a secret of the vault. */
typedef struct mmi_curve_secrets {
    uint8_t ours[MMI_KEY_SIZE];          /* c' or s' */
    uint8_t hello[MMI_KEY_SIZE];         /* of C' and S */
    uint8_t cookie[MMI_KEY_SIZE];        /* K */
    uint8_t messages[MMI_KEY_SIZE];      /* of C' and S' */
    uint8_t seals[MMI_KEY_SIZE];         /* of that and the prefix of our messages, where it is of use */
    uint8_t opens[MMI_KEY_SIZE];         /* and of theirs */
    uint8_t vouch[MMI_KEY_SIZE];         /* of C and S' */
    uint8_t drawn[MMI_KEY_SIZE];         /* c, of a client that has none of its own */
} mmi_curve_secrets;
_Static_assert(sizeof(mmi_curve_secrets) <= MMI_SECRET_SIZE, "a secret has room for all");

typedef struct mmi_curve {
    const mmi_curve_config *config;
    mmi_curve_secrets *secrets;
    uint64_t frame_max;                  /* octets of a frame that the peer may send */

    /* The handshake. */
    mmi_curve_state state;
    uint64_t begun_ns;
    uint8_t short_public[MMI_KEY_SIZE];
    uint8_t peer[MMI_KEY_SIZE], peer_short[MMI_KEY_SIZE];
    uint32_t pair;                       /* of ours, that the peer knows */
    mmi_command_in in;                   /* the command so far; then the peer's metadata is in it */
    size_t metadata_at, metadata_size;
    uint8_t *out;                        /* until the first seal; behind it: */
    uint8_t *ours;
    size_t ours_size;
    size_t out_size, out_sent;

    /* Messages. */
    uint64_t sealed;                     /* the last n of ours */
    mmi_curve_octets half;               /* ours: a frame of which seal was given a part */
    uint64_t opened;                     /* the last n of the peer */
    mmi_curve_octets came;               /* theirs: what was opened and not given yet, then records */
    size_t plain_left;                   /* octets of the former */
    bool open_failed;
} mmi_curve;

/* curve_box.c */
/* A box in place: what goes in is plain_size octets behind tag + CURVE_TAG.  The 16 octets in front of tag
 * are overwritten, and of no use. */
void mmi_curve_seal_n(const mmi_curve *c, const uint8_t *key, const char *prefix, uint64_t n, uint8_t *tag,
                      size_t plain_size);
/* false: it does not open. */
bool mmi_curve_open_n(const mmi_curve *c, const uint8_t *key, const char *prefix, uint64_t n, uint8_t *tag,
                      size_t plain_size) MMI_WARN_UNUSED;
/* The same with a new N, which is put in front of the tag. */
void mmi_curve_seal_long(const mmi_curve *c, const uint8_t *key, const char *prefix, uint8_t *tag,
                         size_t plain_size);
/* The same with the N that stands in front of the tag. */
bool mmi_curve_open_long(const mmi_curve *c, const uint8_t *key, const char *prefix, uint8_t *tag,
                         size_t plain_size) MMI_WARN_UNUSED;
/* The box of a MESSAGE of ours, of theirs, once the handshake is done. */
void mmi_curve_seal_message(const mmi_curve *c, uint64_t n, uint8_t *tag, size_t plain_size);
bool mmi_curve_open_message(const mmi_curve *c, uint64_t n, uint8_t *tag, size_t plain_size) MMI_WARN_UNUSED;
/* The key that ours and theirs share.  false: theirs is of low order, so everybody has it. */
bool mmi_curve_share(const mmi_curve *c, uint8_t *key, const uint8_t *public, const uint8_t *secret)
    MMI_WARN_UNUSED;
void mmi_curve_random_pair(mmi_curve *c);          /* the short ones */
/* MM_ENOMEM */
int mmi_curve_append(mmi_curve_octets *o, const uint8_t *data, size_t size) MMI_WARN_UNUSED;
void mmi_curve_free(mmi_curve_octets *o);
/* Room for the body of a command of that size, behind its head, which is written. */
uint8_t *mmi_curve_say(mmi_curve *c, size_t size);
/* The peer is known, and both have the key: nothing else of the handshake is needed. */
int mmi_curve_done(mmi_curve *c);
/* curve_client.c, curve_server.c: what is to be done with a whole command, of a size that may be.
 * MMI_STEP_ or an error. */
void mmi_curve_say_hello(mmi_curve *c);
int mmi_curve_take_welcome(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why) MMI_WARN_UNUSED;
int mmi_curve_take_ready(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why) MMI_WARN_UNUSED;
int mmi_curve_take_hello(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why) MMI_WARN_UNUSED;
int mmi_curve_take_initiate(mmi_curve *c, uint8_t *body, size_t size, mmi_refusal *why) MMI_WARN_UNUSED;
int mmi_curve_take_answer(mmi_curve *c, bool allowed, bool denied, mmi_refusal *why) MMI_WARN_UNUSED;

/* curve_message.c: as of wire/mechanism.h. */
size_t mmi_curve_room(const void *self, size_t size);
int64_t mmi_curve_seal(void *self, const uint8_t *plain, size_t *size, uint8_t *out);
int mmi_curve_open(void *self, uint8_t *in, size_t size, uint8_t *out, size_t cap, size_t *given, mmi_refusal *why);
bool mmi_curve_idle(const void *self);

#endif
