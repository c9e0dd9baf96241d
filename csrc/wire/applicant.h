/*
 * wire/applicant.h: who wants to become a peer, as its mechanism knows it, and what it is told.
 *
 * Not here: how it proved that (wire/mechanism.h), who is asked when no list knows (link/ask.h).
 * Law: only MM_ALLOW lets it in; an answer that nobody gave is MM_LATER.
 */
#ifndef MMI_APPLICANT_H
#define MMI_APPLICANT_H

#include "base/base.h"

typedef struct mmi_octets {
    const uint8_t *data;
    size_t size;
} mmi_octets;

/* What is not known has 0 octets. */
typedef struct mmi_applicant {
    const char *mechanism;               /* as in a greeting */
    mmi_octets key;                      /* public: of CURVE, or a hash of that of a certificate */
    mmi_octets user, password;
    mmi_octets certificate;
    mmi_octets properties;               /* as READY has them */
    const char *user_id;                 /* what it proved to be known by; NULL: nothing */
    const char *version, *cipher;        /* of what protects it, as its library says; NULL: not told */
} mmi_applicant;

typedef struct mmi_answer {
    int kind;                            /* mm_answer */
    int reason;                          /* mm_reason of one that is not MM_ALLOW */
    char user_id[MM_USER_ID_MAX + 1];    /* MM_ALLOW: what it is known by here; or "" */
    char why[MM_DETAIL_MAX + 1];         /* not MM_ALLOW: in words, for our events */
} mmi_answer;

/* The lists of a socket, without the engine's lock: true: they have an answer, which is in out; false:
 * somebody has to be asked.  config is theirs to guard, and outlives its links. */
typedef bool (*mmi_allow)(const void *config, const mmi_applicant *who, mmi_answer *out);

#endif
