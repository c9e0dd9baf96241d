/*
 * tls_exporter.c: a program that exports names of OpenSSL, as a static Python does that has a copy
 * of its own: a library found at run time must not end up in them.
 * Not here: the handshakes (tls_beside.c), whose library it is told the path of.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void
called(const char *name)
{
    printf("the program's own %s was called\n", name);
    exit(3);
}

#define EXPORTED(name)                                                                             \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        called(#name);                                                                             \
    }

EXPORTED(BIO_new)
EXPORTED(EVP_CIPHER_fetch)
EXPORTED(EVP_MD_fetch)
EXPORTED(OPENSSL_sk_new_null)

int
main(int count, char **words)
{
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *beside = library != NULL ? dlsym(library, "tls_beside") : NULL;
    if (beside == NULL) {
        printf("%s\n", dlerror());
        return 2;
    }
    printf("%d\n", ((int (*)(int))beside)(10));
    return 0;
}
