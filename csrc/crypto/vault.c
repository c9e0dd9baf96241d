/*
 * crypto/vault.c: see crypto/vault.h.
 * Not here: the pages, the pieces (crypto/secret.c).
 */
#include "crypto/vault.h"

#include <pthread.h>

struct mmi_vault {
    pthread_mutex_t lock;
    mmi_secrets secrets;
};

mmi_vault *
mmi_vault_new(const mmi_pages *pages)
{
    mmi_vault *vault = mmi_alloc(sizeof *vault);
    if (vault == NULL) {
        return NULL;
    }
    mmi_secrets_init(&vault->secrets, pages, MMI_SECRETS_CHUNK_MAX);
    void *first = mmi_secret_new(&vault->secrets);
    if (first == NULL) {
        mmi_free(vault);
        return NULL;
    }
    mmi_secret_free(&vault->secrets, first);   /* its chunk stays */
    pthread_mutex_init(&vault->lock, NULL);
    return vault;
}

void
mmi_vault_free(mmi_vault *vault)
{
    if (vault != NULL) {
        mmi_secrets_fini(&vault->secrets);
        pthread_mutex_destroy(&vault->lock);
        mmi_free(vault);
    }
}

void *
mmi_vault_take(mmi_vault *vault)
{
    if (vault == NULL) {
        return mmi_alloc(MMI_SECRET_SIZE);
    }
    pthread_mutex_lock(&vault->lock);
    void *secret = mmi_secret_new(&vault->secrets);
    pthread_mutex_unlock(&vault->lock);
    return secret;
}

void
mmi_vault_give(mmi_vault *vault, void *secret)
{
    if (secret == NULL) {
        return;
    }
    if (vault == NULL) {
        mmi_wipe(secret, MMI_SECRET_SIZE);
        mmi_free(secret);
        return;
    }
    pthread_mutex_lock(&vault->lock);
    mmi_secret_free(&vault->secrets, secret);
    pthread_mutex_unlock(&vault->lock);
}

uint32_t
mmi_vault_lacks(mmi_vault *vault)
{
    pthread_mutex_lock(&vault->lock);
    uint32_t lacks = vault->secrets.lacks;
    pthread_mutex_unlock(&vault->lock);
    return lacks;
}
