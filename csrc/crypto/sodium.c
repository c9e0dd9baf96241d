/*
 * sodium.c: a table of functions by their addresses, tried once before anybody relies on it.
 *
 * Not here: how they were found (plat/posix/library.c).
 * Law: a library that is there but computes otherwise is not there.
 */
#include <string.h>

#include "crypto/secret.h"
#include "crypto/sodium.h"

const char *const mmi_sodium_names[MMI_SODIUM_FUNCTIONS] = {
    "crypto_scalarmult_base",  "crypto_box_beforenm", "crypto_box_afternm",
    "crypto_box_open_afternm", "crypto_secretbox",    "crypto_secretbox_open",
};

const char *const mmi_sodium_piece_names[MMI_SODIUM_PIECES] = {
    "crypto_core_hsalsa20",
    "crypto_stream_salsa20_xor_ic",
    "crypto_onetimeauth_poly1305",
};

_Static_assert(offsetof(mmi_sodium, pieces) == MMI_SODIUM_FUNCTIONS * sizeof(void *) &&
                   sizeof(mmi_sodium_pieces) == MMI_SODIUM_PIECES * sizeof(void *),
               "a name for each");

/* Alice's and Bob's keys, the key they share and the nonce are those of D. J. Bernstein,
 * Cryptography in NaCl (2009), sections 2 to 5. */
static const uint8_t SODIUM_SECRET[MMI_KEY_SIZE] = {
    0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
    0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
};
static const uint8_t SODIUM_PUBLIC[MMI_KEY_SIZE] = {
    0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7, 0x5a,
    0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a,
};
static const uint8_t SODIUM_OTHER[MMI_KEY_SIZE] = {
    0xde, 0x9e, 0xdb, 0x7d, 0x7b, 0x7d, 0xc1, 0xb4, 0xd3, 0x5b, 0x61, 0xc2, 0xec, 0xe4, 0x35, 0x37,
    0x3f, 0x83, 0x43, 0xc8, 0x5b, 0x78, 0x67, 0x4d, 0xad, 0xfc, 0x7e, 0x14, 0x6f, 0x88, 0x2b, 0x4f,
};
static const uint8_t SODIUM_SHARED[MMI_KEY_SIZE] = {
    0x1b, 0x27, 0x55, 0x64, 0x73, 0xe9, 0x85, 0xd4, 0x62, 0xcd, 0x51, 0x19, 0x7a, 0x9a, 0x46, 0xc7,
    0x60, 0x09, 0x54, 0x9e, 0xac, 0x64, 0x74, 0xf2, 0x06, 0xc4, 0xee, 0x08, 0x44, 0xf6, 0x83, 0x89,
};
static const uint8_t SODIUM_NONCE[MMI_NONCE_SIZE] = {
    0x69, 0x69, 0x6e, 0xe9, 0x55, 0xb6, 0x2b, 0x73, 0xcd, 0x62, 0xbd, 0xa8,
    0x75, 0xfc, 0x73, 0xd6, 0x82, 0x19, 0xe0, 0x03, 0x6b, 0x7a, 0x0b, 0x37,
};
static const char SODIUM_TEXT[] = "meshmsg";
/* The tag and the text under that key and nonce; computed by libsodium 1.0.18 and 1.0.20. */
static const uint8_t SODIUM_BOX[16 + 7] = {
    0x21, 0x83, 0xd8, 0xc2, 0x00, 0x4a, 0x3e, 0x5a, 0x2a, 0x79, 0xbf, 0xa0,
    0x81, 0x17, 0x11, 0x38, 0x5d, 0xfb, 0x17, 0x32, 0x19, 0x9a, 0x87,
};
enum { SODIUM_TRIED = MMI_BOX_PLAIN_PAD + 7 };   /* octets of a padded text */

typedef int sodium_box(uint8_t *out, const uint8_t *in, unsigned long long size, const uint8_t *n,
                       const uint8_t *k);

static bool
sodium_seals(sodium_box *seal)
{
    uint8_t octets[SODIUM_TRIED] = { 0 };
    memcpy(octets + MMI_BOX_PLAIN_PAD, SODIUM_TEXT, 7);
    return seal(octets, octets, SODIUM_TRIED, SODIUM_NONCE, SODIUM_SHARED) == 0 &&
           memcmp(octets + MMI_BOX_PAD, SODIUM_BOX, sizeof SODIUM_BOX) == 0;
}

static bool
sodium_opens(sodium_box *open)
{
    uint8_t octets[SODIUM_TRIED] = { 0 };
    memcpy(octets + MMI_BOX_PAD, SODIUM_BOX, sizeof SODIUM_BOX);
    if (open(octets, octets, SODIUM_TRIED, SODIUM_NONCE, SODIUM_SHARED) != 0 ||
        memcmp(octets + MMI_BOX_PLAIN_PAD, SODIUM_TEXT, 7) != 0) {
        return false;
    }
    memset(octets, 0, MMI_BOX_PAD);
    memcpy(octets + MMI_BOX_PAD, SODIUM_BOX, sizeof SODIUM_BOX);
    octets[SODIUM_TRIED - 1] ^= 1;
    return open(octets, octets, SODIUM_TRIED, SODIUM_NONCE, SODIUM_SHARED) != 0;
}

