/*
 * plat.h: the only door to the world.  posix.c (with epoll.c or poll.c) and sim.c implement it.
 *
 * A stream, listener or notifier is a small int of the platform's choosing (posix: the fd).
 * Nothing here blocks but poll and wait.  Results: >= 0 or a negative mm_err; EINTR never comes out
 * of anything but wait.  Unless said otherwise the caller holds its engine's lock; now_ns, wall_ns,
 * random, readv, writev, lend, interrupt, notifier_ring and wait may be called with or without it;
 * a stream is not closed while it is read or written.
 */
#ifndef MMI_PLAT_H
#define MMI_PLAT_H

#include "base/msg.h"

typedef struct mmi_iov { void *data; size_t size; } mmi_iov;   /* same layout as struct iovec */

typedef enum mmi_addr_kind {
    MMI_ADDR_NONE,
    MMI_ADDR_TCP4,
    MMI_ADDR_TCP6,
    MMI_ADDR_UNIX
} mmi_addr_kind;
typedef struct mmi_addr {
    uint8_t kind;
    bool any; /* wildcard: listen on every interface, both families where there are two;
                 MMI_ADDR_UNIX: on a fresh path, which listen fills in */
    uint16_t port;         /* host order */
    uint8_t ip[16];
    uint32_t scope;        /* IPv6 zone index */
    char path[108];        /* MMI_ADDR_UNIX; "@name": Linux's abstract namespace, no file */
    bool open;             /* MMI_ADDR_UNIX, to listen: any user may connect; else our own, and root */
} mmi_addr;

enum {
    MMI_WATCH_READ = 1,
    MMI_WATCH_WRITE = 2,
    MMI_WATCH_HANGUP = 4
}; /* HANGUP is only reported, with READ */
typedef struct mmi_event {
    uint64_t tag;
    uint32_t events;       /* MMI_WATCH_ bits, or MMI_RESOLVED */
} mmi_event;
enum { MMI_RESOLVED = 8, MMI_ADDRS_MAX = 16 };

/* What is known of the octets on their way to a peer, and of the system it runs on. */
typedef struct mmi_transit {
    uint64_t untaken;      /* written and not taken yet: by the peer's system, over TCP; by the peer
                              itself, on this machine.  Octets, or the memory they take */
    uint64_t heard_ns;     /* so long ago the peer's system last acknowledged or answered; 0 where
                              it is our own */
    bool owed;             /* and it has left something unanswered since then */
} mmi_transit;

/* Who is at the other side of a unix socket, as it was when it connected or began to listen. */
typedef struct mmi_credentials {
    uint32_t pid, uid, gid;
} mmi_credentials;

typedef struct mmi_plat mmi_plat;
struct mmi_plat {
    void *self;
    const char *name;               /* "epoll", "poll", "sim"     */
    uint32_t cpus;                  /* this process may use       */
    bool callers_poll;              /* poll may be called by any thread in turn, at little cost */
    const void *domain;             /* engines of one domain can pass streams to each other */
    uint64_t (*now_ns)(void *self); /* monotonic                  */
    uint64_t (*wall_ns)(void *self);
    void (*random)(void *self, void *buf, size_t size);

    /* A number is resolved at once: *out is filled, returns the count.  A name: MM_EAGAIN, and
     * later poll gives {tag, MMI_RESOLVED}; then resolve_take gives the count, or MM_ENOHOST.
     * Forgetting a tag is allowed (resolve_forget) and needed before the engine goes.  A tag has
     * one look-up at a time. */
    int (*resolve)(void *self, const char *host, uint16_t port, uint64_t tag, mmi_addr *out,
                   int cap);
    int (*resolve_take)(void *self, uint64_t tag, mmi_addr *out, int cap);
    void (*resolve_forget)(void *self, uint64_t tag);
    int (*resolve_wait)(void *self, const char *host, uint16_t port, mmi_addr *out,
                        int cap); /* blocks: lock NOT held */

