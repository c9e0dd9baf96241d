/*
 * secret.c: pools of secrets, in chunks of equal pieces.
 *
 * Law: what says which piece is free is in plain memory, so that it is right in a forked child too,
 * whose chunks read as zeros.  The first piece of a chunk is a mark, by which that is noticed.
 */
#include <string.h>

#include "crypto/secret.h"

enum { SECRET_PIECES_MAX = MMI_SECRETS_CHUNK_MAX / MMI_SECRET_SIZE, SECRET_MARK = 0x5a };

typedef struct secret_chunk {
    struct secret_chunk *next;
    uint8_t *octets;
    uint16_t count;                       /* of free */
    uint16_t free[SECRET_PIECES_MAX];     /* indexes of pieces */
} secret_chunk;

static void *
secret_plain_map(size_t size, uint32_t *lacks)
{
    (void)lacks;
    return mmi_alloc(size);
}

static void
secret_plain_unmap(void *at, size_t size)
{
    (void)size;
    mmi_free(at);
}

const mmi_pages mmi_pages_plain = { secret_plain_map, secret_plain_unmap };

void
mmi_secrets_init(mmi_secrets *pool, const mmi_pages *pages, size_t chunk_size)
{
    MMI_ASSERT(chunk_size >= MMI_SECRETS_CHUNK_MIN && chunk_size <= MMI_SECRETS_CHUNK_MAX);
    MMI_ASSERT((chunk_size & (chunk_size - 1)) == 0);
    *pool = (mmi_secrets){ .pages = pages != NULL ? pages : &mmi_pages_plain,
                           .chunk_size = chunk_size };
}

static void
secret_chunk_free(mmi_secrets *pool, secret_chunk *chunk)
{
    mmi_wipe(chunk->octets, pool->chunk_size);
    pool->pages->unmap(chunk->octets, pool->chunk_size);
    mmi_free(chunk);
}

void
mmi_secrets_fini(mmi_secrets *pool)
{
    while (pool->chunks != NULL) {
        secret_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        secret_chunk_free(pool, chunk);
    }
    pool->live = 0;
}

static bool
secret_grow(mmi_secrets *pool)
{
    secret_chunk *chunk = mmi_alloc(sizeof *chunk);
    if (chunk == NULL) {
        return false;
    }
    chunk->octets = pool->pages->map(pool->chunk_size, &pool->lacks);
    if (chunk->octets == NULL) {
        mmi_free(chunk);
        return false;
    }
    chunk->octets[0] = SECRET_MARK;
    for (size_t i = pool->chunk_size / MMI_SECRET_SIZE - 1; i > 0; i--) {
        chunk->free[chunk->count++] = (uint16_t)i;
    }
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    return true;
}

void *
mmi_secret_new(mmi_secrets *pool)
{
    if ((pool->chunks == NULL || pool->chunks->count == 0) && !secret_grow(pool)) {
        return NULL;
    }
    secret_chunk *chunk = pool->chunks;
    uint8_t *secret = chunk->octets + (size_t)chunk->free[--chunk->count] * MMI_SECRET_SIZE;
    if (chunk->count == 0 && chunk->next != NULL) {
        /* To the end, so that who looks for room finds the first chunk with some, or none. */
        pool->chunks = chunk->next;
        secret_chunk *last = chunk->next;
        while (last->next != NULL) {
            last = last->next;
        }
        last->next = chunk;
        chunk->next = NULL;
    }
    pool->live++;
    return secret;
}

/* Where the chunk of a secret hangs. */
static secret_chunk **
secret_home(mmi_secrets *pool, const uint8_t *secret)
{
    secret_chunk **at = &pool->chunks;
    while (*at != NULL && !(secret >= (*at)->octets && secret < (*at)->octets + pool->chunk_size)) {
        at = &(*at)->next;
    }
    MMI_ASSERT(*at != NULL);
    return at;
}

void
mmi_secret_free(mmi_secrets *pool, void *secret)
{
    if (secret == NULL) {
        return;
    }
    secret_chunk **at = secret_home(pool, secret), *chunk = *at;
    mmi_wipe(secret, MMI_SECRET_SIZE);
    chunk->free[chunk->count++] =
        (uint16_t)((size_t)((uint8_t *)secret - chunk->octets) / MMI_SECRET_SIZE);
    pool->live--;
    *at = chunk->next;
    if (chunk->count == pool->chunk_size / MMI_SECRET_SIZE - 1 && pool->chunks != NULL &&
        pool->chunks->count > 0) {
        secret_chunk_free(pool, chunk); /* another has room enough */
        return;
    }
    chunk->next = pool->chunks;
    pool->chunks = chunk;
}

bool
mmi_secrets_lost(const mmi_secrets *pool)
{
    return pool->chunks != NULL && pool->chunks->octets[0] != SECRET_MARK;
}

void
mmi_wipe(void *at, size_t size)
{
    explicit_bzero(at, size);
}

__attribute__((noinline)) void
mmi_wipe_stack(void)
{
    uint8_t below[MMI_STACK_WIPED];
    explicit_bzero(below, sizeof below);
}

void
mmi_secret_copy(void *to, const void *from, size_t size)
{
    volatile uint8_t *out = to;
    const volatile uint8_t *in = from;
    for (size_t i = 0; i < size; i++) {
        out[i] = in[i];
    }
}

bool
mmi_secret_equal(const void *a, const void *b, size_t size)
{
    const volatile uint8_t *left = a, *right = b;
    uint8_t differ = 0;
    for (size_t i = 0; i < size; i++) {
        differ |= (uint8_t)(left[i] ^ right[i]);
    }
    return differ == 0;
}
