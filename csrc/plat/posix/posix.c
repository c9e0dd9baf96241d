/*
 * posix.c: the real world: randomness, notifiers, a poll, and the table of it all.
 *
 * Not here: streams (stream.c), pollers (epoll.c, poll.c), names (resolve.c), clocks (clock.c),
 * threads (thread.c), which descriptors are open (open.c), simulation (sim.c).
 * Law: only what this platform opened is closed in a forked child, and nothing else is done to it.
 */
#include "plat/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define POSIX_SINGLE_THREADED
#endif

#include "plat/pages.h"

enum { POSIX_FILES = 2048 };   /* descriptors that are made room for, 8 octets each */

static const char posix_domain;   /* its address: descriptors are the whole process's */

void
mmi_posix_random(void *self, void *buf, size_t size)
{
    (void)self;
    uint8_t *at = buf;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
}

static int
posix_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    mmi_posix *p = self;
    if (mmi_memory_is(s)) {
        mmi_memory_watch(&p->memory, s, events, tag);
        return MM_OK;
    }
    int rc = mmi_posix_mark(p, s);
    return rc != MM_OK ? rc : p->ops->watch(p->poller, s, events, tag);
}

static int
posix_poll(void *self, mmi_event *out, int cap, uint64_t deadline_ns)
{
    mmi_posix *p = self;
    int count = mmi_resolver_done(p->resolver, out, cap);
    if (count == cap) {
        return count;
    }
    int near = mmi_memory_take(&p->memory, out + count, cap - count);
    count += near;
    if (count == cap) {
        return count;
    }
    bool sleeps = count == 0 && deadline_ns != 0 && mmi_memory_doze(&p->memory);
    count += p->ops->poll(p->poller, out + count, cap - count, sleeps ? deadline_ns : 0);
    if (sleeps) {
        mmi_memory_wake(&p->memory);
    }
    if (near == 0) {
        count += mmi_memory_take(&p->memory, out + count, cap - count);
    }
    mmi_posix_outlook(p);
    return count + mmi_resolver_done(p->resolver, out + count, cap - count);
}

static void
posix_interrupt(void *self)
{
    mmi_posix *p = self;
    p->ops->interrupt(p->poller);
}

/* As many as the affinity mask allows, which containers narrow; or as a test says. */
static uint32_t
posix_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return mmi_cpus_told() > 0 ? mmi_cpus_told() : count > 0 ? (uint32_t)count : 1;
}

static int
posix_notifier_open(void *self, int *n)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        return mmi_posix_error(errno);
    }
    *n = mmi_posix_note(self, fd);
    return *n < 0 ? *n : MM_OK;
}

static void
posix_notifier_ring(void *self, int n)
{
    (void)self;
    uint64_t one = 1;
    (void)(write(n, &one, sizeof one) == sizeof one);   /* full means rung */
}

static void
posix_notifier_clear(void *self, int n)
{
    (void)self;
    uint64_t count;
    (void)(read(n, &count, sizeof count) == sizeof count);   /* empty means clear */
}

static void
posix_notifier_close(void *self, int n)
{
    mmi_posix_shut(self, n);
}

static int
posix_wait(void *self, int n, uint64_t deadline_ns)
{
    (void)self;
    for (;;) {
        struct pollfd fd = { .fd = n, .events = POLLIN };
        int rc = mmi_posix_poll(&fd, 1, deadline_ns);
        if (rc > 0) {
            return MM_OK;
        }
        if (rc < 0) {
            return MM_EINTR;
        }
        if (mmi_posix_now_ns() >= deadline_ns) {
            return MM_ETIMEDOUT;
        }
    }
}

static void
posix_after_fork(void *self)
{
    mmi_posix *p = self;
    p->ops->after_fork(p->poller);
    mmi_posix_close_all(p);
}

static void
posix_free(void *self)
{
    mmi_posix *p = self;
    if (p->resolver != NULL) {
        mmi_resolver_free(p->resolver);
    }
    if (p->poller != NULL) {
        p->ops->close(p->poller);
    }
    mmi_unix_forget_all(p);
    mmi_memory_fini(&p->memory);
    mmi_posix_close_all(p);
    pthread_mutex_destroy(&p->lock);
    mmi_free(p->open);
    mmi_free(p);
}

static const mmi_plat posix_plat = {
    .domain = &posix_domain,
    .now_ns = mmi_posix_clock,
    .wall_ns = mmi_posix_wall_clock,
    .random = mmi_posix_random,
    .resolve = mmi_posix_resolve,
    .resolve_take = mmi_posix_resolve_take,
    .resolve_forget = mmi_posix_resolve_forget,
    .resolve_wait = mmi_posix_resolve_wait,
    .connect = mmi_posix_connect,
    .connected = mmi_posix_connected,
    .listen = mmi_posix_listen,
    .accept = mmi_posix_accept,
    .pair = mmi_posix_pair,
    .lend = mmi_posix_lend,
    .borrow = mmi_posix_borrow,
    .consume = mmi_posix_consume,
    .readv = mmi_posix_readv,
    .writev = mmi_posix_writev,
    .transit = mmi_posix_transit,
    .peer_credentials = mmi_unix_credentials,
    .peer_of_group = mmi_unix_of_group,
    .user = mmi_unix_user,
    .finish = mmi_posix_finish,
    .close = mmi_posix_close,
    .watch = posix_watch,
    .poll = posix_poll,
    .interrupt = posix_interrupt,
    .notifier_open = posix_notifier_open,
    .notifier_ring = posix_notifier_ring,
    .notifier_clear = posix_notifier_clear,
    .notifier_close = posix_notifier_close,
    .wait = posix_wait,
    .thread_start = mmi_posix_thread_start,
    .thread_join = mmi_posix_thread_join,
    .after_fork = posix_after_fork,
    .free = posix_free,
    .pages = &mmi_pages_posix,
};

/* Whenever the kernel makes the table of descriptors of a process with threads larger, it waits for
 * all processors: 5 to 15 ms, four times on the way to 2,000 connections.  While there are none it
 * costs nothing. */
static void
posix_make_room(void)
{
#ifdef POSIX_SINGLE_THREADED
    struct rlimit limit;
    if (!__libc_single_threaded || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == 0) {
        return;
    }
    int last = limit.rlim_cur < POSIX_FILES ? (int)limit.rlim_cur - 1 : POSIX_FILES - 1;
    int fd = eventfd(0, EFD_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, last);
    if (high >= 0) {
        close(high);
    }
    if (fd >= 0) {
        close(fd);
    }
#endif
}

int
mmi_plat_posix(bool use_poll, mmi_plat *out)
{
    mmi_posix *p = mmi_alloc(sizeof *p);
    if (p == NULL) {
        return MM_ENOMEM;
    }
    pthread_mutex_init(&p->lock, NULL);
    mmi_memory_init(&p->memory, posix_interrupt, p);
    p->ops = use_poll ? &mmi_poller_poll : &mmi_poller_epoll;
    int rc = MM_ENOMEM;
    p->poller = p->ops->open(&rc);
    p->resolver = p->poller != NULL ? mmi_resolver_new(p) : NULL;
    if (p->resolver == NULL) {
        posix_free(p);
        return rc;
    }
    posix_make_room();
    *out = posix_plat;
    out->self = p;
    out->name = p->ops->name;
    out->cpus = posix_cpus();
    out->callers_poll = !use_poll;
    if (!use_poll) {
        out->outlook_open = mmi_epoll_outlook_open;
        out->outlook_join = mmi_epoll_outlook_join;
    }
    return MM_OK;
}
