/*
 * wire/tls/callback.c: what OpenSSL calls with no more than a connection of its own: alerts that
 * came, secrets that are looked for.
 *
 * Not here: what is judged by certificates (verify.c).
 * Law: the library is the one of this process, written before any connection is there and the same
 * ever after; which connection it is stands in the connection.
 */
#include <string.h>

#include "wire/tls/inside.h"

enum { ALERT_CODE = 0xff, CONNECTION_INDEX = 0 };

static _Atomic(const mmi_openssl *) callback_library;

const mmi_openssl *
mmi_tls_library(void)
{
    return atomic_load_explicit(&callback_library, memory_order_acquire);
}

mmi_tls *
mmi_tls_of(const struct ssl_st *ssl)
{
    return mmi_tls_library()->SSL_get_ex_data(ssl, CONNECTION_INDEX);
}

static void
callback_info(const struct ssl_st *ssl, int where, int value)
{
    if (where == MMI_SSL_CB_READ_ALERT) {   /* of any level: 1.3 knows none */
        mmi_tls_of(ssl)->alert = (value & ALERT_CODE) | TLS_ALERT_SEEN;
    }
}

/* Of who listens: the peer has that one, it says.  None of ours: it goes on without, and fails. */
static int
callback_find(struct ssl_st *ssl, const unsigned char *identity, size_t size,
              struct ssl_session_st **found)
{
    mmi_tls *t = mmi_tls_of(ssl);
    *found = NULL;
    for (uint32_t i = 0; i < t->context->secret_count; i++) {
        if (size >= TLS_IDENTITY &&
            memcmp(identity, t->context->identities[i], TLS_IDENTITY) == 0) {
            bool node = size > TLS_IDENTITY;
            *found = node ? mmi_tls_node_find(t, i, identity, size) : mmi_tls_secret_psk(t, i);
            memcpy(t->proof->identity, identity, TLS_IDENTITY);
            t->unknown_secret = false;
            return *found != NULL || node ? 1 : 0;
        }
    }
    t->unknown_secret = true;
    return 1;
}

/* Of who dials: it has the first. */
static int
callback_use(struct ssl_st *ssl, const struct evp_md_st *md, const unsigned char **identity,
             size_t *size, struct ssl_session_st **used)
{
    mmi_tls *t = mmi_tls_of(ssl);
    (void)md;   /* NULL, or the one of our only suite */
    if (t->expects) {
        *used = mmi_tls_node_use(t, identity, size);
    } else {
        *used = mmi_tls_secret_psk(t, 0);
        *identity = (const unsigned char *)t->context->identities[0];
        *size = TLS_IDENTITY;
    }
    memcpy(t->proof->identity, t->context->identities[0], TLS_IDENTITY);
    return *used != NULL ? 1 : 0;
}

void
mmi_tls_callbacks(const mmi_tls_context *context)
{
    const mmi_openssl *o = context->world.openssl;
    atomic_store_explicit(&callback_library, o, memory_order_release);
    o->SSL_CTX_set_info_callback(context->ctx, callback_info);
    if (context->kind == TLS_BY_SECRET) {
        o->SSL_CTX_set_psk_find_session_callback(context->ctx, callback_find);
        o->SSL_CTX_set_psk_use_session_callback(context->ctx, callback_use);
    }
}
