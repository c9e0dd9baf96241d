/*
 * sodium.h: what CURVE needs of libsodium, as a table: who uses it is handed one, a test its own.
 *
 * Not here: where the table comes from (plat/library.h), which is above this floor so that a wire cannot
 * ask for it; keys and their memory (crypto/secret.h); nonces and checks (the mechanism's).
 * These are NaCl's padded calls: the plain text follows 32 zeros, the cipher text 16; size counts
 * them.  Both may be the same memory.  Any thread; nothing is allocated, nothing is kept.  None of them
 * draws a random number or needs sodium_init, which only picks faster code: whoever finds the library
 * has called it where that cannot abort.  Results: 0, or -1 as said; the contents of what was to be
 * filled in are then unspecified.
 * Law: no cipher is ours: a box that is put together of its pieces is the octets of NaCl's, which is
 * tried before the pieces are believed.
 */
#ifndef MMI_SODIUM_H
#define MMI_SODIUM_H

#include "base/base.h"

enum {
    MMI_KEY_SIZE = 32,            /* of a public, secret or shared key, octets */
    MMI_NONCE_SIZE = 24,
    MMI_BOX_PLAIN_PAD = 32,       /* zeros before the plain text */
    MMI_BOX_PAD = 16,             /* zeros before the cipher text; its tag is the next 16 octets */
    MMI_NONCE_PREFIX = 16,        /* octets of a nonce that go into a subkey */
    MMI_TAG_SIZE = 16,
    MMI_SODIUM_FUNCTIONS = 6,
    MMI_SODIUM_PIECES = 3
};

/* What a box is made of; all NULL where the library does not give it out.  Results: 0. */
typedef struct mmi_sodium_pieces {
    int (*hsalsa20)(uint8_t *out, const uint8_t *in, const uint8_t *k, const uint8_t *c);
    int (*salsa20_xor_ic)(uint8_t *c, const uint8_t *m, unsigned long long size, const uint8_t *n,
                          uint64_t ic, const uint8_t *k);
    int (*onetimeauth)(uint8_t *out, const uint8_t *in, unsigned long long size, const uint8_t *k);
} mmi_sodium_pieces;

typedef struct mmi_sodium {
    int (*scalarmult_base)(uint8_t *q, const uint8_t *n);   /* the public key of a secret one */
    /* -1: the public key is of low order, so the shared key would be known to everybody. */
    int (*box_beforenm)(uint8_t *k, const uint8_t *pk, const uint8_t *sk);
    int (*box_afternm)(uint8_t *c, const uint8_t *m, unsigned long long size, const uint8_t *n,
                       const uint8_t *k);
    int (*box_open_afternm)(uint8_t *m, const uint8_t *c, unsigned long long size, const uint8_t *n,
                            const uint8_t *k);              /* -1: not what was sealed */
    int (*secretbox)(uint8_t *c, const uint8_t *m, unsigned long long size, const uint8_t *n,
                     const uint8_t *k);
    int (*secretbox_open)(uint8_t *m, const uint8_t *c, unsigned long long size, const uint8_t *n,
                          const uint8_t *k);                /* -1: not what was sealed */
    mmi_sodium_pieces pieces;
} mmi_sodium;

/* As libsodium has them, in the order of the table. */
extern const char *const mmi_sodium_names[MMI_SODIUM_FUNCTIONS];
extern const char *const mmi_sodium_piece_names[MMI_SODIUM_PIECES];

/* The table of these functions, if each of them computes what NaCl's own examples say: MM_OK, else
 * MM_EINVAL (also: one is NULL), and the name of the one that does not is in *wrong. */
int mmi_sodium_fill(mmi_sodium *out, void *const functions[MMI_SODIUM_FUNCTIONS],
                    const char **wrong) MMI_WARN_UNUSED;
/* Of the same library: put into the table if all are there and give the boxes that it gives. */
void mmi_sodium_add_pieces(mmi_sodium *table, void *const pieces[MMI_SODIUM_PIECES]);

/* Many boxes of one key whose nonces begin alike: that is computed once, and seal and open are
 * box_afternm and box_open_afternm without it, a third faster for small ones.  Only where there are
 * pieces. */
static inline bool mmi_sodium_has_pieces(const mmi_sodium *table)
{
    return table->pieces.hsalsa20 != NULL;
}
void mmi_sodium_subkey(const mmi_sodium *table, uint8_t *subkey, const uint8_t *key,
                       const uint8_t prefix[MMI_NONCE_PREFIX]);
/* n: the last 8 octets of the nonce.  padded: 32 octets that are overwritten, then the plain text;
 * then 16 without a meaning, the tag and the cipher text.  size counts all. */
void mmi_sodium_seal(const mmi_sodium *table, uint8_t *padded, size_t size, const uint8_t n[8],
                     const uint8_t *subkey);
/* The way back; false: it is not what was sealed, and is as it was. */
bool mmi_sodium_open(const mmi_sodium *table, uint8_t *padded, size_t size, const uint8_t n[8],
                     const uint8_t *subkey) MMI_WARN_UNUSED;

#endif
