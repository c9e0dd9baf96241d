/*
 * wire/tls/tls.h: TLS 1.3, or 1.2 where that is asked for, as a mechanism that comes before any wire:
 * certificates, pinned keys or a shared secret say who the peer is, and OpenSSL does the rest.
 *
 * A policy (mmi_tls_context) is made of what a user gives, once; a socket has a mmi_tls_config, which
 * knows the policy of now.  A connection keeps the one it began with; whether it would be taken by the
 * one of now is asked of its proof.
 * Not here: where OpenSSL comes from (plat/library.h), files, who may come in (wire/applicant.h).
 * Law: as wire/mechanism.h.  Nothing is resumed, renegotiated or compressed; a name is looked for in a
 * certificate's subjectAltName only; what cannot be judged is refused.
 */
#ifndef MMI_TLS_H
#define MMI_TLS_H

#include "crypto/openssl.h"
#include "crypto/secret.h"
#include "wire/mechanism.h"

enum {
    MMI_TLS_KEY_SIZE = 32,               /* octets of a secret, or of the SHA-256 of a public key */
    MMI_TLS_SECRETS_MAX = 3,
    MMI_TLS_RECORD_MAX = 16 * 1024,
    MMI_TLS_PEM_MAX = 1024 * 1024,       /* octets of one of the texts of a policy  */
    MMI_TLS_CHAIN_MAX = 10,              /* certificates of ours                    */
    MMI_TLS_QUIET_MAX = 32,              /* records in a row that have no octets for us */
    MMI_TLS_SAID_MAX = 64 * 1024,        /* octets that OpenSSL may want to say and nobody took */
    MMI_TLS_UPDATE_RECORDS = 1 << 24     /* of one key; then comes the next one     */
};

/* Of the platform, which outlives every connection. */
typedef struct mmi_tls_world {
    const mmi_openssl *openssl;
    void *plat;
    uint64_t (*wall_ns)(void *plat);
    const mmi_pages *pages;              /* for secrets; NULL: plain ones */
} mmi_tls_world;

typedef struct mmi_tls_context mmi_tls_context;
typedef struct mmi_tls_config mmi_tls_config;
typedef struct mmi_tls_proof mmi_tls_proof;

extern const mmi_mechanism mmi_mechanism_tls;

/* A policy, counted once.  Takes long.  MM_ENOMEM; MM_EINVAL: why has the words. */
int mmi_tls_context_new(const mmi_tls_world *world, const mm_tls_opts *opts, mmi_tls_context **out, char *why,
                        size_t why_size) MMI_WARN_UNUSED;
void mmi_tls_context_drop(mmi_tls_context *context);           /* takes NULL */
/* Pins (sorted copies) for mmi_tls_config_repin, and nothing else.  NULL: no memory. */
mmi_tls_context *mmi_tls_context_of_pins(const mmi_tls_world *world, const uint8_t *pins, size_t count) MMI_WARN_UNUSED;

/* Of that policy, which is its from then on; counted once.  NULL: no memory, and the policy is dropped. */
mmi_tls_config *mmi_tls_config_new(const mmi_tls_world *world, mmi_tls_context *context) MMI_WARN_UNUSED;
void mmi_tls_config_keep(mmi_tls_config *config);              /* counted once more */
void mmi_tls_config_drop(mmi_tls_config *config);              /* takes NULL; no connection is left */
/* The policy of now, which is its from then on.  MM_EINVAL: it is of another kind, and why says how: that is
 * dropped, and nothing has changed. */
int mmi_tls_config_swap(mmi_tls_config *config, mmi_tls_context *context, char *why, size_t why_size) MMI_WARN_UNUSED;
/* The policy of now, with these pins in place of its own; they are its from then on.  MM_ESTATE: it has none. */
int mmi_tls_config_repin(mmi_tls_config *config, mmi_tls_context *pins) MMI_WARN_UNUSED;

/* What the peer of a connection proved, counted once more. */
mmi_tls_proof *mmi_tls_proof_of(void *shield);
void mmi_tls_proof_drop(mmi_tls_proof *proof);                 /* takes NULL */
/* Whether the policy of now would take it; asked once a policy.  Takes long. */
bool mmi_tls_proof_stands(mmi_tls_config *config, mmi_tls_proof *proof);

#endif
