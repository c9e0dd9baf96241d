/*
 * steady.h: random octets for OpenSSL that are the same each time, so that what fuzzing finds can
 * be found again, and two runs can be compared.
 *
 * Not here: anything that is to be secret.
 * Law: who begins a run sets steady_state.
 */
#ifndef STEADY_H
#define STEADY_H

#include <dlfcn.h>

#include "base/base.h"

static uint64_t steady_state;

static inline int
steady_octets(unsigned char *out, int size)
{
    for (int i = 0; i < size; i++) {
        steady_state = steady_state * 6364136223846793005u + 1442695040888963407u;
        out[i] = (unsigned char)(steady_state >> 56);
    }
    return 1;
}

static inline int
steady_status(void)
{
    return 1;
}

/* Its RAND_METHOD. */
static const struct {
    int (*seed)(const void *, int);
    int (*octets)(unsigned char *, int);
    void (*cleanup)(void);
    int (*add)(const void *, int, double);
    int (*more)(unsigned char *, int);
    int (*status)(void);
} steady = { NULL, steady_octets, NULL, NULL, steady_octets, steady_status };

/* false: this OpenSSL cannot be told so. */
static inline bool
steady_openssl(void)
{
    static const char *const files[] = { "libcrypto.so.4", "libcrypto.so.3" };
    int (*set)(const void *) = NULL;
    for (size_t i = 0; i < MMI_COUNT_OF(files) && set == NULL; i++) {
        void *library = dlopen(files[i], RTLD_NOW | RTLD_NOLOAD);
        if (library != NULL) {
            *(void **)&set = dlsym(library, "RAND_set_rand_method");
        }
    }
    return set != NULL && set(&steady) == 1;
}

#endif
