/*
 * plat/posix/open.c: which descriptors this platform has open, so that a forked child can close its
 * copies.
 *
 * Law: a bit for each, under a lock of its own: they are opened and closed from any thread.
 */
#include <string.h>
#include <unistd.h>

#include "plat/posix/posix.h"

enum { OPEN_WORD_BITS = 64 };

int
mmi_posix_mark(mmi_posix *p, int fd)
{
    size_t word = (size_t)fd / OPEN_WORD_BITS;
    int rc = MM_OK;
    pthread_mutex_lock(&p->lock);
    if (word >= p->open_cap) {
        size_t cap = 2 * word + 2;
        uint64_t *grown = mmi_realloc(p->open, cap * sizeof *grown);
        rc = grown != NULL ? MM_OK : MM_ENOMEM;
        if (rc == MM_OK) {
            memset(grown + p->open_cap, 0, (cap - p->open_cap) * sizeof *grown);
            p->open = grown;
            p->open_cap = cap;
        }
    }
    if (rc == MM_OK) {
        p->open[word] |= (uint64_t)1 << ((size_t)fd % OPEN_WORD_BITS);
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int
mmi_posix_note(mmi_posix *p, int fd)
{
    int rc = mmi_posix_mark(p, fd);
    if (rc != MM_OK) {
        close(fd);
        return rc;
    }
    return fd;
}

void
mmi_posix_shut(mmi_posix *p, int fd)
{
    size_t word = (size_t)fd / OPEN_WORD_BITS;
    pthread_mutex_lock(&p->lock);
    if (word < p->open_cap) {
        p->open[word] &= ~((uint64_t)1 << ((size_t)fd % OPEN_WORD_BITS));
    }
    pthread_mutex_unlock(&p->lock);
    close(fd);
}

void
mmi_posix_close_all(mmi_posix *p)
{
    for (size_t word = 0; word < p->open_cap; word++) {
        for (int bit = 0; bit < OPEN_WORD_BITS && p->open[word] >> bit != 0; bit++) {
            if ((p->open[word] >> bit & 1) != 0) {
                close((int)(word * OPEN_WORD_BITS) + bit);
            }
        }
    }
}
