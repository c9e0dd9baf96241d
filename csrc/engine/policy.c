/*
 * engine/policy.c: policies of an engine's sockets, which its connections refer to without a lock.
 *
 * Not here: what is in one (a mechanism's config).
 * Law: a policy is never changed and outlives every connection of its engine; the same one is kept
 * once, so that sockets that come and go add nothing.  It is in pages for secrets, and what leads
 * to it is not: in a forked child those may read as zeros.
 */
#include "crypto/vault.h"
#include "engine/engine.h"

typedef struct mmi_policy {
    mmi_list node;
    size_t size;
    const mmi_pages *pages;
    void *data;
} mmi_policy;

const void *
mmi_engine_policy(mmi_engine *e, const void *data, size_t size)
{
    MMI_LIST_EACH (&e->policies, node, after) {
        mmi_policy *kept = MMI_CONTAINER_OF(node, mmi_policy, node);
        if (kept->size == size && mmi_secret_equal(kept->data, data, size)) {
            return kept->data;
        }
    }
    mmi_policy *fresh = mmi_alloc(sizeof *fresh);
    if (fresh == NULL) {
        return NULL;
    }
    fresh->pages = e->plat.pages != NULL ? e->plat.pages : &mmi_pages_plain;
    fresh->data = fresh->pages->map(size, &e->secrets_lack);
    if (fresh->data == NULL) {
        mmi_free(fresh);
        return NULL;
    }
    fresh->size = size;
    mmi_secret_copy(fresh->data, data, size);
    mmi_list_push_back(&e->policies, &fresh->node);
    return fresh->data;
}

struct mmi_vault *
mmi_engine_vault(mmi_engine *e)
{
    if (e->vault == NULL) {
        e->vault = mmi_vault_new(e->plat.pages);
    }
    return e->vault;
}

uint32_t
mmi_engine_secrets_lack(const mmi_engine *e)
{
    return e->secrets_lack | (e->vault != NULL ? mmi_vault_lacks(e->vault) : 0);
}

void
mmi_engine_forget_policies(mmi_engine *e)
{
    mmi_vault_free(e->vault);
    e->vault = NULL;
    MMI_LIST_EACH (&e->policies, node, after) {
        mmi_policy *kept = MMI_CONTAINER_OF(node, mmi_policy, node);
        mmi_list_rm(node);
        mmi_wipe(kept->data, kept->size);
        kept->pages->unmap(kept->data, kept->size);
        mmi_free(kept);
    }
}
