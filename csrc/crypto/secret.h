/*
 * secret.h: memory for keys: pages of their own that no core dump has, no forked child and, where the
 * system allows it, no swap; wiped when they are given back.
 *
 * Not here: the pages (mmi_pages: those of the system are plat/pages.h; a simulated platform gets plain
 * memory); which keys there are.  A pool belongs to whoever made it, an engine or a policy, and has no
 * lock of its own.
 * Law: a secret is in such memory or on the stack of a call that wipes it; what is given back is
 * wiped first; none is read to find another; nothing is allocated a message.
 */
#ifndef MMI_SECRET_H
#define MMI_SECRET_H

#include "base/base.h"

enum {
    MMI_SECRET_SIZE = 256,             /* octets of one: all keys of a connection */
    MMI_STACK_WIPED = 8 * 1024,        /* octets: more than a call of libsodium uses */
    MMI_SECRETS_CHUNK_MIN = 4096,      /* octets that a pool takes at once: for a policy */
    MMI_SECRETS_CHUNK_MAX = 64 * 1024  /* and for an engine, which has a secret a connection */
};

/* What the system refused; keys are safe from the network all the same. */
enum {
    MMI_LACKS_LOCK = 1,                /* may be swapped out: RLIMIT_MEMLOCK is reached, mostly */
    MMI_LACKS_DONTDUMP = 2,            /* is in core dumps */
    MMI_LACKS_WIPEONFORK = 4           /* a forked child has a copy */
};

typedef struct mmi_pages {
    /* Octets of zeros, with pages around them that nobody may touch; NULL: no memory.  What is
     * refused is or-ed to *lacks. */
    void *(*map)(size_t size, uint32_t *lacks);
    void (*unmap)(void *at, size_t size);
} mmi_pages;

extern const mmi_pages mmi_pages_plain;   /* of the heap, which lacks all three; says nothing of it */

typedef struct mmi_secrets {
    const mmi_pages *pages;
    struct secret_chunk *chunks;       /* those with room first */
    size_t chunk_size;
    uint32_t lacks;                    /* MMI_LACKS_ bits, of any chunk there was */
    uint32_t live;                     /* secrets given out */
} mmi_secrets;

/* pages: NULL for plain ones.  chunk_size: a power of two from MMI_SECRETS_CHUNK_MIN to
 * MMI_SECRETS_CHUNK_MAX.  Takes nothing yet. */
void mmi_secrets_init(mmi_secrets *pool, const mmi_pages *pages, size_t chunk_size);
/* Wipes all that is still out, too. */
void mmi_secrets_fini(mmi_secrets *pool);
/* MMI_SECRET_SIZE octets of zeros, aligned for anything; NULL: no memory. */
void *mmi_secret_new(mmi_secrets *pool) MMI_WARN_UNUSED;
void mmi_secret_free(mmi_secrets *pool, void *secret);   /* takes NULL */
/* In a forked child: its secrets are zeros now, and must not be used as keys. */
bool mmi_secrets_lost(const mmi_secrets *pool);

/* Zeros that no compiler leaves out. */
void mmi_wipe(void *at, size_t size);
/* The same of what calls that are over left on this thread's stack, MMI_STACK_WIPED octets below the caller: after one
 * of a library that multiplies by a secret, which may have a copy there. */
void mmi_wipe_stack(void);
/* memcpy would leave octets in wide registers, which stay as they are for long, are a new thread's as well, and are
 * saved on stacks. */
void mmi_secret_copy(void *to, const void *from, size_t size);
/* Takes as long whatever is equal. */
bool mmi_secret_equal(const void *a, const void *b, size_t size);

#endif
