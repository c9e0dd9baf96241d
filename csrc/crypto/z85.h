/*
 * z85.h: keys as text and back: Z85 (ZeroMQ's RFC 32) for those of CURVE, hexadecimal or base64 for the
 * SHA-256 of a public key that TLS peers are known by.
 *
 * Not here: files of keys (src/meshmsg/_security).
 * Law: the size is looked at before any character, and nothing is read past it; what is wrong is told
 * by its place and never quoted: it may be a secret.
 */
#ifndef MMI_Z85_H
#define MMI_Z85_H

#include "base/base.h"

enum {
    MMI_Z85_SIZE = 40,                 /* characters of a key of 32 octets */
    MMI_KEY_OCTETS = 32,               /* of a key, or of a SHA-256 */
    MMI_PIN_HEX_SIZE = 64,             /* characters; colons between octets may come on top */
    MMI_PIN_BASE64_SIZE = 44
};

typedef enum mmi_text_fault {
    MMI_TEXT_RIGHT,
    MMI_TEXT_SIZE,                     /* not so many characters */
    MMI_TEXT_CHARACTER,                /* one that is in no such text */
    MMI_TEXT_OVERFLOW                  /* five, or the last ones, that say more than octets hold */
} mmi_text_fault;

/* What is wrong with a text, and at which of its characters, from 0; of MMI_TEXT_OVERFLOW in Z85 the
 * first of the five.  After a fault the octets are zeros. */
mmi_text_fault mmi_z85_decode(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size,
                              size_t *at) MMI_WARN_UNUSED;
/* 40 characters and a zero. */
void mmi_z85_encode(char text[MMI_Z85_SIZE + 1], const uint8_t octets[MMI_KEY_OCTETS]);

/* Hexadecimal of either case, as "sha256sum" has it or, with a colon between each two, "openssl x509
 * -fingerprint"; or base64 as "openssl base64" has it. */
mmi_text_fault mmi_pin_decode(uint8_t octets[MMI_KEY_OCTETS], const char *text, size_t size,
                              size_t *at) MMI_WARN_UNUSED;

#endif