    int (*connect)(void *self, const mmi_addr *a,
                   int *s); /* MM_OK, or MM_EAGAIN: *s is set, watch for WRITE, then connected */
    int (*connected)(void *self, int s); /* how it ended: MM_OK, MM_ECONNREFUSED, ... */
    int (*listen)(
        void *self, mmi_addr *a,
        int *l); /* fills in a port 0 and a fresh path; MM_EADDRINUSE, MM_EADDRNOTAVAIL, MM_EPERM,
                    MM_EMFILE; of a path also MM_EEXIST (what is there is no socket, and stays),
                    MM_ENOENT, MM_ENOTDIR, MM_ELOOP, MM_ENAMETOOLONG, MM_EROFS, MM_ENOSPC */
    int (*accept)(void *self, int l, int *s,
                  mmi_addr *peer);     /* MM_EAGAIN: none; MM_EMFILE; others: skip this one */
    int (*pair)(void *self, int s[2]); /* two joined streams (inproc) */
    /* Of a stream made by pair; NULL: they are written and read as any other.  lend is writev that
     * may keep what has an owner by reference, counted, until the peer has read it.  borrow gives
     * octets where they lie, as many as went in together; they stay until they are spent, from
     * the front.  MM_EAGAIN: none yet; MM_ENOTSUP: they lie in pieces, or end here: see readv. */
    int64_t (*lend)(void *self, int s, const mmi_iov *iov, mmi_msg *const *owners, int n);
    int (*borrow)(void *self, int s, mmi_iov *piece);
    void (*consume)(void *self, int s, size_t size);
    int64_t (*readv)(void *self, int s, const mmi_iov *iov,
                     int n); /* > 0 bytes, 0 = EOF, MM_EAGAIN, MM_ECONNRESET */
    int64_t (*writev)(void *self, int s, const mmi_iov *iov,
                      int n);          /* > 0 bytes, may be short; MM_EAGAIN, MM_ECONNRESET */
    /* probe_ms: while the peer has no room, its system is to be asked that often at least, where the
     * platform can do so; 0: as usual. */
    void (*transit)(void *self, int s, uint32_t probe_ms, mmi_transit *out);
    /* Of a unix socket.  MM_ENOTSUP: s is none, or the system cannot tell. */
    int (*peer_credentials)(void *self, int s, mmi_credentials *out);
    /* Whether that user is, or was then, of one of these groups as well: MM_OK, or MM_EPERM; else likewise. */
    int (*peer_of_group)(void *self, int s, const uint32_t *gids, uint32_t count);
    uint32_t (*user)(void *self);   /* whose program this is, now */
    void (*finish)(void *self, int s); /* no more writes: FIN after what was written */
    void (*close)(void *self,
                  int s); /* stream or listener; removes its watch; a unix listener's file too */

    int (*watch)(void *self, int s, uint32_t events,
                 uint64_t tag); /* level-triggered; add, change, 0 = remove */
    int (*poll)(
        void *self, mmi_event *out, int cap,
        uint64_t deadline_ns);     /* engine lock NOT held; count, 0 at the deadline or interrupt */
    void (*interrupt)(void *self); /* makes poll return; sticky, idempotent; any thread */

    int (*notifier_open)(
        void *self, int *n); /* posix: a nonblocking eventfd; its int is the fd users select on */
    void (*notifier_ring)(void *self, int n); /* makes it readable; idempotent */
    void (*notifier_clear)(void *self, int n);
    void (*notifier_close)(void *self, int n);
    /* NULL where callers_poll is false.  A descriptor for somebody else's event loop: readable while
     * notifier n is rung and, while joined, while poll would find something.  Closed like a
     * notifier. */
    int (*outlook_open)(void *self, int n, int *fd);
    int (*outlook_join)(void *self, int fd, bool on);
    int (*wait)(
        void *self, int n,
        uint64_t deadline_ns); /* engine lock NOT held; MM_OK rung, MM_ETIMEDOUT, MM_EINTR */

    int (*thread_start)(void *self, void (*run)(void *arg), void *arg,
                        void **thread); /* all signals blocked; NULL: the world steps */
    void (*thread_join)(void *self, void *thread);

    void (*after_fork)(void *self);      /* in the child: close every inherited descriptor; no read,
                                            write, shutdown or epoll_ctl on them */
    void (*free)(void *self);            /* closes what is left */

    const struct mmi_pages *pages;       /* for secrets (crypto/secret.h); NULL: plain memory */
};

int mmi_plat_posix(bool use_poll, mmi_plat *out) MMI_WARN_UNUSED;        /* MM_EMFILE, MM_ENOMEM */

/* "scheme://127.0.0.1:5555", "scheme://[::1]:1", "scheme:///run/x"; of none "?". */
void mmi_addr_format(const mmi_addr *a, const char *scheme, char *out, size_t size);
/* The same for peers that may be one: an IPv4 address, however it is written; the /64 of IPv6, as who
 * has one has all its addresses; 0 of those without an address. */
uint64_t mmi_addr_network(const mmi_addr *a);
bool mmi_addr_loopback(const mmi_addr *a); /* unix counts as loopback; a wildcard does not */

/* The mutex of an engine: plain, with a name that says what it is for.  fork.c re-initialises it in
 * a child. */
#include <pthread.h>
typedef pthread_mutex_t mmi_mutex;

#endif
