/*
 * wire/tls/node.c: which of those that have a secret the peer is: a key that only the two can make.
 *
 * Each node has a pair of X25519.  Who dials expects a public key, and names the secret, its own
 * public key, that one, and what it is called; all of it goes over the network as it is.  The key
 * is the first 32 octets of BLAKE2b, under the key of the secret, of a label, of what the private
 * key of one and the public key of the other come to, and of both public keys.  So who finishes the
 * handshake has the secret and the private key.
 * Not here: where public keys are known from.
 * Law: what a stranger names is checked before it costs a multiplication; what is shared is on the
 * stack of a call that wipes it.
 */
#include <stdio.h>
#include <string.h>

#include "wire/tls/inside.h"

enum {
    NODE_LABEL_SIZE = 8,
    NODE_MAC_SIZE = 64,
    NODE_SHOWN = 16,                     /* octets of its key in what a node is known by */
    NODE_OWN_AT = TLS_IDENTITY,          /* in what is named: who dials                  */
    NODE_WANTED_AT = NODE_OWN_AT + MMI_TLS_KEY_SIZE,
    NODE_NAME_AT = NODE_WANTED_AT + MMI_TLS_KEY_SIZE
};

static const char node_label[NODE_LABEL_SIZE + 1] = "tls-node";

_Static_assert((int)NODE_NAME_AT + (int)MM_NODE_NAME_MAX == (int)TLS_NAMED_MAX, "it fits");
_Static_assert((int)MM_NODE_NAME_MAX + 1 + 2 * (int)NODE_SHOWN <= (int)MM_USER_ID_MAX, "it fits");

/* Octets that may be told of in a line. */
static bool
name_plain(const uint8_t *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] < ' ' || name[i] == 0x7f) {
            return false;
        }
    }
    return size > 0 && size <= MM_NODE_NAME_MAX;
}

int
mmi_tls_node_set(mmi_tls_context *c, const mm_tls_opts *opts, char *why, size_t why_size)
{
    const mmi_openssl *o = c->world.openssl;
    size_t size = sizeof c->node_key;
    if (opts->node_key.size != MMI_TLS_KEY_SIZE ||
        !name_plain(opts->node_name.data, opts->node_name.size)) {
        snprintf(why, why_size, "node_key, node_name: 32 octets, and 1 to %d that are printable",
                 MM_NODE_NAME_MAX);
        return MM_EINVAL;
    }
    memcpy(c->node_name, opts->node_name.data, opts->node_name.size);
    c->node = o->EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, opts->node_key.data,
                                                 MMI_TLS_KEY_SIZE);
    if (c->node == NULL || o->EVP_PKEY_get_raw_public_key(c->node, c->node_key, &size) != 1 ||
        size != sizeof c->node_key) {
        snprintf(why, why_size, "node_key: %s", mmi_tls_words(o));
        return MM_EINVAL;
    }
    return MM_OK;
}

/* What our private key and that public one come to.  false: nothing, as it is nobody's. */
static bool
node_multiply(const mmi_tls_context *c, const uint8_t *theirs, uint8_t out[MMI_TLS_KEY_SIZE])
{
    const mmi_openssl *o = c->world.openssl;
    size_t size = MMI_TLS_KEY_SIZE;
    struct evp_pkey_st *peer =
        o->EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL, theirs, MMI_TLS_KEY_SIZE);
    struct evp_pkey_ctx_st *ctx = o->EVP_PKEY_CTX_new_from_pkey(NULL, c->node, NULL);
    bool done = peer != NULL && ctx != NULL && o->EVP_PKEY_derive_init(ctx) == 1 &&
                o->EVP_PKEY_derive_set_peer(ctx, peer) == 1 &&
                o->EVP_PKEY_derive(ctx, out, &size) == 1 && size == MMI_TLS_KEY_SIZE;
    o->EVP_PKEY_CTX_free(ctx);
    o->EVP_PKEY_free(peer);
    if (!done) {
        o->ERR_clear_error();
    }
    return done;
}