static bool
sodium_multiplies(const mmi_sodium *table)
{
    uint8_t made[MMI_KEY_SIZE];
    return table->scalarmult_base(made, SODIUM_SECRET) == 0 &&
           memcmp(made, SODIUM_PUBLIC, sizeof made) == 0;
}

/* Zero as a public key is of low order: it must be refused. */
static bool
sodium_agrees(const mmi_sodium *table)
{
    uint8_t made[MMI_KEY_SIZE], low[MMI_KEY_SIZE] = { 0 };
    return table->box_beforenm(made, SODIUM_OTHER, SODIUM_SECRET) == 0 &&
           memcmp(made, SODIUM_SHARED, sizeof made) == 0 &&
           table->box_beforenm(made, low, SODIUM_SECRET) != 0;
}

int
mmi_sodium_fill(mmi_sodium *out, void *const functions[MMI_SODIUM_FUNCTIONS], const char **wrong)
{
    for (int i = 0; i < MMI_SODIUM_FUNCTIONS; i++) {
        if (functions[i] == NULL) {
            *wrong = mmi_sodium_names[i];
            return MM_EINVAL;
        }
    }
    *out = (mmi_sodium){ .pieces = { .hsalsa20 = NULL } };
    memcpy(out, functions, offsetof(mmi_sodium, pieces));
    const bool right[MMI_SODIUM_FUNCTIONS] = {
        sodium_multiplies(out),         sodium_agrees(out),
        sodium_seals(out->box_afternm), sodium_opens(out->box_open_afternm),
        sodium_seals(out->secretbox),   sodium_opens(out->secretbox_open),
    };
    for (int i = 0; i < MMI_SODIUM_FUNCTIONS; i++) {
        if (!right[i]) {
            *wrong = mmi_sodium_names[i];
            return MM_EINVAL;
        }
    }
    *wrong = NULL;
    return MM_OK;
}

void
mmi_sodium_subkey(const mmi_sodium *table, uint8_t *subkey, const uint8_t *key,
                  const uint8_t prefix[MMI_NONCE_PREFIX])
{
    (void)table->pieces.hsalsa20(subkey, prefix, key, NULL);
}

/* The key of the tag is the beginning of the stream; what is sealed goes on behind it. */
void
mmi_sodium_seal(const mmi_sodium *table, uint8_t *padded, size_t size, const uint8_t n[8],
                const uint8_t *subkey)
{
    uint8_t tag[MMI_TAG_SIZE];
    memset(padded, 0, MMI_BOX_PLAIN_PAD);
    (void)table->pieces.salsa20_xor_ic(padded, padded, size, n, 0, subkey);
    (void)table->pieces.onetimeauth(tag, padded + MMI_BOX_PLAIN_PAD, size - MMI_BOX_PLAIN_PAD,
                                    padded);
    memset(padded, 0, MMI_BOX_PAD);
    memcpy(padded + MMI_BOX_PAD, tag, sizeof tag);
}

bool
mmi_sodium_open(const mmi_sodium *table, uint8_t *padded, size_t size, const uint8_t n[8],
                const uint8_t *subkey)
{
    uint8_t key[MMI_KEY_SIZE] = { 0 }, tag[MMI_TAG_SIZE];
    (void)table->pieces.salsa20_xor_ic(key, key, sizeof key, n, 0, subkey);
    (void)table->pieces.onetimeauth(tag, padded + MMI_BOX_PLAIN_PAD, size - MMI_BOX_PLAIN_PAD, key);
    mmi_wipe(key, sizeof key);
    if (!mmi_secret_equal(tag, padded + MMI_BOX_PAD, sizeof tag)) {
        return false;
    }
    (void)table->pieces.salsa20_xor_ic(padded, padded, size, n, 0, subkey);
    return true;
}

void
mmi_sodium_add_pieces(mmi_sodium *table, void *const pieces[MMI_SODIUM_PIECES])
{
    const mmi_sodium_pieces none = { .hsalsa20 = NULL };
    const uint8_t *n = SODIUM_NONCE + MMI_NONCE_PREFIX;
    uint8_t subkey[MMI_KEY_SIZE], octets[SODIUM_TRIED] = { 0 };
    for (int i = 0; i < MMI_SODIUM_PIECES; i++) {
        if (pieces[i] == NULL) {
            return;
        }
    }
    memcpy(&table->pieces, pieces, sizeof table->pieces);
    mmi_sodium_subkey(table, subkey, SODIUM_SHARED, SODIUM_NONCE);
    memcpy(octets + MMI_BOX_PLAIN_PAD, SODIUM_TEXT, 7);
    mmi_sodium_seal(table, octets, SODIUM_TRIED, n, subkey);
    bool right = memcmp(octets + MMI_BOX_PAD, SODIUM_BOX, sizeof SODIUM_BOX) == 0 &&
                 mmi_sodium_open(table, octets, SODIUM_TRIED, n, subkey) &&
                 memcmp(octets + MMI_BOX_PLAIN_PAD, SODIUM_TEXT, 7) == 0;
    memcpy(octets + MMI_BOX_PAD, SODIUM_BOX, sizeof SODIUM_BOX);
    octets[SODIUM_TRIED - 1] ^= 1;
    if (!right || mmi_sodium_open(table, octets, SODIUM_TRIED, n, subkey)) {
        table->pieces = none;
    }
}
