/*
 * tls_beside.c: handshakes of our own, in a process that makes others with a library of its own:
 * loaded by tests/fault/test_openssl_beside.py and its programs.
 * Not here: those others.
 */
#include "plat/library.h"
#include "tls_pair.h"

/* How many of count pairs shook hands, by certificate and by PSK in turn, and said something each
 * way; -1: there is no OpenSSL. */
int tls_beside(int count);

int
tls_beside(int count)
{
    const mmi_openssl *tls = mmi_openssl_get();
    int done = 0;
    for (int i = 0; tls != NULL && i < count; i++) {
        tls_pair pair;
        tls_pair_init(&pair, tls, MMI_TLS1_3_VERSION, i % 2 == 1);
        if (tls_join(&pair)) {
            tls_say(&pair, &pair.client, &pair.server, "there");
            tls_say(&pair, &pair.server, &pair.client, "and back");
            done++;
        }
        tls_pair_fini(&pair);
    }
    return tls != NULL ? done : -1;
}
