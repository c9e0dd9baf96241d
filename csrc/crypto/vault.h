/*
 * vault.h: the secrets of an engine's connections (crypto/secret.h), for any thread.
 *
 * Not here: which keys there are.
 * Law: a secret is MMI_SECRET_SIZE octets; its lock is held for a few system calls at most, and nothing
 * else is taken meanwhile.  In a forked child it is not used.
 */
#ifndef MMI_VAULT_H
#define MMI_VAULT_H

#include "crypto/secret.h"

typedef struct mmi_vault mmi_vault;

/* pages: NULL for plain ones.  Has room for some at once, so that what the system refuses is known.  NULL: no
 * memory. */
mmi_vault *mmi_vault_new(const mmi_pages *pages) MMI_WARN_UNUSED;
void mmi_vault_free(mmi_vault *vault);              /* takes NULL; wipes what is still out, too */
/* Of no vault (NULL) it is plain memory, wiped all the same.  As mmi_secret_new. */
void *mmi_vault_take(mmi_vault *vault) MMI_WARN_UNUSED;
void mmi_vault_give(mmi_vault *vault, void *secret);   /* takes NULL */
uint32_t mmi_vault_lacks(mmi_vault *vault);         /* MMI_LACKS_ bits */

#endif
