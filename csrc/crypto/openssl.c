/*
 * openssl.c: the table of OpenSSL's functions by their addresses.
 *
 * Not here: how they were found (plat/posix/library.c).
 * Law: all or none: with a function missing, or an old version, it is not there.
 */
#include <stdio.h>
#include <string.h>

#include "crypto/openssl.h"

#define OPENSSL_NAME(result, name, arguments) #name,

const char *const mmi_openssl_names[MMI_OPENSSL_COUNT] = { MMI_OPENSSL_FUNCTIONS(OPENSSL_NAME) };

_Static_assert(sizeof(mmi_openssl) == MMI_OPENSSL_COUNT * sizeof(void *), "pointers only");

int
mmi_openssl_fill(mmi_openssl *out, void *const functions[MMI_OPENSSL_COUNT], char *why, size_t size)
{
    memcpy(out, functions, sizeof *out);
    if (out->OpenSSL_version_num != NULL && out->OpenSSL_version_num() < MMI_OPENSSL_MIN) {
        snprintf(why, size, "version %lx is older than 3.0", out->OpenSSL_version_num());
        return MM_EINVAL;
    }
    for (int i = 0; i < MMI_OPENSSL_COUNT; i++) {
        if (functions[i] == NULL) {
            snprintf(why, size, "it has no %s", mmi_openssl_names[i]);
            return MM_EINVAL;
        }
    }
    /* Without the handler of exit, under which threads that still write would find it taken down;
     * whoever began it before us may have asked for it all the same. */
    if (out->OPENSSL_init_ssl(MMI_OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
        const char *reason = out->ERR_reason_error_string(out->ERR_peek_last_error());
        snprintf(why, size, "it does not begin: %s", reason != NULL ? reason : "no reason given");
        out->ERR_clear_error();
        return MM_EINVAL;
    }
    return MM_OK;
}
