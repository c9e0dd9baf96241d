/*
 * libsodium alone: the receiver opens one box again and again, as a receiver of CURVE has to for each
 * message; nothing is sent.
 * Law: the library is found as meshmsg finds the system's, without headers; each box is opened whole.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

enum { SODIUM_PAD = 32, SODIUM_BOX_PAD = 16, SODIUM_FLAGS = 1 };

typedef int sodium_box(uint8_t *out, const uint8_t *in, unsigned long long size, const uint8_t *n,
                       const uint8_t *k);

struct bench_end {
    sodium_box *open;
    uint8_t *sealed; /* padded */
    uint8_t *opened;
    size_t size;
};

static const uint8_t sodium_nonce[24], sodium_key[32];

static void *
sodium_library(void)
{
    static const char *const files[] = { "libsodium.so.26", "libsodium.so.23" };
    void *library = NULL;
    for (size_t i = 0; library == NULL && i < sizeof files / sizeof *files; i++) {
        library = dlopen(files[i], RTLD_NOW);
    }
    return library;
}

static void *
sodium_function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        bench_fail(name);
    }
    return found;
}

static void
sodium_prepare(bench_end *end)
{
    void *library = sodium_library();
    if (library == NULL) {
        bench_fail("libsodium.so.26 or .23 is not there");
    }
    int (*init)(void);
    sodium_box *seal;
    *(void **)&init = sodium_function(library, "sodium_init");
    *(void **)&seal = sodium_function(library, "crypto_box_afternm");
    *(void **)&end->open = sodium_function(library, "crypto_box_open_afternm");
    size_t padded = SODIUM_PAD + SODIUM_FLAGS + end->size;
    end->sealed = calloc(1, padded);
    end->opened = calloc(1, padded);
    if (end->sealed == NULL || end->opened == NULL || init() < 0 ||
        seal(end->sealed, end->opened, padded, sodium_nonce, sodium_key) != 0) {
        bench_fail("a box could not be made");
    }
}

bench_end *
bench_open(const bench_task *task, char *endpoint, size_t endpoint_size)
{
    bench_end *end = calloc(1, sizeof *end);
    if (end == NULL) {
        bench_fail("calloc");
    }
    end->size = task->size;
    if (task->receives) {
        sodium_prepare(end);
        snprintf(endpoint, endpoint_size, "%s", task->url);
    }
    return end;
}

void
bench_send(bench_end *end, const void *body, size_t size)
{
    (void)end, (void)body, (void)size;
}

void
bench_flush(bench_end *end)
{
    (void)end;
}

bool
bench_offer(bench_end *end, const void *body, size_t size)
{
    (void)end, (void)body, (void)size;
    bench_fail("libsodium sends nothing");
}

const uint8_t *
bench_recv(bench_end *end, size_t *size)
{
    size_t padded = SODIUM_PAD + SODIUM_FLAGS + end->size;
    if (end->open(end->opened, end->sealed, padded, sodium_nonce, sodium_key) != 0) {
        bench_fail("a box does not open");
    }
    *size = end->size;
    return end->opened + SODIUM_PAD + SODIUM_FLAGS;
}

void
bench_close(bench_end *end)
{
    free(end->sealed);
    free(end->opened);
    free(end);
}

const char *
bench_version(void)
{
    void *library = sodium_library();
    const char *(*version)(void) = NULL;
    if (library != NULL) {
        *(void **)&version = dlsym(library, "sodium_version_string");
    }
    return version != NULL ? version() : "";
}