/* The session of two nodes: their public keys, and which of them is not ours. */
static struct ssl_session_st *
node_psk(const mmi_tls *t, uint32_t secret, const uint8_t *dials, const uint8_t *listens,
         const uint8_t *theirs)
{
    const mmi_openssl *o = t->openssl;
    uint8_t data[NODE_LABEL_SIZE + 3 * MMI_TLS_KEY_SIZE], mac[NODE_MAC_SIZE];
    struct ssl_session_st *psk = NULL;
    size_t size = 0;
    memcpy(data, node_label, NODE_LABEL_SIZE);
    memcpy(data + NODE_LABEL_SIZE + MMI_TLS_KEY_SIZE, dials, MMI_TLS_KEY_SIZE);
    memcpy(data + NODE_LABEL_SIZE + 2 * MMI_TLS_KEY_SIZE, listens, MMI_TLS_KEY_SIZE);
    if (node_multiply(t->context, theirs, data + NODE_LABEL_SIZE) &&
        o->EVP_Q_mac(NULL, "BLAKE2BMAC", NULL, NULL, NULL, t->context->secrets[secret].key,
                     MMI_TLS_KEY_SIZE, data, sizeof data, mac, sizeof mac, &size) != NULL &&
        size == sizeof mac) {
        psk = mmi_tls_psk_of(t, mac);
    }
    mmi_wipe(data, sizeof data);
    mmi_wipe(mac, sizeof mac);
    mmi_wipe_stack();
    return psk;
}

/* What a peer is known by that has proved this key: the name is its word, and the key is not. */
static void
node_proved(mmi_tls_proof *proof, const uint8_t *key, const uint8_t *name, size_t size)
{
    char *at = proof->user_id;
    proof->node = true;
    memcpy(proof->pin, key, MMI_TLS_KEY_SIZE);
    memcpy(at, name, size);
    at[size] = '#';
    for (size_t i = 0; i < NODE_SHOWN; i++) {
        snprintf(at + size + 1 + 2 * i, 3, "%02x", key[i]);
    }
}

int
mmi_tls_node_expect(mmi_tls *t, const mmi_expected *who)
{
    const uint8_t *name = (const uint8_t *)who->name;
    size_t size = strlen(who->name);
    if (t->context->node == NULL || !name_plain(name, size)) {
        return MM_EINVAL;
    }
    t->expects = true;
    node_proved(t->proof, who->key, name, size);
    return MM_OK;
}

struct ssl_session_st *
mmi_tls_node_use(mmi_tls *t, const unsigned char **named, size_t *size)
{
    const mmi_tls_context *c = t->context;
    size_t name_size = strlen(c->node_name);
    memcpy(t->named, c->identities[0], TLS_IDENTITY);
    memcpy(t->named + NODE_OWN_AT, c->node_key, MMI_TLS_KEY_SIZE);
    memcpy(t->named + NODE_WANTED_AT, t->proof->pin, MMI_TLS_KEY_SIZE);
    memcpy(t->named + NODE_NAME_AT, c->node_name, name_size);
    *named = t->named;
    *size = NODE_NAME_AT + name_size;
    return node_psk(t, 0, c->node_key, t->proof->pin, t->proof->pin);
}

struct ssl_session_st *
mmi_tls_node_find(mmi_tls *t, uint32_t secret, const uint8_t *named, size_t size)
{
    const mmi_tls_context *c = t->context;
    const uint8_t *key = named + NODE_OWN_AT, *name = named + NODE_NAME_AT;
    if (size <= NODE_NAME_AT || !name_plain(name, size - NODE_NAME_AT)) {
        return NULL;
    }
    if (c->node == NULL || memcmp(named + NODE_WANTED_AT, c->node_key, MMI_TLS_KEY_SIZE) != 0) {
        t->other_node = true;
        return NULL;
    }
    struct ssl_session_st *psk = node_psk(t, secret, key, c->node_key, key);
    if (psk != NULL) {
        node_proved(t->proof, key, name, size - NODE_NAME_AT);
    }
    return psk;
}
