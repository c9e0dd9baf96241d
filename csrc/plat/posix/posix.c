/*
 * posix.c: the real world: clocks, randomness, notifiers, threads, and the table of it all.
 *
 * Not here: streams (stream.c), pollers (epoll.c, poll.c), names (resolve.c), simulation (sim.c).
 * Law: only what this platform opened is closed in a forked child, and nothing else is done to it.
 */
#include "plat/posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define POSIX_SINGLE_THREADED
#endif

enum {
    POSIX_STACK_SIZE = 1024 * 1024,   /* bytes */
    POSIX_WORD_BITS = 64,
    POSIX_FILES = 2048,               /* descriptors that are made room for, 8 octets each */
    POSIX_SLACK_NS = 1000             /* how late a timer of an engine's thread may be */
};
static const uint64_t POSIX_NS_PER_S = 1000000000, POSIX_NS_PER_MS = 1000000;

typedef struct posix_thread {
    pthread_t id;
    void (*run)(void *arg);
    void *arg;
} posix_thread;

static const char posix_domain;   /* its address: descriptors are the whole process's */

static uint64_t
posix_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * POSIX_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t
mmi_posix_now_ns(void)
{
    return posix_clock(CLOCK_MONOTONIC);
}

static uint64_t
posix_now_ns(void *self)
{
    (void)self;
    return posix_clock(CLOCK_MONOTONIC);
}

static uint64_t
posix_wall_ns(void *self)
{
    (void)self;
    return posix_clock(CLOCK_REALTIME);
}

static void
posix_random(void *self, void *buf, size_t size)
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

/* Notes it as open; MM_ENOMEM: it is not, and still the caller's. */
static int
posix_mark(mmi_posix *p, int fd)
{
    size_t word = (size_t)fd / POSIX_WORD_BITS;
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
        p->open[word] |= (uint64_t)1 << ((size_t)fd % POSIX_WORD_BITS);
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int
mmi_posix_note(mmi_posix *p, int fd)
{
    int rc = posix_mark(p, fd);
    if (rc != MM_OK) {
        close(fd);
        return rc;
    }
    return fd;
}

void
mmi_posix_shut(mmi_posix *p, int fd)
{
    size_t word = (size_t)fd / POSIX_WORD_BITS;
    pthread_mutex_lock(&p->lock);
    if (word < p->open_cap) {
        p->open[word] &= ~((uint64_t)1 << ((size_t)fd % POSIX_WORD_BITS));
    }
    pthread_mutex_unlock(&p->lock);
    close(fd);
}

static void
posix_close_all(mmi_posix *p)
{
    for (size_t word = 0; word < p->open_cap; word++) {
        for (int bit = 0; bit < POSIX_WORD_BITS && p->open[word] >> bit != 0; bit++) {
            if ((p->open[word] >> bit & 1) != 0) {
                close((int)(word * POSIX_WORD_BITS) + bit);
            }
        }
    }
}

int
mmi_posix_timeout_ms(uint64_t deadline_ns)
{
    uint64_t now = mmi_posix_now_ns();
    if (deadline_ns == UINT64_MAX) {
        return -1;
    }
    if (deadline_ns <= now) {
        return 0;
    }
    uint64_t ms = (deadline_ns - now + POSIX_NS_PER_MS - 1) / POSIX_NS_PER_MS;
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

int
mmi_posix_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX || deadline_ns == 0) {
        return poll(fds, count, deadline_ns == 0 ? 0 : -1);
    }
    uint64_t now = mmi_posix_now_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    struct timespec t = { .tv_sec = (time_t)(left / POSIX_NS_PER_S),
                          .tv_nsec = (long)(left % POSIX_NS_PER_S) };
    return ppoll(fds, count, &t, NULL);
}

static int
posix_watch(void *self, int s, uint32_t events, uint64_t tag)
{
    mmi_posix *p = self;
    if (mmi_memory_is(s)) {
        mmi_memory_watch(&p->memory, s, events, tag);
        return MM_OK;
    }
    int rc = posix_mark(p, s);
    return rc != MM_OK ? rc : p->ops->watch(p->poller, s, events, tag);
}

void
mmi_posix_outlook(mmi_posix *p)
{
    if (atomic_load(&p->joined) && !mmi_memory_doze(&p->memory)) {
        p->ops->interrupt(p->poller);
    }
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
        mmi_memory_rouse(&p->memory);
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

static void *
posix_thread_run(void *arg)
{
    posix_thread *t = arg;
    (void)prctl(PR_SET_TIMERSLACK, POSIX_SLACK_NS, 0, 0, 0); /* refused: burst writes come later */
    (void)prctl(PR_SET_NAME, "meshmsg", 0, 0, 0); /* for top -H and debuggers */
    t->run(t->arg);
    return NULL;
}

/* Signals belong to the threads of the application. */
static int
posix_spawn_thread(pthread_t *id, void *(*run)(void *), void *arg, bool detached)
{
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, POSIX_STACK_SIZE);
    pthread_attr_setdetachstate(&attr,
                                detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(id, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return error == 0 ? MM_OK : MM_ENOMEM;
}

int
mmi_posix_detach(void *(*run)(void *arg), void *arg)
{
    pthread_t id;
    return posix_spawn_thread(&id, run, arg, true);
}

static int
posix_thread_start(void *self, void (*run)(void *arg), void *arg, void **thread)
{
    (void)self;
    posix_thread *t = mmi_alloc(sizeof *t);
    if (t == NULL) {
        return MM_ENOMEM;
    }
    t->run = run;
    t->arg = arg;
    int rc = posix_spawn_thread(&t->id, posix_thread_run, t, false);
    if (rc != MM_OK) {
        mmi_free(t);
        return rc;
    }
    *thread = t;
    return MM_OK;
}

static void
posix_thread_join(void *self, void *thread)
{
    (void)self;
    posix_thread *t = thread;
    pthread_join(t->id, NULL);
    mmi_free(t);
}

static void
posix_after_fork(void *self)
{
    mmi_posix *p = self;
    p->ops->after_fork(p->poller);
    posix_close_all(p);
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
    posix_close_all(p);
    pthread_mutex_destroy(&p->lock);
    mmi_free(p->open);
    mmi_free(p);
}

static const mmi_plat posix_plat = {
    .domain = &posix_domain,
    .now_ns = posix_now_ns,
    .wall_ns = posix_wall_ns,
    .random = posix_random,
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
    .spend = mmi_posix_spend,
    .readv = mmi_posix_readv,
    .writev = mmi_posix_writev,
    .transit = mmi_posix_transit,
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
    .thread_start = posix_thread_start,
    .thread_join = posix_thread_join,
    .after_fork = posix_after_fork,
    .free = posix_free,
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
