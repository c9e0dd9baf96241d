/*
 * tran.h: a transport turns an endpoint into byte streams.  Framing, handshake and queues live
 * above, once.
 *
 * tcp and ipc are thin: they turn a URL into platform addresses.  inproc keeps a table of names for
 * the whole process, with its own lock, and joins two streams of the platform. Calls: engine lock
 * held, none blocks.
 */
#ifndef MMI_TRAN_H
#define MMI_TRAN_H

#include "wire/url.h"
#include "plat/plat.h"

typedef struct mmi_tran_ops {
    const char *scheme;
    bool local;             /* same machine by nature: no InsecureBind, no name resolution */
    /* Fills addrs from the url. count; MM_EAGAIN: being resolved, see plat->resolve. NULL for
     * inproc. */
    int (*resolve)(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap);
    int (*dial)(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a,
                int *stream); /* MM_OK; MM_EAGAIN in progress; MM_ECONNREFUSED ... */
} mmi_tran_ops;

const mmi_tran_ops *mmi_tran_find(int scheme);

/* inproc: a listener is a queue of streams waiting to be accepted, rung through wake. */
typedef struct mmi_inproc mmi_inproc;
int mmi_inproc_listen(const mmi_plat *pl, const char *name,
                      mmi_inproc **out) MMI_WARN_UNUSED;           /* MM_EADDRINUSE */
int mmi_inproc_accept(mmi_inproc *l, int *stream) MMI_WARN_UNUSED; /* MM_EAGAIN: none */
bool mmi_inproc_pending(const mmi_inproc *l);
void mmi_inproc_close(mmi_inproc *l);
extern const mmi_tran_ops mmi_inproc_ops;

/* For fork.c. */
void mmi_inproc_lock(void);
void mmi_inproc_unlock(void);
void mmi_inproc_after_fork(void);

#endif
