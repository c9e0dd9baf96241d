/*
 * curve.h: CURVE, RFC 26, as a mechanism: keys of Curve25519 say who both sides are, and each frame goes
 * in a box of its own.
 *
 *     HELLO    C>S 200   0 05 HELLO  6 01 00  8 00*72  80 C'  112 n  120 Box[00*64](C'>S)
 *     WELCOME  S>C 168   0 07 WELCOME  8 N  24 Box[S' cookie](S>C')   cookie 96: N, secretbox[C' s'](K)
 *     INITIATE C>S 257+  0 08 INITIATE  9 cookie  105 n  113 Box[C vouch metadata](C'>S')
 *     READY    S>C 30+   0 05 READY  6 n  14 Box[metadata](S'>C')     vouch 96: N, Box[C' S](C>S')
 *     MESSAGE  33+       0 07 MESSAGE  8 n  16 Box[flags(1) payload]  between C' and S'
 *     ERROR    S>C 7+    0 05 ERROR  6 size(1) text
 *
 * Capitals are public keys, small letters secret ones; those with ' are new for each connection.  n, in 8
 * octets, and N, of 16 random ones, are the ends of nonces.  Who is the client is said by the config, not
 * by who dials.
 * Not here: the cipher (crypto/sodium.h), who may come in (wire/applicant.h), key files.
 * Law: as wire/mechanism.h.  Each n is used once; secrets are compared in constant time, and wiped when
 * they are of no more use; a peer hears ERROR only when it was known and denied.
 */
#ifndef MMI_CURVE_H
#define MMI_CURVE_H

#include "crypto/sodium.h"
#include "crypto/vault.h"
#include "wire/mechanism.h"

enum {
    MMI_CURVE_KEYS_MAX = 3,              /* key pairs of a server that is rotating them     */
    MMI_CURVE_METADATA_MAX = 256,        /* octets that we send: JeroMQ has no room for more */
    MMI_CURVE_IDENTITY_MAX = 220,        /* octets of one of ours, so that it fits there    */
    MMI_CURVE_COOKIE_MS = 10000          /* that a server's cookie is good for              */
};

typedef struct mmi_curve_pair {
    uint8_t secret[MMI_KEY_SIZE], public[MMI_KEY_SIZE];
} mmi_curve_pair;

/* The policy of a socket; the same octets for the same policy.  It is not changed while it is used. */
typedef struct mmi_curve_config {
    const mmi_sodium *sodium;
    mmi_vault *vault;                    /* where keys of connections lie; outlives them; NULL: plain memory */
    /* Of the platform, which outlives every connection. */
    void *plat;
    void (*random)(void *plat, void *buf, size_t size);
    uint64_t (*now_ns)(void *plat);
    uint32_t serves;                     /* 1: our key is known to clients, and we answer; 0: we are one */
    uint32_t asks;                       /* 1: a server asks who may come in; 0: anybody who knows its key */
    uint32_t pair_count;                 /* ours; a client has one, or 0: a new one each connection */
    mmi_curve_pair pairs[MMI_CURVE_KEYS_MAX];   /* tried in turn; those there are not are zero */
    uint8_t server[MMI_KEY_SIZE];        /* a client: the server's public key; else zero */
} mmi_curve_config;

extern const mmi_mechanism mmi_mechanism_curve;

/* Fills in the public keys.  MM_EINVAL: a server without a pair, too many, or a server's key with which every secret
 * key shares the same. */
int mmi_curve_config_check(mmi_curve_config *config) MMI_WARN_UNUSED;

#endif
