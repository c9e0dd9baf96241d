/*
 * wire/tls/config.c: the policy of a socket, which may be replaced while its connections live, and
 * what a peer proved under the one before.
 *
 * Not here: how it is judged (verify.c), what becomes of who does not stand (link/revoke.c).
 * Law: who begins a connection gets the policy of before or the one of after, whole; a proof is
 * judged once a policy.
 */
#include <stdio.h>

#include "wire/tls/inside.h"

mmi_tls_config *
mmi_tls_config_new(const mmi_tls_world *world, mmi_tls_context *context)
{
    mmi_tls_config *config = mmi_alloc(sizeof *config);
    if (config == NULL) {
        mmi_tls_context_drop(context);
        return NULL;
    }
    config->world = *world;
    atomic_init(&config->refs, 1);
    config->now = context;
    config->asks = context->asks;
    config->serves = context->serves;
    config->dials = context->dials;
    config->generation = 1;
    pthread_mutex_init(&config->lock, NULL);
    return config;
}

void
mmi_tls_config_keep(mmi_tls_config *config)
{
    atomic_fetch_add(&config->refs, 1);
}

void
mmi_tls_config_drop(mmi_tls_config *config)
{
    if (config != NULL && atomic_fetch_sub(&config->refs, 1) == 1) {
        mmi_tls_context_drop(config->now);
        pthread_mutex_destroy(&config->lock);
        mmi_free(config);
    }
}

int
mmi_tls_config_swap(mmi_tls_config *config, mmi_tls_context *context, char *why, size_t why_size)
{
    pthread_mutex_lock(&config->lock);
    mmi_tls_context *before = config->now;
    bool same = before->kind == context->kind && before->asks == context->asks &&
                before->dials == context->dials && before->serves == context->serves;
    if (same) {
        config->now = context;
        config->generation++;
    }
    pthread_mutex_unlock(&config->lock);
    mmi_tls_context_drop(same ? before : context);
    if (!same) {
        snprintf(why, why_size,
                 "it is not of the same kind as the policy before: ca, pins, secrets, or who asks");
    }
    return same ? MM_OK : MM_EINVAL;
}

/* The lock is held: what was read of files stays. */
static void
pins_join(mmi_tls_context *pins, mmi_tls_context *now)
{
    pins->base = now->base != NULL ? now->base : now;
    atomic_fetch_add(&pins->base->refs, 1);
    pins->kind = now->kind;
    pins->asks = now->asks;
    pins->serves = now->serves;
    pins->dials = now->dials;
    pins->clients = now->clients;
    pins->ctx = now->ctx;
    pins->bio = now->bio;
}

int
mmi_tls_config_repin(mmi_tls_config *config, mmi_tls_context *pins)
{
    pthread_mutex_lock(&config->lock);
    mmi_tls_context *before = config->now;
    bool has = before->kind == TLS_BY_PIN;
    if (has) {
        pins_join(pins, before);
        config->now = pins;
        config->generation++;
    }
    pthread_mutex_unlock(&config->lock);
    mmi_tls_context_drop(has ? before : pins);
    return has ? MM_OK : MM_ESTATE;
}

mmi_tls_context *
mmi_tls_config_now(mmi_tls_config *config, uint64_t *generation)
{
    pthread_mutex_lock(&config->lock);
    mmi_tls_context *now = config->now;
    atomic_fetch_add(&now->refs, 1);
    *generation = config->generation;
    pthread_mutex_unlock(&config->lock);
    return now;
}

mmi_tls_proof *
mmi_tls_proof_of(void *shield)
{
    mmi_tls_proof *proof = ((mmi_tls *)shield)->proof;
    atomic_fetch_add(&proof->refs, 1);
    return proof;
}

void
mmi_tls_proof_drop(mmi_tls_proof *proof)
{
    if (proof != NULL && atomic_fetch_sub(&proof->refs, 1) == 1) {
        proof->openssl->X509_free(proof->certificate);
        if (proof->chain != NULL) {
            proof->openssl->OPENSSL_sk_pop_free((struct stack_st *)proof->chain,
                                                (void (*)(void *))proof->openssl->X509_free);
        }
        pthread_mutex_destroy(&proof->lock);
        mmi_free(proof->der);
        mmi_free(proof);
    }
}

bool
mmi_tls_proof_stands(mmi_tls_config *config, mmi_tls_proof *proof)
{
    uint64_t generation;
    mmi_tls_context *now = mmi_tls_config_now(config, &generation);
    pthread_mutex_lock(&proof->lock);
    if (proof->judged != generation) {
        proof->stands = mmi_tls_judge(now, proof);
        proof->judged = generation;
    }
    bool stands = proof->stands;
    pthread_mutex_unlock(&proof->lock);
    mmi_tls_context_drop(now);
    return stands;
}
