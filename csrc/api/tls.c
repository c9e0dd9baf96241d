/*
 * api/tls.c: a socket whose connections TLS protects, and a policy that takes the place of
 * another.
 *
 * Not here: TLS (wire/tls/tls.h), who may come in, files.
 * Law: a policy is made, and who is connected is judged by it, without the engine's lock; one that
 * is wrong changes nothing.
 */
#include <stdio.h>

#include "api/api.h"
#include "link/shield.h"
#include "meshmsg_binding.h"
#include "plat/library.h"
#include "socket/group.h"
#include "wire/tls/tls.h"

/* Those who are connected, and what they proved. */
typedef struct tls_proofs {
    mmi_tls_config *config;
    mmi_tls_proof **all;
    uint32_t count;
} tls_proofs;

static bool
tls_protects(const mmi_link *link)
{
    return link->shield != NULL && link->shield->of.mechanism == &mmi_mechanism_tls;
}

/* Without memory for them they are judged one after the other, with the lock.  The socket may be
 * gone when they are. */
static void
proofs_take(mmi_socket *s, tls_proofs *out)
{
    uint32_t cap = 0;
    out->config = (mmi_tls_config *)s->outer_config;   /* it has a lock of its own */
    mmi_tls_config_keep(out->config);
    MMI_SOCKETS_OF (s, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            cap++;
        }
    }
    out->all = mmi_alloc((cap + 1) * sizeof *out->all);
    if (out->all == NULL) {
        return;
    }
    MMI_SOCKETS_OF (s, one) {
        MMI_LIST_EACH (&one->links, node, after) {
            mmi_link *link = MMI_CONTAINER_OF(node, mmi_link, node);
            if (tls_protects(link)) {
                out->all[out->count++] = mmi_tls_proof_of(link->shield->of.self);
            }
        }
    }
}

/* Each remembers what was said of it. */
static void
proofs_judge(tls_proofs *proofs)
{
    for (uint32_t i = 0; i < proofs->count; i++) {
        (void)mmi_tls_proof_stands(proofs->config, proofs->all[i]);
        mmi_tls_proof_drop(proofs->all[i]);
    }
    mmi_free(proofs->all);
    mmi_tls_config_drop(proofs->config);
}

/* The context is the socket's from then on, or dropped. */
static int
tls_put(mmi_socket *s, const mmi_tls_world *world, mmi_tls_context *context, tls_proofs *proofs,
        char *why)
{
    if (s->outer == &mmi_mechanism_tls) {
        mmi_tls_config *now = (mmi_tls_config *)s->outer_config;
        int rc = mmi_tls_config_swap(now, context, why, MM_WHY_SIZE);
        if (rc == MM_OK) {
            proofs_take(s, proofs);
        }
        return rc;
    }
    if (!mmi_api_fresh(s)) {
        mmi_tls_context_drop(context);
        return MM_ESTATE;
    }
    const mmi_tls_config *config = mmi_tls_config_new(world, context);
    if (config == NULL) {
        return MM_ENOMEM;
    }
    s->outer_config = config;
    s->outer = &mmi_mechanism_tls;
    return MM_OK;
}

/* Who is connected is judged; the socket may be closed meanwhile. */
static void
tls_reloaded(mm_handle socket, tls_proofs *proofs)
{
    mmi_socket *s;
    proofs_judge(proofs);
    if (mmi_api_enter(socket, &s) == MM_OK) {
        mmi_socket_revoke(s);
        (void)mmi_api_leave(s, MM_OK);
    }
}

static mmi_tls_world
tls_world_of(const mmi_socket *s)
{
    const mmi_plat *plat = &s->engine->plat;
    return (mmi_tls_world){ .openssl = mmi_openssl_get(),
                            .plat = plat->self,
                            .wall_ns = plat->wall_ns,
                            .pages = plat->pages };
}

static int
tls_set(mm_handle socket, const mm_tls_opts *opts, char *why)
{
    mmi_tls_context *context = NULL;
    tls_proofs proofs = { 0 };
    mmi_socket *s;
    int rc = mmi_openssl_get() == NULL ? MM_ENOTSUP : mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    const mmi_tls_world world = tls_world_of(s);
    rc = mmi_api_leave(s, s->outer != NULL || mmi_api_fresh(s) ? MM_OK : MM_ESTATE);
    rc = rc == MM_OK ? mmi_tls_context_new(&world, opts, &context, why, MM_WHY_SIZE) : rc;
    if (rc != MM_OK) {
        return rc;
    }
    rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        mmi_tls_context_drop(context);
        return rc;
    }
    rc = mmi_api_leave(s, tls_put(s, &world, context, &proofs, why));
    if (proofs.config != NULL) {
        tls_reloaded(socket, &proofs);
    }
    return rc;
}

int
mm_socket_tls_pins(mm_handle socket, const uint8_t *pins, size_t count)
{
    tls_proofs proofs = { 0 };
    mmi_socket *s;
    int rc = count == 0 ? MM_EINVAL : mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    const mmi_tls_world world = tls_world_of(s);
    rc = mmi_api_leave(s, s->outer == &mmi_mechanism_tls ? MM_OK : MM_ESTATE);
    mmi_tls_context *context = rc == MM_OK ? mmi_tls_context_of_pins(&world, pins, count) : NULL;
    if (context == NULL) {
        return rc == MM_OK ? MM_ENOMEM : rc;
    }
    rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        mmi_tls_context_drop(context);
        return rc;
    }
    rc = mmi_tls_config_repin((mmi_tls_config *)s->outer_config, context);
    if (rc == MM_OK) {
        proofs_take(s, &proofs);
    }
    rc = mmi_api_leave(s, rc);
    if (rc == MM_OK) {
        tls_reloaded(socket, &proofs);
    }
    return rc;
}

int
mm_socket_tls(mm_handle socket, const mm_tls_opts *opts, char *why, size_t why_size)
{
    char words[MM_WHY_SIZE] = "";
    int rc = tls_set(socket, opts, words);
    if (why != NULL && why_size > 0) {
        snprintf(why, why_size, "%s", words);
    }
    return rc;
}

int
mm_certificate_expires(mm_handle socket, const char *detail)
{
    mmi_socket *s;
    int rc = mmi_api_enter(socket, &s);
    if (rc != MM_OK) {
        return rc;
    }
    mmi_socket_event(s, MM_EVENT_CERT_EXPIRES, MM_REASON_NONE, 0, 1, NULL, NULL, detail);
    return mmi_api_leave(s, MM_OK);
}

const char *
mm_tls_missing(void)
{
    return mmi_openssl_missing();
}
