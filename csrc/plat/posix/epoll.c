/*
 * epoll.c: the poller for Linux.  Level-triggered.
 *
 * Law: closing a descriptor removes it from the set; a tag is what was given last.  Which ones are
 * in it is remembered only to make the right call first: the kernel knows, and is believed.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "plat/posix/posix.h"

enum { EPOLL_EVENTS_MAX = 256, EPOLL_WORD_BITS = 64 };
static const uint64_t EPOLL_WAKE_TAG = UINT64_MAX;

struct mmi_poller {
    int epoll, wake;
    uint64_t *watched;     /* a bit for each descriptor that is most likely in the set */
    size_t watched_cap;    /* words */
};

/* No space is the kernel's word for a user's limit of watches: no file system is full. */
static int
epoll_error(void)
{
    return errno == ENOSPC ? MM_ENOMEM : mmi_posix_error(errno);
}

static void
epoll_close(mmi_poller *p)
{
    if (p->epoll >= 0) {
        close(p->epoll);
    }
    if (p->wake >= 0) {
        close(p->wake);
    }
    mmi_free(p->watched);
    mmi_free(p);
}

static mmi_poller *
epoll_open(int *error)
{
    mmi_poller *p = mmi_alloc(sizeof *p);
    if (p == NULL) {
        *error = MM_ENOMEM;
        return NULL;
    }
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = EPOLL_WAKE_TAG };
    if (p->epoll < 0 || p->wake < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->wake, &event) != 0) {
        *error = epoll_error();
        epoll_close(p);
        return NULL;
    }
    return p;
}

static bool
epoll_watches(const mmi_poller *p, int fd)
{
    size_t word = (size_t)fd / EPOLL_WORD_BITS;
    return word < p->watched_cap && (p->watched[word] >> ((size_t)fd % EPOLL_WORD_BITS) & 1) != 0;
}

static void
epoll_note(mmi_poller *p, int fd, bool watched)
{
    size_t word = (size_t)fd / EPOLL_WORD_BITS;
    uint64_t bit = (uint64_t)1 << ((size_t)fd % EPOLL_WORD_BITS);
    if (word >= p->watched_cap && watched) {
        size_t cap = 2 * word + 2;
        uint64_t *grown = mmi_realloc(p->watched, cap * sizeof *grown);
        if (grown == NULL) {
            return;   /* not remembered: one call more */
        }
        memset(grown + p->watched_cap, 0, (cap - p->watched_cap) * sizeof *grown);
        p->watched = grown;
        p->watched_cap = cap;
    }
    if (word < p->watched_cap) {
        p->watched[word] = watched ? p->watched[word] | bit : p->watched[word] & ~bit;
    }
}

static int
epoll_watch(mmi_poller *p, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event event = { .data.u64 = tag };
    event.events = ((events & MMI_WATCH_READ) != 0 ? EPOLLIN : 0u) |
                   ((events & MMI_WATCH_WRITE) != 0 ? EPOLLOUT : 0u);
    if (events == 0) {
        /* Not just masked: a hang-up is reported whatever the mask, and would spin. */
        (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, &event);
        epoll_note(p, fd, false);
        return MM_OK;
    }
    int first = epoll_watches(p, fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    int other = first == EPOLL_CTL_MOD ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(p->epoll, first, fd, &event) == 0 ||
        ((errno == ENOENT || errno == EEXIST) && epoll_ctl(p->epoll, other, fd, &event) == 0)) {
        epoll_note(p, fd, true);
        return MM_OK;
    }
    return epoll_error();
}

static void
epoll_drain(mmi_poller *p)
{
    uint64_t count;
    (void)(read(p->wake, &count, sizeof count) == sizeof count);
}

static int
epoll_poll(mmi_poller *p, mmi_event *out, int cap, uint64_t deadline_ns)
{
    struct epoll_event events[EPOLL_EVENTS_MAX];
    int max = cap < EPOLL_EVENTS_MAX ? cap : EPOLL_EVENTS_MAX;
    int timeout_ms = deadline_ns == 0 ? 0 : mmi_posix_timeout_ms(deadline_ns);
    if (timeout_ms == 1) {
        /* epoll_wait counts whole milliseconds; poll of the set itself does not. */
        struct pollfd set = { .fd = p->epoll, .events = POLLIN };
        (void)mmi_posix_poll(&set, 1, deadline_ns);
        timeout_ms = 0;
    }
    int ready = epoll_wait(p->epoll, events, max, timeout_ms);
    int count = 0;
    for (int i = 0; i < ready; i++) {
        uint32_t e = events[i].events;
        if (events[i].data.u64 == EPOLL_WAKE_TAG) {
            epoll_drain(p);
            continue;
        }
        bool hung = (e & (EPOLLHUP | EPOLLERR)) != 0;
        out[count].tag = events[i].data.u64;
        out[count++].events = ((e & EPOLLIN) != 0 || hung ? (uint32_t)MMI_WATCH_READ : 0) |
                              ((e & EPOLLOUT) != 0 || hung ? (uint32_t)MMI_WATCH_WRITE : 0) |
                              (hung ? (uint32_t)MMI_WATCH_HANGUP : 0);
    }
    return count;
}

static void
epoll_interrupt(mmi_poller *p)
{
    uint64_t one = 1;
    (void)(write(p->wake, &one, sizeof one) == sizeof one);
}

static void
epoll_after_fork(mmi_poller *p)
{
    close(p->epoll);
    close(p->wake);
}

/* A set of its own, with the notifier in it: joining puts the poller's set in it as well. */
int
mmi_epoll_outlook_open(void *self, int n, int *fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) {
        return epoll_error();
    }
    if (epoll_ctl(set, EPOLL_CTL_ADD, n, &event) != 0) {
        int rc = epoll_error();
        close(set);
        return rc;
    }
    *fd = mmi_posix_note(self, set);
    return *fd < 0 ? *fd : MM_OK;
}

void
mmi_posix_outlook(mmi_posix *p)
{
    if (atomic_load(&p->joined) && !mmi_memory_doze(&p->memory)) {
        p->ops->interrupt(p->poller);
    }
}

int
mmi_epoll_outlook_join(void *self, int fd, bool on)
{
    mmi_posix *p = self;
    struct epoll_event event = { .events = EPOLLIN };
    int op = on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
    if (epoll_ctl(fd, op, p->poller->epoll, &event) != 0) {
        return epoll_error();
    }
    atomic_store(&p->joined, on);
    mmi_posix_outlook(p);
    return MM_OK;
}

const mmi_poller_ops mmi_poller_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .watch = epoll_watch,
    .poll = epoll_poll,
    .interrupt = epoll_interrupt,
    .close = epoll_close,
    .after_fork = epoll_after_fork,
};
