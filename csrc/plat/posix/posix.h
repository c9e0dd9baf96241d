/*
 * posix.h: what the files of the posix platform share.  Private to plat/.
 *
 * A stream, listener or notifier is its file descriptor.  Law: every descriptor is CLOEXEC and
 * nonblocking; the set of open ones is kept so that a forked child can close its copies.
 */
#ifndef MMI_POSIX_H
#define MMI_POSIX_H

#include <poll.h>
#include <sys/socket.h>

#include "plat/memory/memory.h"
#include "plat/plat.h"

typedef struct mmi_poller mmi_poller;
typedef struct mmi_resolver mmi_resolver;

/* The two pollers.  watch and interrupt from any thread; poll from one at a time. */
typedef struct mmi_poller_ops {
    const char *name;
    mmi_poller *(*open)(int *error);
    int (*watch)(mmi_poller *p, int fd, uint32_t events, uint64_t tag);
    int (*poll)(mmi_poller *p, mmi_event *out, int cap, uint64_t deadline_ns);
    void (*interrupt)(mmi_poller *p);
    void (*close)(mmi_poller *p);
    void (*after_fork)(mmi_poller *p);   /* closes its descriptors, touches nothing else */
} mmi_poller_ops;

extern const mmi_poller_ops mmi_poller_epoll, mmi_poller_poll;

typedef struct mmi_posix {
    const mmi_poller_ops *ops;
    mmi_poller *poller;
    mmi_resolver *resolver;
    pthread_mutex_t lock;          /* of open */
    uint64_t *open;                /* a bit for each descriptor this platform has open */
    size_t open_cap;               /* words */
    struct mmi_unix_file *files;   /* socket files of unix listeners */
    mmi_memory memory;             /* streams within the process */
    atomic_bool joined;            /* an event loop looks at the poller's set, and not at those */
} mmi_posix;

/* epoll.c: for mmi_plat, where epoll is used */
int mmi_epoll_outlook_open(void *self, int n, int *fd);
int mmi_epoll_outlook_join(void *self, int fd, bool on);
/* Nobody is in poll: streams within the process are to tell by way of the poller's set. */
void mmi_posix_outlook(mmi_posix *p);

int mmi_posix_error(int error);                       /* errors.c: errno -> mm_err */

/* open.c */
int mmi_posix_mark(mmi_posix *p, int fd);             /* as open; MM_ENOMEM: still the caller's */
int mmi_posix_note(mmi_posix *p, int fd); /* fd, noted as open; or closes it: MM_ENOMEM */
void mmi_posix_shut(mmi_posix *p, int fd);            /* forgets and closes */
void mmi_posix_close_all(mmi_posix *p);

/* clock.c */
int mmi_posix_timeout_ms(uint64_t deadline_ns);       /* for poll(2): -1 never, else rounded up */
/* poll(2) until a deadline, to the nanosecond where it is near; 0 does not wait. */
int mmi_posix_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns);
uint64_t mmi_posix_now_ns(void);
uint64_t mmi_posix_clock(void *self);                 /* the functions of mmi_plat */
uint64_t mmi_posix_wall_clock(void *self);
void mmi_posix_random(void *self, void *buf, size_t size);

/* thread.c */
int mmi_posix_detach(void *(*run)(void *arg), void *arg); /* a thread of its own, signals blocked */
int mmi_posix_thread_start(void *self, void (*run)(void *arg), void *arg, void **thread);
void mmi_posix_thread_join(void *self, void *thread);

/* addr.c */
socklen_t mmi_addr_to_sockaddr(const mmi_addr *a, struct sockaddr_storage *out);
void mmi_addr_from_sockaddr(const struct sockaddr_storage *in, mmi_addr *out);

/* stream.c: the functions of mmi_plat over descriptors */
int mmi_posix_connect(void *self, const mmi_addr *a, int *s);
int mmi_posix_connected(void *self, int s);
int mmi_posix_listen(void *self, mmi_addr *a, int *l);
int mmi_posix_accept(void *self, int l, int *s, mmi_addr *peer);
int mmi_posix_pair(void *self, int s[2]);
int64_t mmi_posix_lend(void *self, int s, const mmi_iov *iov, mmi_msg *const *owners, int n);
int mmi_posix_borrow(void *self, int s, mmi_iov *piece);
void mmi_posix_consume(void *self, int s, size_t size);
int64_t mmi_posix_readv(void *self, int s, const mmi_iov *iov, int n);
int64_t mmi_posix_writev(void *self, int s, const mmi_iov *iov, int n);
void mmi_posix_finish(void *self, int s);
void mmi_posix_close(void *self, int s);

/* transit.c */
void mmi_posix_transit(void *self, int s, uint32_t probe_ms, mmi_transit *out);
void mmi_posix_probe_as_usual(int s);

/* unix_file.c: the file of a unix listener */
int mmi_unix_listen(mmi_posix *p, int fd, mmi_addr *a, int backlog);   /* binds, too */
void mmi_unix_forget(mmi_posix *p, int fd);         /* removes the file when it is still ours */
void mmi_unix_forget_all(mmi_posix *p);

/* unix_name.c: names without a file */
bool mmi_unix_abstract(const mmi_addr *a);
int mmi_unix_credentials(void *self, int fd, mmi_credentials *out);   /* the functions of mmi_plat */
int mmi_unix_of_group(void *self, int fd, const uint32_t *gids, uint32_t count);
uint32_t mmi_unix_user(void *self);

/* resolve.c */
mmi_resolver *mmi_resolver_new(mmi_posix *p);
void mmi_resolver_free(mmi_resolver *r);              /* look-ups still running end by themselves */
int mmi_resolver_start(mmi_resolver *r, const char *host, uint16_t port, uint64_t tag,
                       mmi_addr *out, int cap);
int mmi_resolver_take(mmi_resolver *r, uint64_t tag, mmi_addr *out, int cap);
void mmi_resolver_forget(mmi_resolver *r, uint64_t tag);
int mmi_resolver_done(mmi_resolver *r, mmi_event *out, int cap);   /* events of finished look-ups */
int mmi_posix_resolve(void *self, const char *host, uint16_t port, uint64_t tag, mmi_addr *out,
                      int cap);   /* the functions of mmi_plat */
int mmi_posix_resolve_take(void *self, uint64_t tag, mmi_addr *out, int cap);
void mmi_posix_resolve_forget(void *self, uint64_t tag);
int mmi_posix_resolve_wait(void *self, const char *host, uint16_t port, mmi_addr *out, int cap);
int mmi_resolve_now(const char *host, uint16_t port, mmi_addr *out, int cap, bool number_only);

#endif
