/*
 * plain.h: PLAIN, RFC 24, as a mechanism: a user and its password say who the client is, and nothing is
 * hidden: neither they nor what is sent.
 *
 *     HELLO    C>S 8+   0 05 HELLO  6 size(1) user  size(1) password
 *     WELCOME  S>C 8    0 07 WELCOME
 *     INITIATE C>S 9+   0 08 INITIATE  9 metadata
 *     READY    S>C 6+   0 05 READY  6 metadata
 *     ERROR    S>C 7+   0 05 ERROR  6 size(1) text, in place of WELCOME
 *
 * Who is asked about has said HELLO only: WELCOME means that it may come in.  Who is the client is said
 * by the config, not by who dials.  Nothing of the server's is checked.
 * Not here: whom the password lets in (wire/applicant.h), where PLAIN may be used (api/plain.c).
 * Law: as wire/mechanism.h.  A password is in our config and in what a client says until that was
 * written, or in what a server heard until it was answered; each is wiped then.
 */
#ifndef MMI_PLAIN_H
#define MMI_PLAIN_H

#include "wire/mechanism.h"

enum { MMI_PLAIN_NAME_MAX = 255 };       /* octets of a user, and of a password */

/* The policy of a socket; the same octets for the same policy.  It is not changed while it is used. */
typedef struct mmi_plain_config {
    uint32_t serves;                     /* 1: users come to us; 0: we are one */
    uint32_t asks;                       /* 1: a server asks who may come in; 0: anybody may */
    uint32_t user_size, password_size;   /* of a client; at most MMI_PLAIN_NAME_MAX */
    uint8_t user[MMI_PLAIN_NAME_MAX], password[MMI_PLAIN_NAME_MAX];   /* with zeros behind them */
} mmi_plain_config;

extern const mmi_mechanism mmi_mechanism_plain;

#endif
