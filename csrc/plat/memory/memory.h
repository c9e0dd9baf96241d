/*
 * memory.h: byte streams within the process: two ends joined by a queue of pieces each way.  A
 * piece is copied, or lent: a reference to the message or segment it lies in, which the reader drops.
 *
 * Not here: which streams are such (posix.c asks mmi_memory_is).  Law: a queue takes no more once
 * it holds MEMORY_BYTES_MAX; a pair's lock may be held when that of a platform's ends is taken, and
 * never the other way round; the two ends may belong to different platforms.
 */
#ifndef MMI_MEMORY_H
#define MMI_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/segment.h"
#include "plat/plat.h"

/* What one platform has of them.  wake: makes its poll return. */
typedef struct mmi_memory {
    pthread_mutex_t lock;
    mmi_list ends;             /* opened or watched by it, and not closed */
    mmi_list ready;            /* of those, the ones with something to tell */
    atomic_uint ready_count;
    atomic_bool asleep;        /* its poll waits for the system, and is to be woken */
    void (*wake)(void *arg);
    void *wake_arg;
} mmi_memory;

void mmi_memory_init(mmi_memory *m, void (*wake)(void *arg), void *arg);
void mmi_memory_fini(mmi_memory *m);                  /* closes what is left */

bool mmi_memory_is(int s);
int mmi_memory_pair(mmi_memory *m, int s[2]) MMI_WARN_UNUSED;     /* MM_EMFILE, MM_ENOMEM */
/* As those of plat.h. */
int64_t mmi_memory_readv(int s, const mmi_iov *iov, int n);
int64_t mmi_memory_lend(int s, const mmi_iov *iov, mmi_msg *const *owners, int n);
int mmi_memory_borrow(int s, mmi_iov *piece);
void mmi_memory_consume(int s, size_t size);
size_t mmi_memory_untaken(int s);                        /* octets the other end has not read */
void mmi_memory_finish(int s);
void mmi_memory_close(int s);
void mmi_memory_watch(mmi_memory *m, int s, uint32_t events, uint64_t tag);

/* The events there are. */
int mmi_memory_take(mmi_memory *m, mmi_event *out, int cap);
/* Before its poll waits for the system. false: it is not to, something is ready. */
bool mmi_memory_doze(mmi_memory *m);
void mmi_memory_wake(mmi_memory *m);                 /* it does not wait any more */

/* For the fork: the lock of the table of ends, and what a child does with it. */
void mmi_memory_lock(void);
void mmi_memory_unlock(void);
void mmi_memory_after_fork(void);

#endif
