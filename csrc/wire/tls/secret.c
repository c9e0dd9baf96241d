/*
 * wire/tls/secret.c: what a shared secret becomes in TLS: a key of its own, and what it is called.
 *
 * The key is the first 32 octets of BLAKE2b of "tls-psk" under the secret, so that what else is
 * made of the secret tells nothing of it; its name is the SHA-256 of that, in hexadecimal, which
 * goes over the network as it is.
 * Not here: files of secrets.
 * Law: a secret is in the policy's pool or on the stack of a call that wipes it.
 */
#include <stdio.h>
#include <string.h>

#include "wire/tls/inside.h"

enum { SECRET_MAC_SIZE = 64, SECRET_HASH_SIZE = 32 };

static const unsigned char secret_label[] = { 't', 'l', 's', '-', 'p', 's', 'k' };

_Static_assert(sizeof(tls_secret) * MMI_TLS_SECRETS_MAX <= MMI_SECRET_SIZE, "they fit");

/* MM_ENOTSUP: this OpenSSL has no BLAKE2b. */
static int
secret_derive(const mmi_openssl *o, const uint8_t *secret, tls_secret *out,
              char identity[TLS_IDENTITY + 1])
{
    uint8_t mac[SECRET_MAC_SIZE], hash[SECRET_HASH_SIZE];
    size_t size = 0;
    const unsigned char *done =
        o->EVP_Q_mac(NULL, "BLAKE2BMAC", NULL, NULL, NULL, secret, MMI_TLS_KEY_SIZE, secret_label,
                     sizeof secret_label, mac, sizeof mac, &size);
    if (done == NULL || size != sizeof mac) {
        o->ERR_clear_error();
        return MM_ENOTSUP;
    }
    memcpy(out->key, mac, sizeof out->key);
    mmi_wipe(mac, sizeof mac);
    if (o->EVP_Q_digest(NULL, "SHA256", NULL, out->key, sizeof out->key, hash, &size) != 1) {
        o->ERR_clear_error();
        return MM_ENOTSUP;
    }
    for (size_t i = 0; i < sizeof hash; i++) {
        snprintf(identity + 2 * i, 3, "%02x", hash[i]);
    }
    return MM_OK;
}

int
mmi_tls_secrets_set(mmi_tls_context *context, const uint8_t *secrets, size_t size)
{
    context->secrets = mmi_secret_new(&context->pool);
    if (context->secrets == NULL) {
        return MM_ENOMEM;
    }
    for (size_t at = 0; at < size; at += MMI_TLS_KEY_SIZE) {
        uint32_t i = context->secret_count;
        int rc = secret_derive(context->world.openssl, secrets + at, &context->secrets[i],
                               context->identities[i]);
        if (rc != MM_OK) {
            return rc;
        }
        context->secret_count++;
    }
    return MM_OK;
}

struct ssl_session_st *
mmi_tls_psk_of(const mmi_tls *t, const uint8_t key[MMI_TLS_KEY_SIZE])
{
    static const unsigned char aes_128_gcm_sha256[] = { 0x13, 0x01 };
    const mmi_openssl *o = t->openssl;
    const struct ssl_cipher_st *cipher = o->SSL_CIPHER_find(t->ssl, aes_128_gcm_sha256);
    struct ssl_session_st *psk = o->SSL_SESSION_new();
    if (psk != NULL &&
        (cipher == NULL || o->SSL_SESSION_set1_master_key(psk, key, MMI_TLS_KEY_SIZE) != 1 ||
         o->SSL_SESSION_set_cipher(psk, cipher) != 1 ||
         o->SSL_SESSION_set_protocol_version(psk, MMI_TLS1_3_VERSION) != 1)) {
        o->SSL_SESSION_free(psk);
        psk = NULL;
    }
    return psk;
}

struct ssl_session_st *
mmi_tls_secret_psk(const mmi_tls *t, uint32_t index)
{
    return mmi_tls_psk_of(t, t->context->secrets[index].key);
}

bool
mmi_tls_secret_known(const mmi_tls_context *context, const char *identity)
{
    bool known = false;
    for (uint32_t i = 0; i < context->secret_count; i++) {
        known = known || strcmp(context->identities[i], identity) == 0;
    }
    return known;
}
