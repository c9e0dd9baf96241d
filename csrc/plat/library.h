/*
 * library.h: libraries of others, found at run time, not linked: whoever has none of them loses what
 * they are for, nothing else.
 *
 * Not here: the tables of their functions (crypto/).  No lock is needed or taken, and any thread may
 * call; these calls may read files, so the engine's lock is not held.  What was found once stays
 * loaded, and stays the answer, to the end of the process; a forked child has it too.
 */
#ifndef MMI_LIBRARY_H
#define MMI_LIBRARY_H

#include "crypto/openssl.h"
#include "crypto/sodium.h"

/* What was offered, else the system's libsodium.so.26 or .23; NULL: neither is there, and works. */
const mmi_sodium *mmi_sodium_get(void);
/* Why get gave NULL: what was tried, and what to install; "" when it did not. */
const char *mmi_sodium_missing(void);
/* Somebody else's copy in this process (PyNaCl's), by the addresses of its functions, in the order of
 * mmi_sodium_names, 0 for what it has not.  MM_OK: it is what get gives, or another is already.
 * MM_EINVAL: it has not all, or computes wrongly; *wrong is the name. */
int mmi_sodium_offer(void *const functions[MMI_SODIUM_FUNCTIONS],
                     const char **wrong) MMI_WARN_UNUSED;

/* OpenSSL 3.0 or later: the copy that this process has mapped, else libssl.so.4 or .3 of the system;
 * NULL: none is there and whole. */
const mmi_openssl *mmi_openssl_get(void);
const char *mmi_openssl_missing(void);   /* as mmi_sodium_missing */

#endif
