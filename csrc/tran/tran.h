/*
 * tran.h: a transport turns an endpoint into streams of the platform.  It is a table of functions;
 * tran.c lists them all.  Nobody else knows a scheme: what differs between transports is a field
 * or a function here.
 *
 * Not here: what is read and written on a stream (link), when to dial again (ends/dialer.c), who
 * is let in (ends/listener.c).  Law: the engine's lock is held and nothing blocks, unless it says
 * otherwise; what a function does not fill in on failure stays as it was.
 */
#ifndef MMI_TRAN_H
#define MMI_TRAN_H

#include "plat/plat.h"
#include "wire/url.h"

enum {
    MMI_TRAN_LOCAL = 1,   /* its endpoints are of this machine: bind asks for no MM_OPT_INSECURE */
    MMI_TRAN_LENDS = 2,   /* its streams are made by plat->pair: what is written may be lent */
    MMI_TRAN_WIRES = 4,      /* a wire may be named in front of its endpoints: sp+scheme:// */
    MMI_TRAN_OUTER = 16,  /* [sp+]tls+scheme:// is one, too: an outer mechanism comes first */
    MMI_TRAN_MARKS = 8,   /* a wire that marks its messages on some transports does so here: SP */
    MMI_TRAN_USERS = 32   /* its streams tell whose program is at the other side: ends/user.c looks */
};

/* What listens: listen fills it in. */
typedef struct mmi_tran_listener {
    bool open;       /* to listen: of MMI_TRAN_USERS, users besides ours may connect */
    int stream;      /* that poll watches for MMI_WATCH_READ; without a meaning if there is pending */
    void *state;     /* of the transport's own */
} mmi_tran_listener;

/* Why there is no stream, where the code does not say it all.  It comes zeroed. */
typedef struct mmi_tran_why {
    int reason;                        /* mm_reason, or MM_REASON_NONE: see the code */
    char detail[MM_DETAIL_MAX + 1];    /* "": the reason says it all */
} mmi_tran_why;

typedef struct mmi_tran {
    const char *scheme;      /* of at most MMI_SCHEME_MAX octets */
    uint32_t flags;          /* MMI_TRAN_ */
    uint32_t redial_ms;      /* not 0: a dial that fails costs next to nothing.  It is tried again that
                                often, whatever the socket's options say, and told once */

    /* What is behind scheme://: mmi_url_host or mmi_url_name, and what else is to be said of it. */
    int (*parse)(const char *rest, mmi_url *out, char *why);

    /* To connect: the addresses there are.  Their count, or MM_ENOHOST; MM_EAGAIN: poll will say
     * MMI_RESOLVED of that tag, see plat->resolve.  NULL: dial needs the url only. */
    int (*resolve)(const mmi_plat *pl, const mmi_url *u, uint64_t tag, mmi_addr *out, int cap);
    /* One attempt.  a: one of resolve's, or NULL.  MM_OK; MM_EAGAIN: *stream is set, and connected
     * once poll says MMI_WATCH_WRITE and plat->connected agrees; MM_ECONNREFUSED ... */
    int (*dial)(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, int *stream,
                mmi_tran_why *why);

    /* Of one with redial_ms: who listens there now, a number that is never used again; 0: nobody.  Costs
     * next to nothing.  Else NULL. */
    uint64_t (*listening)(const mmi_plat *pl, const mmi_url *u);

    /* To bind: where that is.  May block: the lock is NOT held.  NULL: listen needs the url only. */
    int (*locate)(const mmi_plat *pl, const mmi_url *u, mmi_addr *out);
    /* a: what locate found; of no kind where there is no locate.  bound gets the endpoint, with what
     * was left open filled in (a port 0, a fresh path).  MM_EADDRINUSE ..., see plat->listen. */
    int (*listen)(const mmi_plat *pl, const mmi_url *u, const mmi_addr *a, mmi_tran_listener *l,
                  char *bound, size_t bound_size);
    /* NULL: poll watches l->stream.  Else poll cannot: it is asked before and after each poll whether
     * somebody waits to be accepted, and who comes calls interrupt of the listener's platform. */
    bool (*pending)(const mmi_tran_listener *l);
    /* peer: of kind MMI_ADDR_NONE if it has no address but the listener's.  MM_EAGAIN: nobody is there;
     * MM_EMFILE, MM_ENOMEM: try again later; others: that one is gone, and why may say for what. */
    int (*accept)(const mmi_plat *pl, const mmi_tran_listener *l, int *stream, mmi_addr *peer,
                  mmi_tran_why *why);
    void (*close)(const mmi_plat *pl, const mmi_tran_listener *l);   /* and who waits in it */

    /* Of what it has for the whole process; NULL: nothing.  Around a fork, its lock is taken in the
     * parent and released there; the child makes it new and forgets what is the parent's. */
    void (*fork_lock)(void);
    void (*fork_unlock)(void);
    void (*fork_child)(void);
} mmi_tran;

/* Endpoint text to parts, and its transport.  use: MM_USE_BIND or MM_USE_CONNECT: what only the other
 * can use is refused; 0: either.  MM_OK, or MM_EADDRINVAL or MM_ENAMETOOLONG with a reason in why (may be
 * NULL, else MM_WHY_SIZE octets).  Any thread, no lock. */
int mmi_tran_parse(const char *text, int use, mmi_url *out, char *why) MMI_WARN_UNUSED;
const mmi_tran *mmi_tran_of(const mmi_url *u);   /* of one that was parsed */

/* For tests, which bring one of their own: before the first endpoint is used, from one thread.
 * MM_EINVAL: its scheme is taken, empty or too long, or there is no room. */
int mmi_tran_add(const mmi_tran *tran) MMI_WARN_UNUSED;

/* For fork.c: those of all transports. */
void mmi_tran_fork_lock(void);
void mmi_tran_fork_unlock(void);
void mmi_tran_fork_child(void);

extern const mmi_tran mmi_tran_tcp, mmi_tran_ipc, mmi_tran_inproc;

/*
 * What is not built yet, and where it goes.
 *
 * Shared memory: its streams are the platform's, as those of inproc are (plat/memory): a plat/shm
 * beside it, to which posix.c hands what belongs to it.  dial connects to a unix socket and returns
 * MM_EAGAIN; plat->connected says MM_EAGAIN until both sides have the descriptors.  Nothing above
 * plat and tran sees a difference.
 *
 * WebSocket: a handshake before the wire's first octet, and then frames around all of them.  That is an
 * outer mechanism (wire/mechanism.h), as TLS is, but one that protects nothing: its begin, feed, seal
 * and open are those of RFC 6455, its farewell is a Close, its prefix stands beside tls+ (wire/url.h).
 * Over TLS it is the second of two, which wire/outer.c has no place for yet.
 */

#endif
